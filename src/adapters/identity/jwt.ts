import { type JWTPayload, jwtVerify } from 'jose'
import type { Identified } from '../../ports/identity.js'
import { claimedIssuer } from './claimed-issuer.js'
import { createKeySet, type KeySource } from './key-set.js'

/** One trusted issuer of agent identities. */
export type JwtIssuer = {
  readonly issuer: string
  readonly audience: string
  readonly jwks: KeySource
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
  const known = issuers.map((issuer) => ({ issuer, keys: createKeySet(issuer.jwks).key }))
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
