import { isHex64 } from '../bytes/hex.js'
import type { Sha3 } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'
import { canonicalText, cpsHash, type Input, MOST_DEPTH, SEAL_KEYS } from './canonical.js'
import { type CpsFinding, type CpsFindings, type CpsProfile, createFindings } from './finding.js'
import { CONTENT_KEYS, SECTION_NAMES, TYPES } from './model.js'
import { checkSection } from './section.js'

export type CpsValidation = {
  readonly ok: boolean
  /** In the order of CPS's tables; the first error is what its vectors name. */
  readonly findings: readonly CpsFinding[]
}
export type ValidateOptions = {
  readonly profile: CpsProfile
  /** A hash from elsewhere that the content must have. */
  readonly claimedHash?: string
  readonly crypto: Sha3
}

/** What is wrong with a capsule, by its members alone; neither its signature nor its chain is looked at. */
export function validate(json: Input, options: ValidateOptions): CpsValidation {
  const parsed = parse(json, { maxDepth: MOST_DEPTH })
  if (!parsed.ok) return broken('not_canonical')
  if (!isObject(parsed.value)) return broken('wrong_type')
  const { profile, claimedHash, crypto } = options
  const findings = createFindings(profile)
  checkObject(parsed.value, findings)
  checkHash(parsed.value, claimedHash, crypto, findings)
  return { ok: !findings.hasFailed(), findings: findings.list }
}

const broken = (code: CpsFinding['code']): CpsValidation => ({
  ok: false,
  findings: [{ severity: 'error', code, field: '' }],
})

/** The members of a capsule that is parsed already; its hash is looked at by whoever asks. */
export function validateObject(capsule: JsonObject, profile: CpsProfile): CpsValidation {
  const findings = createFindings(profile)
  checkObject(capsule, findings)
  return { ok: !findings.hasFailed(), findings: findings.list }
}

function checkObject(capsule: JsonObject, findings: CpsFindings): void {
  for (const key of CONTENT_KEYS) if (!capsule.has(key)) findings.error('missing_field', key)
  checkHead(capsule, findings)
  for (const name of SECTION_NAMES) {
    const section = capsule.get(name)
    if (section === undefined) continue
    if (isObject(section)) checkSection(name, section, findings)
    else findings.error('wrong_type', name)
  }
  for (const name of capsule.keys()) if (!KNOWN.has(name)) findings.ofSection('unknown_field', name)
}

const KNOWN: ReadonlySet<string> = new Set([...CONTENT_KEYS, ...SEAL_KEYS])
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const COUNT = /^(?:0|[1-9][0-9]{0,15})$/

function checkHead(capsule: JsonObject, findings: CpsFindings): void {
  const check = (name: string, isType: (value: JsonValue) => boolean, isGood: Good): void => {
    const value = capsule.get(name)
    if (value === undefined) return
    if (!isType(value)) findings.error('wrong_type', name)
    else if (!isGood(value)) findings.error('invalid_value', name)
  }
  check('id', isText, isUuid)
  check('type', isText, (type) => TYPES.some((known) => known === type))
  check('domain', isText, (domain) => domain !== '')
  check('parent_id', isTextOrNull, (id) => id === null || isUuid(id))
  check('sequence', isInteger, isCount)
  check('previous_hash', isTextOrNull, (hash) => hash === null || isHex64(hash))
  check('spec_version', isText, (version) => version === '1.0')
  const [sequence, previous] = [capsule.get('sequence'), capsule.get('previous_hash')]
  if (!isCount(sequence) || previous === undefined) return
  // CPS, chain: the genesis has no predecessor, and every other one has.
  const isGenesis = sequence instanceof JsonNumber && sequence.token === '0'
  if (isGenesis !== (previous === null)) findings.error('chain_violation', 'previous_hash')
}
type Good = (value: JsonValue) => boolean

const isText = (value: JsonValue): boolean => typeof value === 'string'
const isTextOrNull = (value: JsonValue): boolean => value === null || isText(value)
const isInteger = (value: JsonValue): boolean =>
  value instanceof JsonNumber && !/[.eE]/.test(value.token)
const isUuid = (value: JsonValue): boolean => typeof value === 'string' && UUID.test(value)
export const isCount = (value: JsonValue | undefined): boolean =>
  value instanceof JsonNumber &&
  COUNT.test(value.token) &&
  Number.isSafeInteger(Number(value.token))

function checkHash(
  capsule: JsonObject,
  claimed: string | undefined,
  crypto: Sha3,
  findings: CpsFindings,
): void {
  const canonical = canonicalText(capsule)
  if (canonical === null) {
    findings.error('not_canonical', '')
    return
  }
  const stored = capsule.get('hash')
  for (const hash of [stored, claimed]) {
    if (hash === undefined) continue
    // Exactly: a second spelling of a hash would be a second hash.
    if (hash === cpsHash(canonical, crypto)) continue
    findings.error('integrity_violation', 'hash')
    return
  }
}
