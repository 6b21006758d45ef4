import type { Octets, ResponseBinding } from '../../core/capsule/model.js'
import {
  type Framing,
  type Observation,
  ObservedResponse,
  type Witnessed,
} from '../../core/capsule/observation.js'
import { referenceAt, type SeenBody, type SuccessRule, succeeded } from '../../core/http/success.js'
import { jsonDigest, jsonDigestOf } from '../../core/json/build.js'
import { parseSourced } from '../../core/json/parse.js'
import type { DispatchOrder } from '../../ports/dispatch.js'
import { nodeCrypto } from '../crypto-node.js'
import type { ResponseBody } from './response-body.js'
import type { ResponseHead } from './response-head.js'

/** How a complete response becomes the one thing `confirmed` is built from (DESIGN §2.3, §5). */
export type WitnessRule = {
  readonly success: SuccessRule
  /** JSON pointer into the response body. */
  readonly external_ref?: string
  readonly saltedDigest: DispatchOrder['saltedDigest']
}

const JSON_TYPE = /^application\/(?:json|[!#$%&'*+\-.^_`|~0-9a-z]+\+json)[ \t]*(?:;|$)/i

const isCoded = ({ contentEncoding }: ResponseHead): boolean =>
  contentEncoding !== null && contentEncoding.toLowerCase() !== 'identity'

/** Whether a body under this head may be read as JSON at all; only then is it worth keeping. */
export const mayBeJson = (head: ResponseHead): boolean =>
  head.contentType !== null &&
  (head.contentType === 'application/json' || JSON_TYPE.test(head.contentType)) &&
  !isCoded(head)

export function witness(
  head: ResponseHead,
  framing: Framing,
  body: ReturnType<ResponseBody['seal']>,
  rule: WitnessRule,
): Observation {
  const { status } = head
  const octets = describe(head, body, rule.saltedDigest === null ? 'sha-256' : 'hmac-sha-256')
  const seen = look(body, rule)
  const { binding, responseDigest } = bind(octets, seen, rule.saltedDigest !== null)
  const witnessed = {
    framing,
    requestSent: true,
    status,
    octets,
    binding,
    responseDigest,
  } as const satisfies Witnessed
  const externalRef =
    rule.external_ref === undefined ? null : referenceAt(seen.body, rule.external_ref)
  return {
    kind: 'complete',
    success: succeeded(rule.success, status, seen.body),
    response: ObservedResponse.witness(
      externalRef === null ? witnessed : { ...witnessed, externalRef },
    ),
  }
}

function describe(
  head: ResponseHead,
  { digest, length }: ReturnType<ResponseBody['seal']>,
  alg: Octets['alg'],
): Octets {
  const { status, contentType: content_type } = head
  const content_encoding = isCoded(head) ? head.contentEncoding : null
  // The answer of nearly every tool, spelt out: spreads would make it the dearest part of the witness.
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

type Looked = {
  readonly body: SeenBody
  /** The octets are their own canonical form: their digest is the value's. */
  readonly canonical: boolean
}
const EMPTY: Looked = { body: { kind: 'empty' }, canonical: false }
const OPAQUE: Looked = { body: { kind: 'opaque' }, canonical: false }

/** Salted tools are parsed only when a rule looks inside; their digest never comes from the value. */
function look({ held, length }: ReturnType<ResponseBody['seal']>, rule: WitnessRule): Looked {
  if (length === 0) return EMPTY
  const wanted =
    rule.saltedDigest === null || rule.success.unless.length > 0 || rule.external_ref !== undefined
  if (held === null || !wanted) return OPAQUE
  const parsed = parseSourced(held)
  if (!parsed.ok) return OPAQUE
  return { body: { kind: 'json', value: parsed.value }, canonical: parsed.source !== null }
}

type Bound = { readonly binding: ResponseBinding; readonly responseDigest: string }

function bind(octets: Octets, { body, canonical }: Looked, salted: boolean): Bound {
  if (salted) return { binding: 'octets-salted', responseDigest: jsonDigest(octets, nodeCrypto) }
  if (canonical) return { binding: 'json', responseDigest: octets.digest }
  const value = body.kind === 'json' ? jsonDigestOf(body.value, nodeCrypto) : null
  if (value !== null) return { binding: 'json', responseDigest: value }
  return { binding: 'octets', responseDigest: jsonDigest(octets, nodeCrypto) }
}
