import type { FunctionCall, HttpCall } from '../core/call.js'
import type { Octets } from '../core/capsule/model.js'
import { bytesDigest, jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import type { ToolRule } from '../core/manifest/model.js'
import { utf8 } from '../core/text.js'
import { isHttp, type Opened, type Parts } from './stage.js'

/**
 * What grants, approvals and idempotency keys bind to (DESIGN §3): the request as it will be sent.
 * Never mandate, intent, keys, Prefer or trace headers. With `digest_salt: tenant` the tenant's salt
 * goes in, so that a guesser of small bodies gains nothing (seed §13).
 */
export function digestRequest(
  { call }: Pick<Opened, 'call'>,
  rule: ToolRule,
  parts: Pick<Parts, 'crypto' | 'tenantSalt'>,
): { requestDigest: string; requestOctets: Octets } {
  const salt = rule.digest_salt === 'tenant' ? parts.tenantSalt : ''
  const octets = isHttp(call) ? httpOctets(call, salt, parts) : functionOctets(call, salt, parts)
  const body = { alg: octets.alg, digest: octets.digest, length: octets.length }
  const described: { [name: string]: Plain } = isHttp(call)
    ? {
        body,
        content_type: octets.content_type ?? null,
        headers: boundHeaders(call, rule),
        method: call.method,
        target: call.target,
        tool: rule.tool,
        upstream: call.upstream,
      }
    : { arguments: body, server: 'function', tool: rule.tool }
  if (salt !== '') described.salt = salt
  return { requestDigest: jsonDigest(described, parts.crypto), requestOctets: octets }
}

function boundHeaders(call: HttpCall, rule: ToolRule): { [name: string]: Plain } {
  const bound: { [name: string]: Plain } = {}
  for (const name of rule.bind_headers) {
    const values = call.headers.filter(([header]) => header === name).map(([, value]) => value)
    if (values.length > 0) bound[name] = values
  }
  return bound
}

function httpOctets(call: HttpCall, salt: string, parts: Pick<Parts, 'crypto'>): Octets {
  const bytes = call.body.kind === 'read' ? call.body.bytes : new Uint8Array()
  const type = call.headers.find(([name]) => name === 'content-type')?.[1]
  const digest = digestOf(bytes, salt, parts)
  const { length } = bytes
  return type === undefined
    ? { alg: 'sha-256', digest, length }
    : { alg: 'sha-256', content_type: type, digest, length }
}

const functionOctets = (
  call: FunctionCall,
  salt: string,
  parts: Pick<Parts, 'crypto'>,
): Octets => ({
  alg: 'sha-256',
  content_type: 'application/json',
  digest: digestOf(call.argumentsJson, salt, parts),
  length: call.argumentsJson.length,
})

function digestOf(bytes: Uint8Array, salt: string, { crypto }: Pick<Parts, 'crypto'>): string {
  return bytesDigest(salt === '' ? bytes : concat(utf8(`${salt}\n`), bytes), crypto)
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length)
  out.set(a)
  out.set(b, a.length)
  return out
}
