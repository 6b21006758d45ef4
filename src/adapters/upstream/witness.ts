import type { Octets, ResponseBinding } from '../../core/capsule/model.js'
import { type Framing, type Observation, ObservedResponse } from '../../core/capsule/observation.js'
import { jsonDigest, jsonDigestOf } from '../../core/json/build.js'
import { parse } from '../../core/json/parse.js'
import { nodeCrypto } from '../crypto-node.js'
import type { ResponseBody } from './response-body.js'
import type { ResponseHead } from './response-head.js'
import { type ReadBody, referenceAt, type SuccessRule, succeeded } from './success.js'

/** How a complete response becomes the one thing `confirmed` is built from (DESIGN §2.3, §5). */
export type WitnessRule = {
  readonly success: SuccessRule
  /** JSON pointer into the response body. */
  readonly external_ref?: string
  /** The tenant's salt where the tool says `digest_salt: tenant`. */
  readonly digest_salt: Uint8Array | null
}

const JSON_TYPE = /^application\/(?:json|[!#$%&'*+\-.^_`|~0-9a-z]+\+json)[ \t]*(?:;|$)/i

const isCoded = ({ contentEncoding }: ResponseHead): boolean =>
  contentEncoding !== null && contentEncoding.toLowerCase() !== 'identity'

/** Whether a body under this head may be read as JSON at all; only then is it worth keeping. */
export const mayBeJson = (head: ResponseHead): boolean =>
  head.contentType !== null && JSON_TYPE.test(head.contentType) && !isCoded(head)

export function witness(
  head: ResponseHead,
  framing: Framing,
  body: ReturnType<ResponseBody['seal']>,
  rule: WitnessRule,
): Observation {
  const octets = {
    alg: 'sha-256',
    digest: body.digest,
    length: body.length,
    ...(head.contentType === null ? {} : { content_type: head.contentType }),
    ...(isCoded(head) && head.contentEncoding !== null
      ? { content_encoding: head.contentEncoding }
      : {}),
    status: head.status,
    complete: true,
  } as const satisfies Octets
  const read = look(body, rule)
  const externalRef = rule.external_ref === undefined ? null : referenceAt(read, rule.external_ref)
  return {
    kind: 'complete',
    success: succeeded(rule.success, head.status, read),
    response: ObservedResponse.witness({
      framing,
      requestSent: true,
      status: head.status,
      octets,
      ...bind(octets, read, rule.digest_salt !== null),
      ...(externalRef === null ? {} : { externalRef }),
    }),
  }
}

/** Salted tools are parsed only when a rule looks inside; their digest never comes from the value. */
function look({ held, length }: ReturnType<ResponseBody['seal']>, rule: WitnessRule): ReadBody {
  if (length === 0) return { kind: 'empty' }
  const wanted =
    rule.digest_salt === null || rule.success.unless.length > 0 || rule.external_ref !== undefined
  if (held === null || !wanted) return { kind: 'opaque' }
  const parsed = parse(held)
  return parsed.ok ? { kind: 'json', value: parsed.value } : { kind: 'opaque' }
}

function bind(
  octets: Octets,
  read: ReadBody,
  salted: boolean,
): { binding: ResponseBinding; responseDigest: string } {
  if (salted) return { binding: 'octets-salted', responseDigest: jsonDigest(octets, nodeCrypto) }
  const value = read.kind === 'json' ? jsonDigestOf(read.value, nodeCrypto) : null
  if (value !== null) return { binding: 'json', responseDigest: value }
  return { binding: 'octets', responseDigest: jsonDigest(octets, nodeCrypto) }
}
