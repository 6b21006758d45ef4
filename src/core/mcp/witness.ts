import type { Octets } from '../capsule/model.js'
import { type Framing, type Observation, ObservedResponse } from '../capsule/observation.js'
import type { Hashing } from '../crypto/crypto.js'
import type { OctetsDigest } from '../http/response-body.js'
import { referenceAt, type SeenBody, type SuccessRule, unlessHolds } from '../http/success.js'
import { bytesDigest, jsonDigest, jsonDigestOf } from '../json/build.js'
import { parse } from '../json/parse.js'
import type { JsonValue } from '../json/value.js'
import { outcomeOf } from './outcome.js'

/** How the message that answers a call becomes what `confirmed` is built from (DESIGN §2.3, §5). */
export type McpWitnessRule = {
  /** Pointers into `result`. */
  readonly success: SuccessRule
  readonly external_ref?: string | undefined
  readonly saltedDigest: (() => OctetsDigest) | null
}
export type MessageFraming = Extract<Framing, 'line' | 'json_body' | 'sse_event'>

/** `octets`: the message exactly as it was read, under the gate's own id. */
export function witnessMessage(
  octets: Uint8Array,
  framing: MessageFraming,
  rule: McpWitnessRule,
  hashing: Hashing,
): Observation {
  // Its reader has held it to a bound already; one that is not parsed here would be told as failed.
  const parsed = parse(octets, { maxBytes: octets.length })
  const value = parsed.ok ? parsed.value : null
  const outcome = outcomeOf(value)
  if (outcome.kind === 'unfinished') {
    const answer = { digest: bytesDigest(octets, hashing), length: octets.length }
    return { kind: 'unfinished', why: outcome.why, answer }
  }
  const result: SeenBody =
    outcome.result === null ? { kind: 'opaque' } : { kind: 'json', value: outcome.result }
  const described = describe(octets, rule, hashing)
  const externalRef =
    rule.external_ref === undefined ? null : referenceAt(result, rule.external_ref)
  const failed = outcome.kind === 'succeeded' && unlessHolds(rule.success, result)
  return {
    kind: 'complete',
    outcome: failed ? 'refused' : outcome.kind,
    response: ObservedResponse.witness({
      framing,
      requestSent: true,
      octets: described,
      ...bind(described, value, rule, hashing),
      ...(externalRef === null ? {} : { externalRef }),
    }),
  }
}

function describe(octets: Uint8Array, { saltedDigest }: McpWitnessRule, hashing: Hashing): Octets {
  const base = { length: octets.length, content_type: 'application/json', complete: true } as const
  if (saltedDigest === null) {
    return { alg: 'sha-256', digest: bytesDigest(octets, hashing), ...base }
  }
  const salted = saltedDigest()
  salted.update(octets)
  return { alg: 'hmac-sha-256', digest: salted.digest(), ...base }
}

function bind(
  octets: Octets,
  value: JsonValue,
  { saltedDigest }: McpWitnessRule,
  hashing: Hashing,
) {
  const responseDigest = jsonDigest(octets, hashing)
  if (saltedDigest !== null) return { binding: 'octets-salted', responseDigest } as const
  const json = value === null ? null : jsonDigestOf(value, hashing)
  return json === null
    ? ({ binding: 'octets', responseDigest } as const)
    : ({ binding: 'json', responseDigest: json } as const)
}
