import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import type { Identified } from '../../ports/identity.js'

/** One trusted issuer of agent identities. Keys are pinned in a file or fetched with cache and cooldown. */
export type JwtIssuer = {
  readonly issuer: string
  readonly audience: string
  readonly jwks:
    | { readonly kind: 'static'; readonly set: JSONWebKeySet }
    /** Asked for each token; a set that is another object has taken the place of the one before. */
    | { readonly kind: 'file'; readonly read: () => JSONWebKeySet }
    | { readonly kind: 'remote'; readonly url: string }
  /** Claim that names the agent; default `sub`. */
  readonly agentClaim: string
  /** Claim with the agent's Cedar roles, a list of strings. */
  readonly rolesClaim: string
  readonly developerClaim: string | null
}

/** Asymmetric only: a shared secret would let a verifier forge. */
const ALGORITHMS = ['EdDSA', 'ES256', 'ES384', 'PS256', 'RS256']
const CLOCK_TOLERANCE_SECONDS = 30
const MAX_TOKEN_LENGTH = 16 * 1024

export type JwtVerifier = (token: string) => Promise<Identified>

export function createJwtVerifier(issuers: readonly JwtIssuer[]): JwtVerifier {
  const known = issuers.map((issuer) => ({ issuer, keys: keySet(issuer) }))
  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) return { kind: 'unknown', why: 'jwt_too_long' }
    const claimed = claimedIssuer(token)
    const match = known.find(({ issuer }) => issuer.issuer === claimed)
    if (match === undefined) return { kind: 'unknown', why: 'jwt_issuer_unknown' }
    try {
      const { payload } = await jwtVerify(token, match.keys, {
        issuer: match.issuer.issuer,
        audience: match.issuer.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', match.issuer.agentClaim],
      })
      return agentOf(payload, match.issuer)
    } catch (error) {
      return { kind: 'unknown', why: `jwt_${(error as { code?: string }).code ?? 'invalid'}` }
    }
  }
}

function keySet({ jwks }: JwtIssuer): JWTVerifyGetKey {
  if (jwks.kind === 'static') return createLocalJWKSet(jwks.set)
  if (jwks.kind === 'file') {
    const { read } = jwks
    let set = read()
    let keys = createLocalJWKSet(set)
    return (header, token) => {
      const now = read()
      if (now !== set) {
        set = now
        keys = createLocalJWKSet(set)
      }
      return keys(header, token)
    }
  }
  // jose caches the set and waits between refetches for unknown key ids.
  return createRemoteJWKSet(new URL(jwks.url), {
    cooldownDuration: 30_000,
    cacheMaxAge: 600_000,
    timeoutDuration: 5_000,
  })
}

function agentOf(payload: JWTPayload, issuer: JwtIssuer): Identified {
  const agent = payload[issuer.agentClaim]
  if (typeof agent !== 'string' || agent === '')
    return { kind: 'unknown', why: 'jwt_agent_missing' }
  const roles = payload[issuer.rolesClaim]
  const developer = issuer.developerClaim === null ? undefined : payload[issuer.developerClaim]
  return {
    kind: 'known',
    agent,
    roles: Array.isArray(roles)
      ? roles.filter((role): role is string => typeof role === 'string')
      : [],
    developer: typeof developer === 'string' && developer !== '' ? developer : agent,
    by: [{ kind: 'jwt', issuer: issuer.issuer }],
  }
}

/** Unverified, and used only to choose which pinned issuer must have signed it. */
function claimedIssuer(token: string): string | null {
  try {
    const payload: unknown = JSON.parse(
      Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'),
    )
    const issuer = (payload as { iss?: unknown } | null)?.iss
    return typeof issuer === 'string' ? issuer : null
  } catch {
    return null
  }
}
