import type { Capsule } from '../../../core/capsule/model.js'
import { NEVER_DISPATCH } from '../../../core/capsule/registries.js'
import type { JournalLine } from '../../../ports.js'
import { lineError, type Settles } from './lines.js'

/** What a CAPSULE line does to the claims of the action it concludes. */
export type Conclusion =
  | { readonly actionId: string; readonly kind: 'release' }
  | { readonly actionId: string; readonly kind: 'completed' | 'unknown' }

export function capsuleOf(line: JournalLine): Capsule {
  const capsule = line.capsule as Partial<Capsule> | null | undefined
  const whole =
    typeof capsule?.action_id === 'string' &&
    typeof capsule.capsule_id === 'string' &&
    typeof capsule.disposition?.verdict_class === 'string'
  if (!whole) throw lineError(line, 'capsule lacks its ids or its verdict')
  return capsule as Capsule
}

/**
 * An executed action's outcome is known whether or not its response was kept; anything else that
 * committed is known only if it can be replayed. Without `settles` the capsule itself decides: what
 * never left gives its claims back, what left without an observed end stays unknown (promise 2).
 */
export function conclusionOf(line: JournalLine, capsule: Capsule): Conclusion {
  const settles = line.settles as Settles | undefined
  const executed = capsule.disposition.verdict_class === 'executed'
  if (settles !== undefined) {
    const actionId = settles.action_id
    if (settles.outcome === 'release') return { actionId, kind: 'release' }
    return { actionId, kind: executed || settles.replayable ? 'completed' : 'unknown' }
  }
  const actionId = capsule.action_id
  if (isNeverDispatch(capsule.disposition.verdict_class)) return { actionId, kind: 'release' }
  switch (capsule.effect?.status) {
    case undefined:
    case 'planned':
      return { actionId, kind: executed ? 'completed' : 'release' }
    case 'dispatched':
      return { actionId, kind: executed ? 'completed' : 'unknown' }
    case 'confirmed':
    case 'failed':
    case 'reverted':
      return { actionId, kind: 'completed' }
  }
}

const isNeverDispatch = (verdict: string): boolean =>
  (NEVER_DISPATCH as readonly string[]).includes(verdict)
