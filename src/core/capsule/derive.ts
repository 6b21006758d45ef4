import { isHex64 } from '../bytes/hex.js'
import type { EffectMode, EffectStatus, LedgerMode } from './model.js'
import { NEVER_DISPATCH, type NeverDispatch } from './registries.js'
import { EFFECT_STATUSES } from './shapes.js'

/** What follows from a record's own members. Builder and verifier share it; neither may be given the result. */

export const isEffectStatus = (value: unknown): value is EffectStatus =>
  EFFECT_STATUSES.some((status) => status === value)

/**
 * Seed §5.2 and §5.3. Null means that there is no effect at all. A status outside the five, or none,
 * counts as a dispatch: unknown never grades down to "nothing happened".
 */
export function effectMode(
  effect: { readonly status: unknown; readonly response_digest?: unknown } | null,
): EffectMode {
  if (effect === null || effect.status === 'planned') return 'not_applicable'
  const confirmed = effect.status === 'confirmed' && isHex64(effect.response_digest)
  return confirmed ? 'confirmed' : 'dispatched_unconfirmed'
}

/** The matrix of seed §5.2; `planned` is covered by `effectMode`. */
export const attestationRule = (mode: EffectMode): 'required' | 'absent' =>
  mode === 'not_applicable' ? 'absent' : 'required'

/** From the bytes alone a verifier can tell these two apart; `anchored` needs a receipt (seed §5.3). */
export const ledgerMode = (chained: boolean): LedgerMode => (chained ? 'chained' : 'standalone')

export const isNeverDispatch = (value: unknown): value is NeverDispatch =>
  NEVER_DISPATCH.some((name) => name === value)
