import { createHttpMcpServer } from '../../adapters/http-client/mcp/server.js'
import { createUpstream } from '../../adapters/http-client/upstream.js'
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
  if (to.kind === 'command') {
    const [command = '', ...args] = to.command
    return createStdioServer({
      name,
      command,
      args,
      cwd: to.cwd ?? undefined,
      env: childEnvironment(env, to.env),
      maxMessageBytes: MAX_SERVER_MESSAGE,
      stderr: (chunk) => process.stderr.write(chunk),
      report,
    })
  }
  const { origin } = new URL(to.url)
  const { ca_file, credential } = to
  const config = {
    origin,
    ca_file,
    client: null,
    credential,
    deadlines: {},
    paths: 'exact',
  } as const
  const upstream = createUpstream(upstreamOptions(name, config, 0, env))
  return createHttpMcpServer({
    name,
    url: to.url,
    upstream,
    maxMessageBytes: MAX_SERVER_MESSAGE,
    report,
  })
}
