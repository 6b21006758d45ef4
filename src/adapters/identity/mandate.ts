import { hash } from 'node:crypto'
import { type CryptoKey, errors } from 'jose'
import type { Caller } from '../../core/call/call.js'
import { MOST_MANDATE_LENGTH } from '../../core/intent/model.js'
import { isArray, type JsonObject } from '../../core/json/value.js'
import type { Clock } from '../../ports/clock.js'
import type { MandateRead, Mandates } from '../../ports/identity.js'
import { claimedIssuer } from './claimed-issuer.js'
import { isSignedBy, readCompact } from './compact-jws.js'
import { createKeySet, isNoSingleKey, type KeySet, type KeySource } from './key-set.js'
import { type ClaimsRead, readClaims, readTimes, type TimesRead } from './mandate-claims.js'
import { createPossession } from './mandate-proof.js'

export type MandateAlgorithm = 'EdDSA' | 'ES256'

/** One trusted issuer of mandates. */
export type MandateIssuer = {
  readonly issuer: string
  readonly audience: string
  readonly jwks: KeySource
  /** Claim that names the agent. */
  readonly agentClaim: string
  readonly algorithms: readonly MandateAlgorithm[]
  /** Whether a mandate that is bound to no key and no certificate is refused. */
  readonly requireProof: boolean
}

export type MandatesOptions = {
  readonly issuers: readonly MandateIssuer[]
  readonly clock: Pick<Clock, 'now'>
}

const TOLERANCE_MS = 30_000
/** Mandates whose signature is remembered. */
const MOST_REMEMBERED = 4_096

type NotValid = Exclude<MandateRead, { kind: 'valid' }>
/** A mandate whose signature was good under `keys`; its times and its proof are looked at for each call. */
type Signed = {
  readonly kind: 'signed'
  readonly issuer: MandateIssuer
  readonly times: TimesRead
  readonly claims: ClaimsRead
}
type Remembered = { readonly signed: Signed; readonly keys: object }

/**
 * Reads mandates, in the order: size, `crit`, algorithm, issuer, audience, key, signature, times, members, proof
 * of possession. What a token says is a function of the token, the keys and the clock alone; its `jti` names
 * it in every step and may come again.
 */
export function createMandates({ issuers, clock }: MandatesOptions): Mandates {
  const keySets = new Map(issuers.map((issuer) => [issuer, createKeySet(issuer.jwks)]))
  const issuerOf = (name: unknown) => issuers.find(({ issuer }) => issuer === name)
  const remembered = new Map<string, Remembered>()
  const underWay = new Map<string, Promise<Signed | NotValid>>()
  const possession = createPossession()

  function recall(ath: string): Signed | null {
    const known = remembered.get(ath)
    if (known === undefined) return null
    const { signed, keys } = known
    if (issuers.includes(signed.issuer) && keySets.get(signed.issuer)?.current() === keys) {
      return signed
    }
    remembered.delete(ath)
    return null
  }

  function remember(ath: string, signed: Signed, keys: object): void {
    const [oldest] = remembered.keys()
    if (oldest !== undefined && remembered.size >= MOST_REMEMBERED) remembered.delete(oldest)
    remembered.set(ath, { signed, keys })
  }

  /** Calls at once under a new mandate wait for one verification, and go on in the order in which they came. */
  function verifyOnce(token: string, ath: string): Promise<Signed | NotValid> {
    const known = underWay.get(ath)
    if (known !== undefined) return known
    const begun = verify(token, ath).finally(() => underWay.delete(ath))
    underWay.set(ath, begun)
    return begun
  }

  async function verify(token: string, ath: string): Promise<Signed | NotValid> {
    const read = readCompact(token)
    if (!read.ok) return invalid(read.why)
    const { header, payload } = read
    const alg = algorithmOf(header)
    if (alg === null) return invalid('algorithm')
    const issuer = issuerOf(payload.get('iss'))
    const keys = issuer === undefined ? undefined : keySets.get(issuer)
    if (issuer === undefined || keys === undefined) return invalid('issuer')
    if (!issuer.algorithms.includes(alg)) return invalid('algorithm')
    if (!isFor(payload, issuer.audience)) return invalid('audience')
    const kid = header.get('kid')
    if (typeof kid !== 'string') return invalid('kid_missing')
    const before = keys.current()
    const found = await keyOf(keys, { alg, kid }, issuer)
    if (found.kind !== 'key') return found
    if (!(await isSignedBy(token, found.key, alg))) return invalid('signature')
    const times = readTimes(payload)
    const claims: ClaimsRead = times.ok ? readClaims(payload, issuer, times) : times
    const signed: Signed = { kind: 'signed', issuer, times, claims }
    // Where the set changed meanwhile, the signature may be one by a key that is gone.
    if (before !== null && before === keys.current()) remember(ath, signed, before)
    return signed
  }

  return {
    isOne: (bearer) =>
      issuers.length > 0 &&
      bearer.split('.').length === 3 &&
      issuerOf(claimedIssuer(bearer)) !== undefined,
    async read(token: string, caller: Caller): Promise<MandateRead> {
      if (token.length > MOST_MANDATE_LENGTH) return invalid('too_long')
      const ath = hash('sha256', token, 'base64url')
      const signed = recall(ath) ?? (await verifyOnce(token, ath))
      if (signed.kind !== 'signed') return signed
      const { issuer, times, claims } = signed
      if (!times.ok) return invalid(times.why)
      const now = clock.now()
      if (now >= times.expires + TOLERANCE_MS) {
        remembered.delete(ath)
        return invalid('expired')
      }
      if (now < times.notBefore - TOLERANCE_MS) return invalid('not_yet_valid')
      if (!claims.ok) return invalid(claims.why)
      const { mandate, bound } = claims
      if (bound === null && issuer.requireProof) return invalid('cnf_missing')
      const why = bound === null ? null : await possession({ bound, proof: caller.proof, ath, now })
      return why === null ? { kind: 'valid', mandate } : invalid(why)
    },
    isStillGood: ({ issuer, expiresAt }) =>
      issuerOf(issuer) !== undefined && clock.now() < Date.parse(expiresAt) + TOLERANCE_MS,
  }
}

const invalid = (why: string): NotValid => ({ kind: 'invalid', why })

/** Never `none`, and nothing symmetric: whoever can verify a shared secret can forge with it. */
function algorithmOf(header: JsonObject): MandateAlgorithm | null {
  const alg = header.get('alg')
  return alg === 'EdDSA' || alg === 'ES256' ? alg : null
}

function isFor(payload: JsonObject, audience: string): boolean {
  const named = payload.get('aud')
  return named === audience || (isArray(named) && named.includes(audience))
}

type Found = { readonly kind: 'key'; readonly key: CryptoKey } | NotValid

/** The key of this id, kind and use; keys that cannot be fetched leave the mandate undecided. */
async function keyOf(
  keys: KeySet,
  header: { readonly alg: MandateAlgorithm; readonly kid: string },
  { jwks }: MandateIssuer,
): Promise<Found> {
  try {
    return { kind: 'key', key: await keys.key(header) }
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return invalid('kid_unknown')
    if (isNoSingleKey(error)) return invalid('kid_ambiguous')
    return jwks.kind === 'remote'
      ? { kind: 'unavailable', why: 'keys_unavailable' }
      : invalid('keys_unusable')
  }
}
