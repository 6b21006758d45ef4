import type { JSONWebKeySet } from 'jose'
import { readFileSync } from '../adapters/disk/files.js'
import type { AgentRecord, IdentityOptions } from '../adapters/identity/identity.js'
import type { JwtIssuer } from '../adapters/identity/jwt.js'
import type { KeySource } from '../adapters/identity/key-set.js'
import type { MandateIssuer } from '../adapters/identity/mandate.js'
import { watchFile, watchTokens } from '../adapters/identity/watch-tokens.js'
import type { GateConfig, IssuerConfig, MandateIssuerConfig } from '../config/model.js'
import { GateError } from '../core/error.js'
import type { GateReport } from '../gate/context.js'

/** Who may call: agents of gate.yaml, agent tokens this gate issued, JWT issuers, issuers of mandates, client certificates. */
export function identityOf(
  { identity, data_dir }: GateConfig,
  report: (event: GateReport) => void,
  anonymous = false,
): IdentityOptions {
  const agents = new Map<string, AgentRecord>()
  const configured = new Map<string, AgentRecord>()
  for (const [agent, { token_sha256, roles, developer }] of Object.entries(identity.agents)) {
    agents.set(agent, { agent, roles, developer })
    if (token_sha256 !== null) configured.set(token_sha256, { agent, roles, developer })
  }
  const issued = watchTokens(data_dir, (error) =>
    report({ level: 'error', event: 'tokens_unreadable', detail: String(error) }),
  )
  let own: ReadonlyMap<string, AgentRecord> = new Map()
  let all: ReadonlyMap<string, AgentRecord> = configured
  return {
    tokens: () => {
      const now = issued()
      // Asked twice per call: put together again only when the file has changed.
      if (now !== own) {
        own = now
        all = new Map([...now, ...configured])
      }
      return all
    },
    issuers: identity.jwt.map((issuer) => issuerOf(issuer, report)),
    certificates: new Map(
      Object.entries(identity.mtls).map(([subject, agent]) => [
        subject,
        agents.get(agent) ?? { agent, roles: [], developer: agent },
      ]),
    ),
    anonymous,
    mandates: {
      issuers: identity.mandates.map((issuer) => mandateIssuerOf(issuer, report)),
      agents,
    },
  }
}

const issuerOf = (config: IssuerConfig, report: (event: GateReport) => void): JwtIssuer => ({
  issuer: config.issuer,
  audience: config.audience,
  jwks: sourceOf(config, report),
  agentClaim: config.agent_claim,
  rolesClaim: config.roles_claim,
  developerClaim: config.developer_claim,
})

const mandateIssuerOf = (
  config: MandateIssuerConfig,
  report: (event: GateReport) => void,
): MandateIssuer => ({
  issuer: config.issuer,
  audience: config.audience,
  jwks: sourceOf(config, report),
  agentClaim: config.agent_claim,
  algorithms: config.algorithms,
  requireProof: config.require_proof,
})

const sourceOf = (
  { jwks }: Pick<IssuerConfig, 'jwks'>,
  report: (event: GateReport) => void,
): KeySource =>
  jwks.kind === 'url'
    ? { kind: 'remote', url: jwks.url }
    : { kind: 'file', read: keysOf(jwks.path, report) }

/** A start needs a readable set; one that is damaged later leaves no key that verifies. */
function keysOf(path: string, report: (event: GateReport) => void): () => JSONWebKeySet {
  keySet(path)
  const failed = (error: unknown): void =>
    report({ level: 'error', event: 'jwks_unreadable', detail: String(error) })
  return watchFile(path, () => keySet(path), { keys: [] }, failed)
}

function keySet(path: string): JSONWebKeySet {
  try {
    const set = JSON.parse(readFileSync(path, 'utf8')) as JSONWebKeySet
    if (Array.isArray(set.keys)) return set
  } catch (error) {
    throw new GateError('config_invalid', `${path}: ${String(error)}`)
  }
  throw new GateError('config_invalid', `${path}: not a JSON Web Key Set`)
}
