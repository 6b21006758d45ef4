import type { Call, FunctionCall, HttpCall } from '../core/call.js'
import type { Octets } from '../core/capsule/model.js'
import { bytesDigest, jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import { boundHeaders } from '../core/manifest/headers.js'
import type { ToolRule } from '../core/manifest/model.js'
import { utf8 } from '../core/text.js'
import { isHttp, type Matched, type Opened, type Parts } from './stage.js'

type Digesting = Pick<Parts, 'crypto' | 'tenantSalt'>

/**
 * What grants, approvals and idempotency keys bind to (DESIGN §3): the request as it will be sent,
 * with every header that is forwarded. Never mandate, intent, keys, Prefer or trace headers. With
 * `digest_salt: tenant` the tenant's salt goes in, so that a guesser of small bodies gains nothing
 * (seed §13).
 */
export function digestRequest(
  { call }: Pick<Opened, 'call'>,
  rule: ToolRule,
  parts: Digesting,
): { requestDigest: string; requestOctets: Octets } {
  const salt = saltOf(rule, parts)
  const octets = isHttp(call) ? httpOctets(call, salt, parts) : functionOctets(call, salt, parts)
  const names = boundHeaders(rule)
  return { requestDigest: digestWith(names, call, rule, octets, parts), requestOctets: octets }
}

/**
 * The digest as 0.1 made it, which bound no header but those of `bind_headers`. Keys and open items
 * written by 0.1 carry it: they are compared under it until they expire, so that nothing runs twice
 * because of the upgrade. Goes with 0.3: by then all of them are over.
 */
export const legacyDigest = (
  { call, rule, requestOctets }: Pick<Matched, 'call' | 'rule' | 'requestOctets'>,
  parts: Digesting,
): string => digestWith(new Set(rule.bind_headers), call, rule, requestOctets, parts)

const saltOf = (rule: ToolRule, { tenantSalt }: Digesting): string =>
  rule.digest_salt === 'tenant' ? tenantSalt : ''

function digestWith(
  names: ReadonlySet<string>,
  call: Call,
  rule: ToolRule,
  octets: Octets,
  parts: Digesting,
): string {
  const salt = saltOf(rule, parts)
  const body = { alg: octets.alg, digest: octets.digest, length: octets.length }
  const described: { [name: string]: Plain } = isHttp(call)
    ? {
        body,
        content_type: octets.content_type ?? null,
        headers: valuesOf(names, call),
        method: call.method,
        target: call.target,
        tool: rule.tool,
        upstream: call.upstream,
      }
    : { arguments: body, server: 'function', tool: rule.tool }
  if (salt !== '') described.salt = salt
  return jsonDigest(described, parts.crypto)
}

function valuesOf(names: ReadonlySet<string>, { headers }: HttpCall): { [name: string]: Plain } {
  const values: { [name: string]: string[] } = Object.create(null)
  for (const [name, value] of headers) {
    if (!names.has(name)) continue
    values[name] ??= []
    values[name].push(value)
  }
  return values
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
