import { type CryptoKey, calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import type { Proof } from '../../core/call/call.js'
import { isObject, type JsonObject, type JsonValue } from '../../core/json/value.js'
import { isSignedBy, readCompact } from './compact-jws.js'
import { seconds } from './mandate-claims.js'

const MOST_LENGTH = 8 * 1024
const MOST_JTI = 256
const WINDOW_MS = 60_000
const ALGORITHMS: readonly string[] = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'PS256', 'RS256']
/** The public members of each kind of key, and no others, are read. */
const PUBLIC: ReadonlyMap<JsonValue | undefined, readonly string[]> = new Map([
  ['OKP', ['crv', 'x']],
  ['EC', ['crv', 'x', 'y']],
  ['RSA', ['n', 'e']],
])
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

export type DpopRead =
  | { readonly ok: true; readonly jti: string }
  | { readonly ok: false; readonly why: string }

type Demand = {
  /** RFC 7638 thumbprint that the mandate is bound to. */
  readonly key: string
  /** SHA-256 of the mandate, base64url. */
  readonly ath: string
  readonly at: Omit<Proof, 'dpop' | 'certificate'>
  readonly now: number
}

/** All checks of a DPoP proof (RFC 9449 §4.3) but that it comes for the first time. */
export async function readDpop(proof: string, { key, ath, at, now }: Demand): Promise<DpopRead> {
  if (proof.length > MOST_LENGTH) return refused('too_long')
  const read = readCompact(proof)
  if (!read.ok) return refused(read.why)
  const { header, payload } = read
  if (header.get('typ') !== 'dpop+jwt') return refused('typ')
  const alg = header.get('alg')
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) return refused('alg')
  const jwk = publicKeyOf(header)
  if (jwk === null) return refused('key')
  if ((await thumbprintOf(jwk)) !== key) return refused('key_other')
  const imported = await imports(jwk, alg)
  if (imported === null) return refused('key')
  if (!(await isSignedBy(proof, imported, alg))) return refused('signature')
  if (payload.get('htm') !== at.method) return refused('htm')
  if (!isAddress(payload.get('htu'), at)) return refused('htu')
  const issued = seconds(payload, 'iat')
  if (issued === null || Math.abs(now - issued * 1000) > WINDOW_MS) return refused('iat')
  if (payload.get('ath') !== ath) return refused('ath')
  const jti = payload.get('jti')
  if (typeof jti !== 'string' || jti === '' || jti.length > MOST_JTI) return refused('jti')
  return { ok: true, jti }
}

const refused = (why: string): DpopRead => ({ ok: false, why: `proof_${why}` })

/** Null: it is symmetric, of no known kind, or its private half stands beside it. */
function publicKeyOf(header: JsonObject): JWK | null {
  const jwk = header.get('jwk')
  if (!isObject(jwk) || PRIVATE.some((name) => jwk.has(name))) return null
  const kty = jwk.get('kty')
  const names = PUBLIC.get(kty)
  if (names === undefined) return null
  const members = names.map((name) => [name, jwk.get(name)] as const)
  if (!members.every(([, value]) => typeof value === 'string')) return null
  return { kty: String(kty), ...Object.fromEntries(members) }
}

/** Null: the key's members are not those of a key. */
const thumbprintOf = (jwk: JWK): Promise<string | null> =>
  calculateJwkThumbprint(jwk, 'sha256').catch(() => null)

/** Null: no key of this algorithm. */
const imports = (jwk: JWK, alg: string): Promise<CryptoKey | null> =>
  importJWK(jwk, alg).then(
    (key) => (key instanceof Uint8Array ? null : key),
    () => null,
  )

/**
 * Whether `htu` is where the request went, without query and fragment. Its scheme is not compared: behind a
 * proxy that ends TLS the agent says https and the gate sees http. The path is compared as text, because
 * the gate reads it so.
 */
function isAddress(htu: JsonValue | undefined, { host, path }: Demand['at']): boolean {
  const parts = typeof htu === 'string' ? /^(https?):\/\/([^/?#]+)([^?#]*)/i.exec(htu) : null
  if (parts === null) return false
  const [, scheme = '', authority = '', at = ''] = parts
  const port = scheme.toLowerCase() === 'https' ? ':443' : ':80'
  return withoutPort(authority, port) === withoutPort(host, port) && (at === '' ? '/' : at) === path
}

function withoutPort(host: string, port: string): string {
  const lower = host.toLowerCase()
  return lower.endsWith(port) ? lower.slice(0, -port.length) : lower
}
