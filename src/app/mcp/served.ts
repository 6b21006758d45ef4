import { createHttpMcpServer } from '../../adapters/http-client/mcp/server.js'
import { createUpstream, type UpstreamOptions } from '../../adapters/http-client/upstream.js'
import { createStdioServer } from '../../adapters/stdio/server.js'
import type { GateConfig, McpConfig } from '../../config/model.js'
import type { GateReport } from '../../gate/context.js'
import { MAX_SERVER_MESSAGE, type Served } from '../../mounts/mcp/options.js'
import type { McpServer } from '../../ports/mcp.js'
import { upstreamOptions } from '../upstreams.js'
import { childEnvironment } from './environment.js'

type Env = Readonly<Record<string, string | undefined>>
type Report = (event: GateReport) => void

/** What the operator wrote of a server, beside the way to it. */
export const servedAs = (
  name: string,
  { trusted, sampling, elicitation, roots, meta }: Terms,
  to: McpServer,
): Served => ({
  name,
  to,
  trusted,
  asks: { sampling, elicitation, roots, tasks: 'pass' },
  meta: { to_server: new Set(meta.to_server), to_client: new Set(meta.to_client) },
})
export type Terms = Pick<McpConfig, 'trusted' | 'sampling' | 'elicitation' | 'roots' | 'meta'>

/** The terms of a server that gate.yaml does not name. */
export const DEFAULT_TERMS: Terms = {
  trusted: false,
  sampling: 'pass',
  elicitation: 'pass',
  roots: 'pass',
  meta: { to_server: [], to_client: [] },
}

/** The servers of gate.yaml, by name, and how to end them all. */
export function createServers(
  { mcp }: Pick<GateConfig, 'mcp'>,
  env: Env,
  report: Report,
): { readonly servers: ReadonlyMap<string, Served>; close(): Promise<void> } {
  const opened: { close(): Promise<void> }[] = []
  const servers = new Map<string, Served>()
  for (const [name, config] of Object.entries(mcp)) {
    const to = serverTo(name, config, env, report)
    opened.push(to)
    servers.set(name, servedAs(name, config, to))
  }
  return {
    servers,
    async close() {
      for (const one of opened) await one.close()
    },
  }
}

function serverTo(name: string, { to }: McpConfig, env: Env, report: Report): McpServer {
  const maxMessageBytes = MAX_SERVER_MESSAGE
  if (to.kind === 'command') {
    const stderr = (chunk: Uint8Array) => process.stderr.write(chunk)
    return createStdioServer({ ...commandOptions(name, to, env), maxMessageBytes, stderr, report })
  }
  const upstream = createUpstream(addressOptions(name, to, env))
  return createHttpMcpServer({ name, url: to.url, upstream, maxMessageBytes, report })
}

/** gate.yaml → the process that is started. */
export function commandOptions(
  name: string,
  { command: [command = '', ...args], cwd, env: listed }: To<'command'>,
  env: Env,
) {
  return { name, command, args, cwd: cwd ?? undefined, env: childEnvironment(env, listed) }
}

/** gate.yaml → the way to a server that runs elsewhere. */
export function addressOptions(
  name: string,
  { url, ca_file, credential }: To<'url'>,
  env: Env,
): UpstreamOptions {
  const { origin } = new URL(url)
  const way = { origin, ca_file, client: null, credential, deadlines: {}, paths: 'exact' } as const
  return upstreamOptions(name, way, 0, env)
}
type To<K> = Extract<McpConfig['to'], { kind: K }>
