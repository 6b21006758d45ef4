import { isPathName } from '../../core/http/path-name.js'
import type { Mandate } from '../../core/intent/model.js'
import { isUuid } from '../../core/intent/uuid.js'
import { exactPlain } from '../../core/json/exact-plain.js'
import {
  isArray,
  isObject,
  JsonNumber,
  type JsonObject,
  type Plain,
} from '../../core/json/value.js'

const MOST_TEXT = 256
const MOST_ENTRIES = 256
/** MOST_MANDATE_LENGTH bounds their octets: a payload is at most 12 KiB. */
const MOST_DELEGATIONS = 32
/** 9999-12-31T23:59:59Z: later times have no RFC 3339 text. */
const LAST_SECOND = 253_402_300_799
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/

/** From when to when, in milliseconds since the epoch. */
export type Times = { readonly notBefore: number; readonly expires: number }
/** What the sender must hold, by thumbprint: a key (RFC 9449 §6.1), a client certificate (RFC 8705 §3.1). */
export type Bound = { readonly key: string | null; readonly certificate: string | null }

type Fault = { readonly ok: false; readonly why: string }
export type TimesRead = ({ readonly ok: true } & Times) | Fault
export type ClaimsRead =
  | { readonly ok: true; readonly mandate: Mandate; readonly bound: Bound | null }
  | Fault

/** `exp` is required; without `nbf` the mandate holds from the beginning. */
export function readTimes(claims: JsonObject): TimesRead {
  if (!claims.has('exp')) return { ok: false, why: 'exp_missing' }
  const expires = seconds(claims, 'exp')
  if (expires === null) return { ok: false, why: 'exp_malformed' }
  const notBefore = claims.has('nbf') ? seconds(claims, 'nbf') : 0
  if (notBefore === null) return { ok: false, why: 'nbf_malformed' }
  return { ok: true, notBefore: Math.ceil(notBefore * 1000), expires: Math.floor(expires * 1000) }
}

/** NumericDate of RFC 7519 §2. */
export function seconds(claims: JsonObject, name: string): number | null {
  const value = claims.get(name)
  const number = value instanceof JsonNumber ? Number(value.token) : Number.NaN
  return number >= 0 && number <= LAST_SECOND ? number : null
}

/**
 * All a declaration is compared with. An optional claim that is there must be right: one that is null or of
 * another type is refused, because leaving it out would make the mandate wider than its issuer wrote it.
 */
export function readClaims(
  claims: JsonObject,
  { issuer, agentClaim }: { readonly issuer: string; readonly agentClaim: string },
  { expires }: Times,
): ClaimsRead {
  const faults: string[] = []
  const missing = (name: string): void => void faults.push(`${name}_missing`)
  const malformed = (name: string): void => void faults.push(`${name}_malformed`)

  function optionalText(name: string, isGood = isText): string | null {
    const value = claims.get(name)
    if (value === undefined) return null
    if (typeof value === 'string' && isGood(value)) return value
    malformed(name)
    return null
  }
  function text(name: string, isGood = isText): string {
    if (!claims.has(name)) missing(name)
    return optionalText(name, isGood) ?? ''
  }
  function optionalTexts(name: string): readonly string[] | null {
    const value = claims.get(name)
    if (value === undefined) return null
    if (isArray(value) && value.length <= MOST_ENTRIES) {
      const texts = value.filter((entry) => typeof entry === 'string')
      if (texts.length === value.length && texts.every(isText)) return texts
    }
    malformed(name)
    return null
  }
  function actions(name: string): readonly string[] {
    if (!claims.has(name)) missing(name)
    const named = optionalTexts(name) ?? []
    if (named.length === 0) malformed(name)
    return named
  }
  function session(): string | null {
    const [long, short] = [optionalText('session_id'), optionalText('sid')]
    if (long !== null && short !== null && long !== short) faults.push('session_ambiguous')
    return long ?? short
  }
  function delegations(name: string): readonly Plain[] {
    const value = claims.get(name)
    if (value === undefined) return []
    // Numbers that JCS cannot write back would make what is recorded of it unsignable.
    const plain =
      isArray(value) && value.length <= MOST_DELEGATIONS ? exactPlain(value, 'as_is') : null
    if (plain !== null && Array.isArray(plain.value)) return plain.value
    malformed(name)
    return []
  }
  function binding(): Bound | null {
    const cnf = claims.get('cnf')
    if (cnf === undefined) return null
    const [key, certificate] = isObject(cnf) ? [cnf.get('jkt'), cnf.get('x5t#S256')] : [null, null]
    // RFC 7800 §3.1 leaves other members to those who know them; alone, nobody here can prove them.
    if (key === undefined && certificate === undefined) faults.push('cnf_unsupported')
    if (!isThumbprint(key) || !isThumbprint(certificate)) malformed('cnf')
    return { key: asText(key), certificate: asText(certificate) }
  }

  // In the order in which a fault is told.
  const mandate: Mandate = {
    id: text('jti', (id) => isText(id) && isPathName(id)),
    soId: text('so_id', isUuid),
    soType: optionalText('so_type'),
    issuer,
    agent: text(agentClaim),
    principal: optionalText('human_principal_id'),
    actions: actions('cedar_actions'),
    permittedStates: optionalTexts('permitted_states'),
    missionRef: optionalText('mission_ref', isUuid),
    sessionId: session(),
    delegation: delegations('delegation_chain'),
    expiresAt: new Date(expires).toISOString(),
  }
  const bound = binding()
  const [why] = faults
  return why === undefined ? { ok: true, mandate, bound } : { ok: false, why }
}

const isText = (text: string): boolean => text !== '' && text.length <= MOST_TEXT
const isThumbprint = (value: unknown): boolean =>
  value === undefined || (typeof value === 'string' && THUMBPRINT.test(value))
const asText = (value: unknown): string | null => (typeof value === 'string' ? value : null)
