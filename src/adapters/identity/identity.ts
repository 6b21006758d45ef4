import type { Caller } from '../../core/call.js'
import type { Identified, Identity } from '../../ports.js'
import { createJwtVerifier, type JwtIssuer } from './jwt.js'
import { hashToken } from './tokens.js'

export type AgentRecord = {
  readonly agent: string
  readonly roles: readonly string[]
  readonly developer: string
}

export type IdentityOptions = {
  /** SHA-256 of a token, hex → the agent it was given to. */
  readonly tokens: () => ReadonlyMap<string, AgentRecord>
  readonly issuers: readonly JwtIssuer[]
  /** Subject of a verified client certificate → agent. */
  readonly certificates: ReadonlyMap<string, AgentRecord>
  /** Recording without files: a caller without credentials is `anonymous` instead of refused. */
  readonly anonymous: boolean
}

const THREE_PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/**
 * A bearer token, else a certificate. With a configured issuer a token of three dot-separated parts is
 * a JWT, anything else is looked up by hash (DESIGN §7). A credential that fails is never ignored in
 * favour of another or of anonymity, and where certificates name agents both must name the same one.
 */
export function createIdentity(options: IdentityOptions): Identity {
  const verifyJwt = createJwtVerifier(options.issuers)
  return {
    identify(caller: Caller): Identified | Promise<Identified> {
      if (caller.asserted !== null) {
        return { kind: 'known', agent: caller.asserted, roles: [], developer: caller.asserted }
      }
      const { bearer, certificate } = caller
      const byCertificate =
        certificate === null
          ? null
          : known(options.certificates.get(certificate), 'certificate_unknown')
      if (bearer !== null) {
        const second = options.certificates.size === 0 ? null : byCertificate
        if (options.issuers.length > 0 && THREE_PARTS.test(bearer)) {
          return verifyJwt(bearer).then((first) => agreed(first, second))
        }
        return agreed(known(options.tokens().get(hashToken(bearer)), 'token_unknown'), second)
      }
      if (byCertificate !== null) return byCertificate
      if (options.anonymous) {
        return { kind: 'known', agent: 'anonymous', roles: [], developer: 'anonymous' }
      }
      return { kind: 'unknown', why: 'no_credential' }
    },
  }
}

function agreed(first: Identified, second: Identified | null): Identified {
  if (first.kind === 'unknown' || second === null) return first
  if (second.kind === 'unknown') return second
  return first.agent === second.agent ? first : { kind: 'unknown', why: 'credentials_disagree' }
}

const known = (agent: AgentRecord | undefined, why: string): Identified =>
  agent === undefined ? { kind: 'unknown', why } : { kind: 'known', ...agent }
