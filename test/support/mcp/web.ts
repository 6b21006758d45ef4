import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createHttpMcpServer } from '../../../src/adapters/http-client/mcp/server.js'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { DEFAULT_TERMS, servedAs } from '../../../src/app/mcp/served.js'
import type { RunningGate } from '../../../src/app/open-gate.js'
import { createMcpEndpoint } from '../../../src/mounts/mcp/http/endpoint.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { createProxy } from '../../../src/mounts/proxy/server.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { LINK, MESSAGE_BYTES, SERVER } from './messages.js'

/** A gate's data listener with a server at /mcp/pay, which itself is behind Streamable HTTP. */
export type McpListener = {
  readonly port: number
  /** From now on the server is looked for there. */
  moveTo(origin: string): void
  close(): Promise<void>
}

export async function mcpListener(gate: RunningGate, url: string): Promise<McpListener> {
  const opened: Upstream[] = []
  const connectTo = (origin: string): Upstream => {
    const upstream = createUpstream({ name: SERVER, origin })
    opened.push(upstream)
    return upstream
  }
  let way = connectTo(new URL(url).origin)
  const upstream: Upstream = {
    name: SERVER,
    send: (...sent) => way.send(...sent),
    stats: () => way.stats(),
    async close() {
      for (const one of opened) await one.close()
    },
  }
  const to = createHttpMcpServer({
    name: SERVER,
    url,
    upstream,
    maxMessageBytes: MESSAGE_BYTES,
    report: gate.report,
  })
  const endpoint = createMcpEndpoint({
    gate,
    servers: new Map([[SERVER, servedAs(SERVER, DEFAULT_TERMS, to)]]),
    hashing: nodeCrypto,
    body: { ...DEFAULT_LIMITS.body, maxBytes: MESSAGE_BYTES },
    messageBytes: MESSAGE_BYTES,
    sessions: { perAgent: 8, idleMs: 600_000 },
    loopback: true,
    scheme: 'http',
    issuers: [],
    approvalLink: LINK,
  })
  const proxy = createProxy({
    gate,
    upstreams: new Map(),
    passThrough: [],
    beside: endpoint,
    // A busy machine is no overload of the gate.
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: gate.report,
  })
  const { port } = await proxy.listen(0, '127.0.0.1')
  return {
    port,
    moveTo(origin) {
      way = connectTo(origin)
    },
    async close() {
      const closed = proxy.close(0)
      await endpoint.close(0)
      await closed
      await to.close()
    },
  }
}
