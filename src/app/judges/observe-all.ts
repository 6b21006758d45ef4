import { join } from 'node:path'
import { mkdirSync, writeFileSync } from '../../adapters/disk/files.js'
import type { Manifest, McpMatch, ToolRule } from '../../core/manifest/model.js'

/**
 * Recording without files (`serve --upstream URL --observe`): one tool per method, whatever the path.
 * Nothing is judged beyond reading it; every request and response is recorded and its octets are kept,
 * for `init --from-traffic`.
 */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_SEGMENTS = 32

export const OBSERVE_ALL: Manifest = {
  manifest: 'gate.constraints/v1',
  id: 'dev.capsulegate.observe',
  version: '1.0.0',
  mode: 'observe',
  default: { no_match: 'deny' },
  upstream: 'default',
  rules: METHODS.flatMap((method) =>
    Array.from({ length: MAX_SEGMENTS + 1 }, (_, segments) => rule(method, segments)),
  ),
  constraints: {},
  tests: [],
}

/** The same for an MCP server: one rule for each part of it, whatever its name. */
export const observeServer = (server: string): Manifest => ({
  ...OBSERVE_ALL,
  id: `dev.capsulegate.observe.${server}`,
  rules: PARTS.map((part) => ({
    ...rule('POST', 0),
    tool: mcpToolOf(server, part),
    match: { server, [part]: '*' } as McpMatch,
    action: mcpToolOf(server, part),
    resource: mcpToolOf(server, part),
    args: part === 'resource' ? URI : {},
    effect: {
      type: `dev.capsulegate.observe.mcp_${part}`,
      irreversibility_class:
        part === 'resource' || part === 'prompt' ? 'two_way' : 'one_way_consequential',
    },
  })),
})
const PARTS = ['tool', 'resource', 'prompt', 'method'] as const
const URI: ToolRule['args'] = {
  uri: { type: 'string', optional: false, from: { in: 'path', name: 'uri' } },
}
const mcpToolOf = (server: string, part: string): string => `mcp.${server}.${part}`

function toolOf(method: string): string {
  return `http_${method.toLowerCase()}`
}

function rule(method: string, segments: number): ToolRule {
  const names = Array.from({ length: segments }, (_, i) => `{s${i + 1}}`)
  const tool = toolOf(method)
  return {
    tool,
    match: { method, path: `/${names.join('/')}` },
    action: tool,
    resource: tool,
    args: {},
    effect: {
      type: `dev.capsulegate.observe.${tool}`,
      irreversibility_class: READS.has(method) ? 'two_way' : 'one_way_consequential',
    },
    success: { status: ['200-299'], unless: [] },
    deadlines: { connect_ms: 5_000, first_byte_ms: 60_000, total_ms: 600_000 },
    connection: 'pooled',
    close_delimited: 'refuse',
    hold_response: false,
    capture: 'full',
    digest_salt: 'none',
    bind_headers: [],
    forward_headers: [
      'content-type',
      'accept',
      'accept-language',
      'idempotency-key',
      'traceparent',
      'if-match',
      'if-none-match',
      'range',
      'user-agent',
    ],
    response_location: 'rewrite',
    constraints: [],
  }
}

/** The engine reads policies from a folder: the gate keeps its own beside its data. */
export function writeObservePolicies(dataDir: string, servers: readonly string[] = []): string {
  const folder = join(dataDir, 'observe')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const tools = [
    ...METHODS.map(toolOf),
    ...servers.flatMap((server) => PARTS.map((part) => mcpToolOf(server, part))),
  ]
  const policies = tools.map(
    (tool) => `@id("${tool}") permit (principal, action == Action::"${tool}", resource);`,
  )
  writeFileSync(join(folder, 'observe.cedar'), `${policies.join('\n')}\n`, { mode: 0o600 })
  return folder
}
