import { nodeCrypto } from '../../adapters/crypto-node.js'
import type { GateConfig } from '../../config/model.js'
import { isMcpMatch } from '../../core/manifest/model.js'
import type { GateReport } from '../../gate/context.js'
import type { Gate } from '../../gate/gate.js'
import { createMcpEndpoint } from '../../mounts/mcp/http/endpoint.js'
import { limitsOf } from '../proxy-config.js'
import { createServers } from './served.js'

const LOOPBACK = /^(?:127\.|::1$|localhost$)/

/** The MCP servers of gate.yaml at /mcp/{server} of the data listener. */
export function mountMcp(
  gate: Gate,
  config: GateConfig,
  options: {
    readonly env: Readonly<Record<string, string | undefined>>
    readonly report: (event: GateReport) => void
    readonly scheme: 'http' | 'https'
    /** Known once the admin plane listens. */
    readonly adminUrl: () => string
  },
) {
  const { env, report, scheme, adminUrl } = options
  const { servers, close } = createServers(config, env, report)
  for (const { manifest } of gate.read.judges().manifests) {
    for (const { tool, match } of manifest.rules) {
      if (!isMcpMatch(match) || servers.has(match.server)) continue
      const detail = `${manifest.id}: ${tool} is of the server ${match.server}, which mcp in gate.yaml does not have: no call reaches it here`
      report({ level: 'warn', event: 'server_not_served', detail })
    }
  }
  const endpoint = createMcpEndpoint({
    gate,
    servers,
    hashing: nodeCrypto,
    scheme,
    ...endpointTerms(config, adminUrl),
  })
  return {
    endpoint,
    /** Waits for calls under way, then ends sessions and servers. */
    async close(drainMs: number): Promise<void> {
      await endpoint.close(drainMs)
      await close()
    },
  }
}

/** What gate.yaml says of the endpoint itself. */
export function endpointTerms(config: GateConfig, adminUrl: () => string) {
  const { per_agent: perAgent, idle_seconds } = config.limits.mcp_sessions
  const { public_url } = config.listeners.admin
  return {
    body: limitsOf(config).body,
    messageBytes: config.limits.body_bytes,
    sessions: { perAgent, idleMs: idle_seconds * 1000 },
    loopback: LOOPBACK.test(config.listeners.data.host),
    issuers: config.identity.jwt.map(({ issuer }) => issuer),
    approvalLink: (id: string) => `${public_url ?? adminUrl()}/approvals/${id}`,
  }
}
