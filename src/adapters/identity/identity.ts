import type { Credential } from '../../core/call/agent.js'
import type { Caller } from '../../core/call/call.js'
import type { Identified, Identity } from '../../ports/identity.js'
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
  const certified = (subject: string): Identified => {
    const record = options.certificates.get(subject)
    return record === undefined
      ? { kind: 'unknown', why: 'certificate_unknown' }
      : known(record, [{ kind: 'certificate', subject }])
  }
  const holding = (sha256: string): Identified => {
    const record = options.tokens().get(sha256)
    return record === undefined
      ? { kind: 'unknown', why: 'token_unknown' }
      : known(record, [{ kind: 'token', sha256 }])
  }
  const stillNames = (agent: AgentRecord, credential: Credential): boolean => {
    switch (credential.kind) {
      case 'token':
        return covers(options.tokens().get(credential.sha256), agent)
      case 'certificate':
        return covers(options.certificates.get(credential.subject), agent)
      case 'jwt':
        return options.issuers.some(({ issuer }) => issuer === credential.issuer)
      case 'asserted':
        return true
      case 'anonymous':
        return options.anonymous
    }
  }
  return {
    identify(caller: Caller): Identified | Promise<Identified> {
      if (caller.asserted !== null) {
        return known({ agent: caller.asserted, roles: [], developer: caller.asserted }, ASSERTED)
      }
      const { bearer, certificate } = caller
      const byCertificate = certificate === null ? null : certified(certificate)
      if (bearer !== null) {
        const second = options.certificates.size === 0 ? null : byCertificate
        if (options.issuers.length > 0 && THREE_PARTS.test(bearer)) {
          return verifyJwt(bearer).then((first) => agreed(first, second))
        }
        return agreed(holding(hashToken(bearer)), second)
      }
      if (byCertificate !== null) return byCertificate
      if (options.anonymous) {
        return known({ agent: 'anonymous', roles: [], developer: 'anonymous' }, ANONYMOUS)
      }
      return { kind: 'unknown', why: 'no_credential' }
    },
    isStillKnown(agent) {
      if (agent.by === undefined) return names(agent, options.tokens(), options.certificates)
      for (const credential of agent.by) if (!stillNames(agent, credential)) return false
      return true
    },
  }
}

/** Whether any token or certificate gives this agent all its roles. */
function names(agent: AgentRecord, ...of: readonly ReadonlyMap<string, AgentRecord>[]): boolean {
  for (const records of of) {
    for (const record of records.values()) if (covers(record, agent)) return true
  }
  return false
}

const covers = (record: AgentRecord | undefined, { agent, roles }: AgentRecord): boolean =>
  record !== undefined &&
  record.agent === agent &&
  roles.every((role) => record.roles.includes(role))

function agreed(first: Identified, second: Identified | null): Identified {
  if (first.kind === 'unknown' || second === null) return first
  if (second.kind === 'unknown') return second
  return first.agent === second.agent
    ? { ...first, by: [...(first.by ?? []), ...(second.by ?? [])] }
    : { kind: 'unknown', why: 'credentials_disagree' }
}

const ASSERTED: readonly Credential[] = [{ kind: 'asserted' }]
const ANONYMOUS: readonly Credential[] = [{ kind: 'anonymous' }]

const known = (
  { agent, roles, developer }: AgentRecord,
  by: readonly Credential[],
): Extract<Identified, { kind: 'known' }> => ({ kind: 'known', agent, roles, developer, by })
