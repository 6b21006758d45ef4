import type { Proof } from '../../core/call/call.js'
import { readDpop } from './dpop.js'
import type { Bound } from './mandate-claims.js'
import { createSpentProofs } from './spent-proofs.js'

export type Possession = {
  readonly bound: Bound
  readonly proof: Proof | undefined
  /** SHA-256 of the mandate, base64url. */
  readonly ath: string
  readonly now: number
}

/** Null: the sender holds what the mandate is bound to; else why that is not shown. */
export type ProvesPossession = (possession: Possession) => Promise<string | null>

export function createPossession(): ProvesPossession {
  const spend = createSpentProofs()
  // A call's proof counts once, when it came: who calls and what is declared are both read from it.
  const shown = new WeakMap<Proof, string>()
  const holdsKey = async (key: string, proof: Proof, ath: string, now: number) => {
    const once = `${key}.${ath}`
    if (shown.get(proof) === once) return null
    if (proof.dpop === null) return 'proof_missing'
    const read = await readDpop(proof.dpop, { key, ath, at: proof, now })
    if (!read.ok) return read.why
    // Another reading of this very call may have ended while this one waited.
    if (shown.get(proof) === once) return null
    const spent = spend(key, read.jti, now)
    if (spent !== 'first') return `proof_${spent}`
    shown.set(proof, once)
    return null
  }
  return async ({ bound, proof, ath, now }) => {
    if (proof === undefined) return 'proof_missing'
    if (bound.certificate !== null && proof.certificate !== bound.certificate) {
      return proof.certificate === null ? 'certificate_missing' : 'certificate_other'
    }
    return bound.key === null ? null : holdsKey(bound.key, proof, ath, now)
  }
}
