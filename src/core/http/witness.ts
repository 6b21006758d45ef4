import type { Octets } from '../capsule/model.js'
import {
  type Framing,
  type Observation,
  ObservedResponse,
  type Witnessed,
} from '../capsule/observation.js'
import { jsonDigest, jsonDigestOf } from '../json/build.js'
import { parseSourced } from '../json/parse.js'
import { isCoded, type ResponseHead } from './response.js'
import type { FinishedBody, OctetsDigest, OctetsHashing, ResponseBody } from './response-body.js'
import { referenceAt, type SeenBody, type SuccessRule, succeeded } from './success.js'

/** How a complete response becomes the one thing `confirmed` is built from (DESIGN §2.3, §5). */
export type WitnessRule = {
  readonly success: SuccessRule
  /** JSON pointer into the response body. */
  readonly external_ref?: string | undefined
  readonly saltedDigest: (() => OctetsDigest) | null
}

export function witness(
  head: ResponseHead,
  framing: Framing,
  body: FinishedBody,
  rule: WitnessRule,
  hashing: OctetsHashing,
): Observation {
  const { status } = head
  const octets = describe(head, body, rule.saltedDigest === null ? 'sha-256' : 'hmac-sha-256')
  const seen = read(body, rule)
  const { binding, responseDigest } = bind(octets, seen, rule.saltedDigest !== null, hashing)
  const base = { framing, requestSent: true, status, octets, binding, responseDigest } as const
  const externalRef =
    rule.external_ref === undefined ? null : referenceAt(seen.body, rule.external_ref)
  return {
    kind: 'complete',
    outcome:
      status >= 500
        ? 'failed'
        : succeeded(rule.success, status, seen.body)
          ? 'succeeded'
          : 'refused',
    response: ObservedResponse.witness(externalRef === null ? base : { ...base, externalRef }),
  }
}

/** What was seen of a response that came to no end, for evidence only. */
export function cutShort(
  cause: string,
  deadline: boolean,
  head: ResponseHead | null,
  body: ResponseBody | null,
): Extract<Observation, { kind: 'sent' }> {
  const status = head === null ? {} : { status: head.status }
  if (body === null) return { kind: 'sent', cause, deadline, ...status }
  const { digest, length } = body.finish()
  return { kind: 'sent', cause, deadline, ...status, partial: { digest, length } }
}

function describe(
  head: ResponseHead,
  { digest, length }: FinishedBody,
  alg: Octets['alg'],
): Octets {
  const { status, contentType: content_type } = head
  const content_encoding = isCoded(head.contentEncoding) ? head.contentEncoding : null
  // Nearly every response, spelt out: spreads would be the dearest part of the witness.
  if (content_type !== null && content_encoding === null) {
    return { alg, digest, length, content_type, status, complete: true }
  }
  return {
    alg,
    digest,
    length,
    ...(content_type === null ? {} : { content_type }),
    ...(content_encoding === null ? {} : { content_encoding }),
    status,
    complete: true,
  }
}

type Read = {
  readonly body: SeenBody
  /** The octets are their own canonical form: their digest is the value's. */
  readonly canonical: boolean
}
const EMPTY: Read = { body: { kind: 'empty' }, canonical: false }
const OPAQUE: Read = { body: { kind: 'opaque' }, canonical: false }

/** Salted tools are parsed only when a rule looks inside; their digest never comes from the value. */
function read({ held, length }: FinishedBody, rule: WitnessRule): Read {
  if (length === 0) return EMPTY
  const wanted =
    rule.saltedDigest === null || rule.success.unless.length > 0 || rule.external_ref !== undefined
  if (held === null || !wanted) return OPAQUE
  const parsed = parseSourced(held)
  if (!parsed.ok) return OPAQUE
  return { body: { kind: 'json', value: parsed.value }, canonical: parsed.source !== null }
}

function bind(
  octets: Octets,
  { body, canonical }: Read,
  salted: boolean,
  hashing: OctetsHashing,
): Pick<Witnessed, 'binding' | 'responseDigest'> {
  if (salted) return { binding: 'octets-salted', responseDigest: jsonDigest(octets, hashing) }
  if (canonical) return { binding: 'json', responseDigest: octets.digest }
  const value = body.kind === 'json' ? jsonDigestOf(body.value, hashing) : null
  if (value !== null) return { binding: 'json', responseDigest: value }
  return { binding: 'octets', responseDigest: jsonDigest(octets, hashing) }
}
