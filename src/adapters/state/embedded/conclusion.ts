import { NEVER_DISPATCH } from '../../../core/capsule/registries.js'
import type { LineOf } from '../../../core/journal/vocabulary.js'

/** What a CAPSULE line does to the claims of the action it concludes. */
export type Conclusion =
  | { readonly actionId: string; readonly kind: 'release' }
  | { readonly actionId: string; readonly kind: 'completed' | 'unknown' }

/**
 * An executed action's outcome is known whether or not its response was kept; anything else that
 * committed is known only if it can be replayed. Without `settles` the capsule itself decides: what
 * never left gives its claims back, what left without an observed end stays unknown (promise 2).
 */
export function conclusionOf({ capsule, settles }: LineOf<'CAPSULE'>): Conclusion {
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
