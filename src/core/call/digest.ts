import type { Octets } from '../capsule/model.js'
import type { Crypto } from '../crypto.js'
import { jsonDigest } from '../json/build.js'
import type { Plain } from '../json/value.js'
import { boundHeaders } from '../manifest/headers.js'
import type { ToolRule } from '../manifest/model.js'
import type { Header, ReadCall } from './call.js'
import { tellOctets } from './octets.js'

/** What a digest is made with; the tenant's salt goes in where the tool says so. */
export type Digesting = {
  readonly crypto: Pick<Crypto, 'sha256' | 'sha256Hex'>
  readonly tenantSalt: string
}

/**
 * What grants, approvals and idempotency keys bind to (DESIGN §3): the request as it will be sent,
 * with every header that is forwarded. Never mandate, intent, keys, Prefer or trace headers. With
 * `digest_salt: tenant` the tenant's salt goes in, so that a guesser of small bodies gains nothing
 * (seed §13).
 */
export function digestRequest(
  call: ReadCall,
  rule: ToolRule,
  using: Digesting,
): { readonly requestDigest: string; readonly requestOctets: Octets } {
  const requestOctets = tellOctets(call, saltOf(rule, using), using.crypto)
  const requestDigest = digestWith(boundHeaders(rule), call, rule, requestOctets, using)
  return { requestDigest, requestOctets }
}

/**
 * The digest as 0.1 made it, which bound no header but those of `bind_headers`. Keys and open items
 * written by 0.1 carry it: they are compared under it until they expire, so that nothing runs twice
 * because of the upgrade. Goes with 0.3: by then all of them are over.
 */
export const legacyDigest = ({ call, rule, requestOctets }: Digested, using: Digesting): string =>
  digestWith(new Set(rule.bind_headers), call, rule, requestOctets, using)

type Digested = {
  readonly call: ReadCall
  readonly rule: ToolRule
  readonly requestOctets: Octets
}

const saltOf = (rule: ToolRule, { tenantSalt }: Digesting): string =>
  rule.digest_salt === 'tenant' ? tenantSalt : ''

function digestWith(
  names: ReadonlySet<string>,
  call: ReadCall,
  rule: ToolRule,
  octets: Octets,
  using: Digesting,
): string {
  const bound = boundMembers(names, call, rule, octets)
  const salt = saltOf(rule, using)
  if (salt !== '') bound.salt = salt
  return jsonDigest(bound, using.crypto)
}

function boundMembers(
  names: ReadonlySet<string>,
  call: ReadCall,
  { tool }: ToolRule,
  octets: Octets,
): { [name: string]: Plain } {
  const body = { alg: octets.alg, digest: octets.digest, length: octets.length }
  switch (call.kind) {
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
    case 'function':
      return { arguments: body, server: 'function', tool }
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
