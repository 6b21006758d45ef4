import { isHex64 } from '../bytes/hex.js'
import type { EffectMode, EffectStatus, LedgerMode } from './model.js'
import { NEVER_DISPATCH, type NeverDispatch } from './registries.js'

/** What follows from a record's own members. Builder and verifier share it; neither may be told the answer. */

export const EFFECT_STATUSES = [
  'planned',
  'dispatched',
  'confirmed',
  'failed',
  'reverted',
] as const satisfies readonly EffectStatus[]

export const isEffectStatus = (value: unknown): value is EffectStatus =>
  EFFECT_STATUSES.some((status) => status === value)

/**
 * Seed §5.2 and §5.3. Null means that there is no effect at all. A status outside the five, or none,
 * is taken for a dispatch: unknown never grades down to "nothing happened".
 */
export function effectMode(
  effect: { readonly status: unknown; readonly response_digest?: unknown } | null,
): EffectMode {
  if (effect === null) return 'not_applicable'
  if (!isEffectStatus(effect.status)) return 'dispatched_unconfirmed'
  switch (effect.status) {
    case 'planned':
      return 'not_applicable'
    case 'confirmed':
      return isHex64(effect.response_digest) ? 'confirmed' : 'dispatched_unconfirmed'
    case 'dispatched':
    case 'failed':
    case 'reverted':
      return 'dispatched_unconfirmed'
  }
}

/** The matrix of seed §5.2, total over the modes; the planned carve falls out of `effectMode`. */
export function attestationRule(mode: EffectMode): 'required' | 'absent' {
  switch (mode) {
    case 'confirmed':
    case 'dispatched_unconfirmed':
      return 'required'
    case 'not_applicable':
      return 'absent'
  }
}

/** From the bytes alone a verifier can tell these two apart; `anchored` needs a receipt (seed §5.3). */
export const ledgerMode = (chained: boolean): LedgerMode => (chained ? 'chained' : 'standalone')

export const isNeverDispatch = (value: unknown): value is NeverDispatch =>
  NEVER_DISPATCH.some((name) => name === value)
