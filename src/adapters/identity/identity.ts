import type { Credential } from '../../core/call/agent.js'
import type { Caller } from '../../core/call/call.js'
import type { Identified, Identity, Mandates } from '../../ports/identity.js'
import { createJwtVerifier, type JwtIssuer } from './jwt.js'
import type { MandateIssuer } from './mandate.js'
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
  /** Absent: no bearer token is a mandate. */
  readonly mandates?: {
    readonly issuers: readonly MandateIssuer[]
    /** Agents of gate.yaml: one that a mandate names has its roles and developer from here. */
    readonly agents: ReadonlyMap<string, AgentRecord>
  }
}

const THREE_PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/

/**
 * A bearer token, else a certificate. A token that names an issuer of mandates is a mandate; else, with a
 * configured issuer, one of three dot-separated parts is a JWT, and anything else is looked up by hash (DESIGN §7). A credential that fails is never ignored in
 * favour of another or of anonymity, and where certificates name agents both must name the same one.
 */
export function createIdentity(options: IdentityOptions, mandates?: Mandates): Identity {
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
  const mandated = (agent: string): AgentRecord =>
    options.mandates?.agents.get(agent) ?? { agent, roles: [], developer: agent }
  const byMandate = async (bearer: string, caller: Caller, by: Mandates): Promise<Identified> => {
    const read = await by.read(bearer, caller)
    if (read.kind === 'unavailable') return { kind: 'unknown', why: 'mandate_unavailable' }
    if (read.kind === 'invalid') return { kind: 'unknown', why: `mandate_${read.why}` }
    const { agent, issuer, id, expiresAt } = read.mandate
    const identified = known(mandated(agent), [{ kind: 'mandate', issuer }])
    return { ...identified, mandate: { id, issuer, expiresAt } }
  }
  const stillNames = (agent: AgentRecord, credential: Credential): boolean => {
    switch (credential.kind) {
      case 'token':
        return covers(options.tokens().get(credential.sha256), agent)
      case 'certificate':
        return covers(options.certificates.get(credential.subject), agent)
      case 'jwt':
        return options.issuers.some(({ issuer }) => issuer === credential.issuer)
      case 'mandate':
        return (
          options.mandates?.issuers.some(({ issuer }) => issuer === credential.issuer) === true &&
          covers(mandated(agent.agent), agent)
        )
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
        if (mandates?.isOne(bearer)) {
          return byMandate(bearer, caller, mandates).then((first) => agreed(first, second))
        }
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
