import type { Capsule } from '../../../core/capsule/model.js'
import { itemOf, type OpenItem } from '../../../core/capsule/open-item.js'
import type { OlderBlocked } from '../../../ports/state.js'

/** Any agent can have calls blocked, so memory holds only the newest ones. */
export const KEEP_BLOCKED = 10_000

/** Open items of seed §5.4.4: an open verdict class opens one, a capsule that supersedes it closes it. */
export function createOpenItems() {
  const awaiting = new Map<string, OpenItem>()
  const blocked = new Map<string, OpenItem>()
  let older: OlderBlocked | null = null

  function put(item: OpenItem): void {
    if (item.verdict_class !== 'blocked') {
      awaiting.set(item.capsule_id, item)
      return
    }
    blocked.set(item.capsule_id, item)
    if (blocked.size <= KEEP_BLOCKED) return
    for (const [id, { seq }] of blocked) {
      blocked.delete(id)
      older = { first: older?.first ?? seq, last: seq }
      return
    }
  }

  return {
    fold(capsule: Capsule, seq: number): void {
      if (capsule.chain?.relation === 'supersedes') {
        const { parent_capsule_id: parent } = capsule.chain
        if (!awaiting.delete(parent)) blocked.delete(parent)
      }
      const item = itemOf(capsule, seq)
      if (item !== null) put(item)
    },
    get: (capsuleId: string): OpenItem | null =>
      awaiting.get(capsuleId) ?? blocked.get(capsuleId) ?? null,
    awaiting: (): OpenItem[] => [...awaiting.values()],
    blocked: (): OpenItem[] => [...blocked.values()],
    older: (): OlderBlocked | null => older,
    /** In ledger order. */
    all: (): OpenItem[] =>
      [...awaiting.values(), ...blocked.values()].sort((a, b) => a.seq - b.seq),
    load(items: readonly OpenItem[], before: OlderBlocked | null): void {
      awaiting.clear()
      blocked.clear()
      older = before
      for (const item of items) put(item)
    },
  }
}
