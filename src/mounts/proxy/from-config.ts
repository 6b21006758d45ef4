import { readFileSync } from 'node:fs'
import type { JSONWebKeySet } from 'jose'
import type { AgentRecord, IdentityOptions } from '../../adapters/identity/identity.js'
import type { JwtIssuer } from '../../adapters/identity/jwt.js'
import { watchTokens } from '../../adapters/identity/watch-tokens.js'
import { createUpstream } from '../../adapters/upstream/upstream.js'
import type { GateConfig, IssuerConfig, UpstreamConfig } from '../../config/model.js'
import { readSecret } from '../../config/secret-ref.js'
import { DEFAULT_LIMITS, type ProxyLimits, type ProxyUpstream, type Report } from './options.js'
import type { PassRoute } from './pass-through.js'
import type { TlsFiles } from './server.js'

/** gate.yaml → what the data plane is made of. */
export function identityOf(
  { identity, data_dir }: GateConfig,
  report: Report,
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
  return {
    tokens: () => {
      const own = issued()
      return own.size === 0 ? configured : new Map([...own, ...configured])
    },
    issuers: identity.jwt.map(issuerOf),
    certificates: new Map(
      Object.entries(identity.mtls).map(([subject, agent]) => [
        subject,
        agents.get(agent) ?? { agent, roles: [], developer: agent },
      ]),
    ),
    anonymous,
  }
}

const issuerOf = (config: IssuerConfig): JwtIssuer => ({
  issuer: config.issuer,
  audience: config.audience,
  jwks:
    config.jwks.kind === 'url'
      ? { kind: 'remote', url: config.jwks.url }
      : {
          kind: 'static',
          set: JSON.parse(readFileSync(config.jwks.path, 'utf8')) as JSONWebKeySet,
        },
  agentClaim: config.agent_claim,
  rolesClaim: config.roles_claim,
  developerClaim: config.developer_claim,
})

export const upstreamsOf = (
  { upstreams, limits }: GateConfig,
  env: NodeJS.ProcessEnv,
): ReadonlyMap<string, ProxyUpstream> =>
  new Map(
    Object.entries(upstreams).map(([name, config]) => [
      name,
      upstreamOf(name, config, limits.hold_bytes, env),
    ]),
  )

function upstreamOf(
  name: string,
  config: UpstreamConfig,
  holdLimit: number,
  env: NodeJS.ProcessEnv,
): ProxyUpstream {
  const { credential } = config
  const { connect_ms, first_byte_ms, total_ms } = config.deadlines
  return {
    origin: new URL(config.origin).origin,
    deadlines: {
      ...(connect_ms === undefined ? {} : { connect_ms }),
      ...(first_byte_ms === undefined ? {} : { first_byte_ms }),
      ...(total_ms === undefined ? {} : { total_ms }),
    },
    upstream: createUpstream({
      name,
      origin: config.origin,
      holdLimit,
      ...(config.ca_file === null ? {} : { ca: readFileSync(config.ca_file, 'utf8') }),
      ...(config.client === null
        ? {}
        : {
            cert: readFileSync(config.client.cert_file, 'utf8'),
            key: readFileSync(config.client.key_file, 'utf8'),
          }),
      ...(credential === null
        ? {}
        : {
            credential: {
              header: credential.header,
              value() {
                const secret = readSecret(credential.secret, env)
                if (!secret.ok) throw new Error(secret.why)
                return secret.value
              },
            },
          }),
    }),
  }
}

export const limitsOf = ({ limits }: GateConfig): ProxyLimits => ({
  ...DEFAULT_LIMITS,
  body: { ...DEFAULT_LIMITS.body, maxBytes: limits.body_bytes },
  holdLimit: limits.hold_bytes,
  maxRefusals: limits.pre_identity.refusals,
  windowSeconds: limits.pre_identity.window_seconds,
  maxLoopDelayMs: limits.event_loop_delay_ms,
})

export const routesOf = ({ passthrough, websocket }: GateConfig): readonly PassRoute[] => [
  ...passthrough.map((route) => ({ ...route, kind: 'http' as const })),
  ...websocket.map((route) => ({ ...route, kind: 'websocket' as const })),
]

export function tlsOf({ listeners }: GateConfig): TlsFiles | undefined {
  const { tls } = listeners.data
  if (tls === null) return undefined
  const clientCa = tls.client_ca_file
  return {
    cert: readFileSync(tls.cert_file, 'utf8'),
    key: readFileSync(tls.key_file, 'utf8'),
    ...(clientCa === null ? {} : { clientCa: readFileSync(clientCa, 'utf8') }),
  }
}
