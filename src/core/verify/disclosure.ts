import { isHex64 } from '../bytes/hex.js'
import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'
import { canonicalNormalized } from '../json/canonical.js'
import { parse } from '../json/parse.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { class1 } from './class1.js'
import { type Class1Result, clip, type Profile, refused } from './finding.js'

/**
 * An envelope {capsule, disclosures}: values shown beside the capsule that commits to their digests.
 * It is unsigned and never changes what the capsule itself is worth.
 */
export type DisclosureFinding = {
  readonly member: string
  readonly code:
    | 'disclosure_match'
    | 'disclosure_mismatch'
    | 'disclosure_ineligible_field'
    | 'disclosure_no_committed_digest'
}
export type DisclosureResult = {
  readonly ok: boolean
  readonly capsule: Class1Result
  readonly disclosures_checked: number
  readonly disclosures_matched: number
  readonly disclosure_findings: readonly DisclosureFinding[]
  readonly not_checked: readonly string[]
}

/** Where the digest of each disclosable value stands: the companion's two, and ours. */
const COMMITTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['agent_input', ['model_attestation', 'compute_attestation', 'agent_input_digest']],
  ['agent_output', ['model_attestation', 'compute_attestation', 'agent_output_digest']],
  ['dev.capsulegate.request', ['effect', 'request_digest']],
  ['dev.capsulegate.response', ['effect', 'response_digest']],
  ['dev.capsulegate.reason', ['disposition', 'reason_digest']],
])

export function disclosure(
  input: string | Uint8Array,
  options: { readonly profile: Profile; readonly crypto: Hashing },
): DisclosureResult {
  const read = parse(input)
  if (!read.ok) return none(refused(1, 'not_strict_json', `${read.code} at ${read.at}`))
  const envelope = unwrap(read.value)
  const disclosures = envelope?.get('disclosures')
  const capsule = envelope?.get('capsule')
  if (capsule === undefined || !isObject(disclosures))
    return none(refused(1, 'not_a_disclosure_envelope', 'capsule and disclosures are needed'))
  const result = class1(capsule, { ...options, chain: null, signed: false })
  const findings = [...disclosures].map(
    ([member, value]): DisclosureFinding => ({
      member: clip(member),
      code: compare(capsule, member, value, options.crypto),
    }),
  )
  const matched = findings.filter(({ code }) => code === 'disclosure_match').length
  return {
    ok: result.ok && matched === findings.length,
    capsule: result,
    disclosures_checked: findings.length,
    disclosures_matched: matched,
    disclosure_findings: findings,
    not_checked: result.not_checked,
  }
}

/** As written by the companion's vectors, `{"envelope": {…}}`, or bare. */
function unwrap(value: JsonValue): JsonObject | null {
  if (!isObject(value)) return null
  const inner = value.get('envelope')
  return value.size === 1 && isObject(inner) ? inner : value
}

function compare(
  capsule: JsonValue,
  member: string,
  value: JsonValue,
  crypto: Hashing,
): DisclosureFinding['code'] {
  const path = COMMITTED.get(member)
  if (path === undefined) return 'disclosure_ineligible_field'
  let committed: JsonValue | undefined = capsule
  for (const name of path) committed = isObject(committed) ? committed.get(name) : undefined
  if (!isHex64(committed)) return 'disclosure_no_committed_digest'
  const form = canonicalNormalized(value)
  const matches = form !== null && textDigest(form, crypto) === committed
  return matches ? 'disclosure_match' : 'disclosure_mismatch'
}

const none = (capsule: Class1Result): DisclosureResult => ({
  ok: false,
  capsule,
  disclosures_checked: 0,
  disclosures_matched: 0,
  disclosure_findings: [],
  not_checked: capsule.not_checked,
})
