import { readFileSync } from 'node:fs'
import type { JSONWebKeySet } from 'jose'
import type { AgentRecord, IdentityOptions } from '../adapters/identity/identity.js'
import type { JwtIssuer } from '../adapters/identity/jwt.js'
import { readTokens } from '../adapters/identity/tokens.js'
import { GateError } from '../core/error.js'
import type { GateConfig, IssuerConfig } from './model.js'

/** Who may call: agents of gate.yaml, agent tokens this gate issued, JWT issuers, client certificates. */
export function identityOf(config: GateConfig, anonymous = false): IdentityOptions {
  const { agents, jwt, mtls } = config.identity
  const named = new Map<string, AgentRecord>()
  const configured = new Map<string, AgentRecord>()
  for (const [agent, { token_sha256, roles, developer }] of Object.entries(agents)) {
    const record = { agent, roles, developer }
    named.set(agent, record)
    if (token_sha256 !== null) configured.set(token_sha256, record)
  }
  return {
    tokens: issuedTokens(config.data_dir, configured),
    issuers: jwt.map(issuerOf),
    certificates: new Map(
      Object.entries(mtls).map(([subject, agent]) => [
        subject,
        named.get(agent) ?? { agent, roles: [], developer: agent },
      ]),
    ),
    anonymous,
  }
}

/** A token made or revoked while the gate runs counts from the next look, at most this much later. */
const LOOK_AGAIN_MS = 1000

function issuedTokens(
  dir: string,
  configured: ReadonlyMap<string, AgentRecord>,
): () => ReadonlyMap<string, AgentRecord> {
  let known = configured
  let looked = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - looked < LOOK_AGAIN_MS) return known
    looked = now
    const issued = readTokens(dir)
      .filter(({ role }) => role === 'agent')
      .map(({ sha256, name, groups, developer = name }) => {
        return [sha256, { agent: name, roles: groups, developer }] as const
      })
    known = new Map([...configured, ...issued])
    return known
  }
}

function issuerOf(config: IssuerConfig): JwtIssuer {
  const { issuer, audience, jwks } = config
  return {
    issuer,
    audience,
    jwks:
      jwks.kind === 'url'
        ? { kind: 'remote', url: jwks.url }
        : { kind: 'static', set: keySet(jwks.path) },
    agentClaim: config.agent_claim,
    rolesClaim: config.roles_claim,
    developerClaim: config.developer_claim,
  }
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
