import type { Octets } from '../capsule/model.js'
import type { Hashing } from '../crypto/crypto.js'
import { bytesDigest, canonicalOf, jsonDigest } from '../json/build.js'
import type { Plain } from '../json/value.js'
import type { ToolRule } from '../manifest/model.js'
import { boundHeaders } from '../manifest/route/headers.js'
import type { Header, ReadCall } from './call.js'
import { contentTypeOf, octetsOf } from './parts.js'

/** What a digest is made with; the tenant's keys are used where the tool says so. */
export type Digesting = {
  readonly crypto: Hashing
  readonly tenant: {
    requestOctets(octets: Uint8Array): string
    requestSalt(request: string): string
    readonly older: {
      requestOctets(octets: Uint8Array): string
      requestDigest(request: Bound): string
    }
  }
}
type Bound = { readonly [name: string]: Plain }
export type Digested = { readonly requestDigest: string; readonly requestOctets: Octets }

/**
 * What grants, approvals and idempotency keys bind to (DESIGN §3): the request as it will be sent,
 * with every header that is forwarded, and over MCP the definition of the tool as the agent was shown it. Never mandate, intent, keys, Prefer or trace headers. With
 * `digest_salt: tenant` the octets are an HMAC, and the digested object has a salt of its own, so that a
 * guesser of small bodies gains nothing (seed §13).
 */
export function digestRequest(call: ReadCall, rule: ToolRule, using: Digesting): Digested {
  const salted = isSalted(rule)
  const requestOctets = describeOctets(call, salted, using)
  const bound = boundMembers(boundHeaders(rule), call, rule, requestOctets)
  if (salted) bound.salt = using.tenant.requestSalt(canonicalOf(bound))
  return { requestDigest: jsonDigest(bound, using.crypto), requestOctets }
}

/**
 * The request as earlier versions digested it, newest first. Keys and open items written by them carry these
 * digests: they are compared under them until they expire, so that nothing runs twice because of an upgrade.
 * Before one key per use a salted digest had the tenant's secret in it; 0.1 bound no header but those of
 * `bind_headers`. Both go with 0.3: by then all of them are over.
 */
export function olderDigests(known: Digestible, using: Digesting): readonly Digested[] {
  const { call, rule } = known
  const requestOctets = olderOctets(known, using)
  const digested = (names: ReadonlySet<string>): Digested => {
    const bound = boundMembers(names, call, rule, requestOctets)
    const requestDigest = isSalted(rule)
      ? using.tenant.older.requestDigest(bound)
      : jsonDigest(bound, using.crypto)
    return { requestDigest, requestOctets }
  }
  const of01 = digested(new Set(rule.bind_headers))
  return isSalted(rule) ? [digested(boundHeaders(rule)), of01] : [of01]
}

/** The octets as earlier versions recorded them: of salted tools a SHA-256 over secret and octets. */
export function olderOctets(
  { call, rule, requestOctets }: Digestible,
  { tenant }: Digesting,
): Octets {
  if (!isSalted(rule)) return requestOctets
  return { ...requestOctets, alg: 'sha-256', digest: tenant.older.requestOctets(octetsOf(call)) }
}

type Digestible = {
  readonly call: ReadCall
  readonly rule: ToolRule
  readonly requestOctets: Octets
}

/** Digest and length of the octets, under the type they came with. */
function describeOctets(call: ReadCall, salted: boolean, { tenant, crypto }: Digesting): Octets {
  const bytes = octetsOf(call)
  const type = contentTypeOf(call)
  const { length } = bytes
  const alg = salted ? 'hmac-sha-256' : 'sha-256'
  const digest = salted ? tenant.requestOctets(bytes) : bytesDigest(bytes, crypto)
  return type === undefined ? { alg, digest, length } : { alg, content_type: type, digest, length }
}

const isSalted = (rule: ToolRule): boolean => rule.digest_salt === 'tenant'

function boundMembers(
  names: ReadonlySet<string>,
  call: ReadCall,
  { tool }: ToolRule,
  octets: Octets,
): { [name: string]: Plain } {
  const body = { alg: octets.alg, digest: octets.digest, length: octets.length }
  switch (call.kind) {
    case 'function':
      return { arguments: body, server: 'function', tool }
    case 'mcp':
      return {
        arguments: body,
        definition: call.definition?.digest ?? null,
        method: call.method,
        more: call.more === '' ? null : call.more,
        name: call.name,
        server: call.server,
        tool,
      }
    case 'http':
      return {
        body,
        content_type: octets.content_type ?? null,
        headers: valuesOf(names, call.headers),
        method: call.method,
        target: call.target,
        tool,
        upstream: call.upstream,
      }
  }
}

function valuesOf(
  names: ReadonlySet<string>,
  headers: readonly Header[],
): { [name: string]: Plain } {
  const values: { [name: string]: string[] } = Object.create(null)
  for (const [name, value] of headers) {
    if (!names.has(name)) continue
    values[name] ??= []
    values[name].push(value)
  }
  return values
}
