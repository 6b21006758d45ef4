import type { SignedHead } from '../../core/journal/head.js'
import type { Timer } from '../../ports/clock.js'

/**
 * The newest signed head for other places than the file beside the journal: the log and webhooks. What leaves the
 * machine cannot be cut back together with the journal (DESIGN §5).
 */
export type HeadTeller = {
  /** A batch is durable: its head, and the types of the lines that were appended. */
  covered(head: SignedHead, types: readonly string[]): void
  subscribe(listener: (head: SignedHead) => void): () => void
  /** What was not told yet is told now. */
  flush(): void
}

const EVERY_MS = 60_000
/** A delivery that fails writes lines of its own: a head for those would never let the webhooks rest. */
const isWebhookType = (type: string): boolean => type.startsWith('WEBHOOK_')

/** At most one head a minute, and none for lines about webhooks alone. */
export function createHeadTeller(timer: Timer): HeadTeller {
  const listeners = new Set<(head: SignedHead) => void>()
  let newest: SignedHead | null = null
  let cancel: (() => void) | null = null

  function tell(): void {
    cancel?.()
    cancel = null
    const head = newest
    newest = null
    if (head !== null) for (const listener of listeners) listener(head)
  }
  return {
    covered(head, types) {
      if (newest === null && types.every(isWebhookType)) return
      newest = head
      cancel ??= timer.after(EVERY_MS, tell)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    flush: tell,
  }
}
