import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { IdentityOptions } from '../../../src/adapters/identity/identity.js'
import type { JwtIssuer } from '../../../src/adapters/identity/jwt.js'
import { hashToken } from '../../../src/adapters/identity/tokens.js'
import { openGate, type RunningGate } from '../../../src/app/open-gate.js'
import type { Capsule, Mode } from '../../../src/core/capsule/model.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import type { Parts } from '../../../src/gate/context.js'
import type { MemoryLimits } from '../../../src/gate/memory.js'
import { DEFAULT_LIMITS, type ProxyLimits } from '../../../src/mounts/proxy/options.js'
import type { PassRoute } from '../../../src/mounts/proxy/pass-through.js'
import { createProxy, type ProxyServer, type TlsFiles } from '../../../src/mounts/proxy/server.js'
import type { JournalLine } from '../../../src/ports/journal.js'
import type { OutgoingRequest } from '../../../src/ports/upstream.js'
import { alteringUpstream } from '../../support/altering.js'
import { manifestOf } from '../../support/manifests.js'

/** A whole gate on real files and sockets: nothing between the client's socket and the upstream's is a fake. */
export type Stand = {
  readonly gate: RunningGate
  readonly proxy: ProxyServer
  readonly port: number
  readonly dir: string
  readonly reports: readonly string[]
  lines(): Promise<JournalLine[]>
  /** Without the canary's. */
  capsules(): Promise<Capsule[]>
  /** The one capsule that something left behind, and what it said. */
  after<T>(act: () => Promise<T>): Promise<{ result: T; capsules: Capsule[] }>
  close(): Promise<void>
}
export type StandOptions = {
  readonly upstream: string
  readonly manifest?: string
  readonly policy?: string
  readonly mode?: Mode
  readonly limits?: Partial<ProxyLimits>
  readonly passThrough?: readonly PassRoute[]
  readonly tls?: TlsFiles
  readonly certificates?: ReadonlyMap<string, string>
  readonly issuers?: readonly JwtIssuer[]
  /** Tokens beside the two that every stand has, and whose they are. */
  readonly tokens?: ReadonlyMap<string, string>
  readonly seam?: Parts['seam']
  /** Instead of two tokens for `bot` and `other`. */
  readonly identity?: Partial<IdentityOptions>
  readonly memory?: MemoryLimits
  readonly agentKeys?: number
  /** Wraps the gate that the listener asks, to see what it is asked. */
  readonly through?: (gate: RunningGate) => RunningGate
  /** What is sent instead of the request that was judged. */
  readonly alter?: (request: OutgoingRequest) => OutgoingRequest
}

export const TOKEN = 'cg_agent_for-tests-only'
export const OTHER_TOKEN = 'cg_agent_another'
export const AUTH = `authorization: Bearer ${TOKEN}\r\n`

/** One tool that reads its body, one that does not, one that keeps its answers. */
export const ECHO_MANIFEST = `id: com.acme.echo
tools:
  pay:
    match: POST /pay
    args: {amount: decimal}
    connection: pooled
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
  put_file:
    match: POST /files/{name}
    also: {query: [q], body: any}
    forward_headers: [x-allowed]
    deadlines: {connect_ms: 2000, first_byte_ms: 2000, total_ms: 30000}
  read_file:
    match: GET /files/{name}
    connection: pooled
    deadlines: {connect_ms: 2000, first_byte_ms: 2000, total_ms: 30000}
  head_file:
    match: HEAD /files/{name}
    connection: pooled
  held_file:
    match: GET /held/{name}
    connection: pooled
    hold_response: true
`
const POLICY = `@id("all") permit (principal == Agent::"bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("all-other") permit (principal == Agent::"other", action, resource)
unless { action == Action::"dev.capsulegate.canary" };
`

export async function startStand(options: StandOptions): Promise<Stand> {
  const dir = mkdtempSync(join(tmpdir(), 'proxy-'))
  const reports: string[] = []
  const policies = join(dir, 'policies')
  mkdirSync(policies)
  writeFileSync(join(policies, 'p.cedar'), options.policy ?? POLICY)
  const manifest = manifestOf(options.manifest ?? ECHO_MANIFEST)
  const agent = (name: string) => ({ agent: name, roles: [], developer: `${name}/1` })
  const tokens = new Map([
    [hashToken(TOKEN), agent('bot')],
    [hashToken(OTHER_TOKEN), agent('other')],
    ...[...(options.tokens ?? [])].map(([token, name]) => [hashToken(token), agent(name)] as const),
  ])
  const gate = await openGate({
    dir: join(dir, 'data'),
    headFile: null,
    operator: 'acme',
    mode: options.mode ?? 'enforce',
    manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
    policyFolder: policies,
    identity: {
      tokens: () => tokens,
      issuers: options.issuers ?? [],
      certificates: new Map(
        [...(options.certificates ?? [])].map(([subject, name]) => [subject, agent(name)]),
      ),
      anonymous: false,
      ...options.identity,
    },
    report: ({ event, detail }) => reports.push(`${event}: ${detail ?? ''}`),
    // Spares every stand the start of a thread; the torture over HTTP and `serve` have theirs.
    recorder: { in: 'this_thread' },
    ...(options.seam === undefined ? {} : { seam: options.seam }),
    ...(options.memory === undefined ? {} : { memory: options.memory }),
    ...(options.agentKeys === undefined ? {} : { agentKeys: options.agentKeys }),
  })
  const { through = (same) => same } = options
  const honest = createUpstream({ name: 'default', origin: options.upstream })
  const upstream = options.alter === undefined ? honest : alteringUpstream(honest, options.alter)
  const proxy = createProxy(
    {
      gate: through(gate),
      upstreams: new Map([['default', { upstream, origin: options.upstream, deadlines: {} }]]),
      passThrough: options.passThrough ?? [],
      // A busy machine is no overload of the gate: suites that shed say so.
      limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000, ...options.limits },
      report: ({ event, detail }) => reports.push(`${event}: ${detail ?? ''}`),
    },
    options.tls,
  )
  const { port } = await proxy.listen(0, '127.0.0.1')
  const lines = async (): Promise<JournalLine[]> => {
    const all: JournalLine[] = []
    for await (const line of gate.data.journal.lines()) all.push(line)
    return all
  }
  const capsules = async (): Promise<Capsule[]> =>
    (await lines())
      .filter(({ type }) => type === 'CAPSULE')
      .map(({ capsule }) => capsule as Capsule)
      .filter(({ developer }) => developer !== 'dev.capsulegate.canary')
  return {
    gate,
    proxy,
    port,
    dir,
    reports,
    lines,
    capsules,
    async after(act) {
      const before = (await capsules()).length
      const result = await act()
      return { result, capsules: (await capsules()).slice(before) }
    },
    async close() {
      await proxy.close(0)
      await upstream.close()
      await gate.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** A client of bare bytes. */
export type RawClient = {
  readonly socket: Socket
  readonly received: () => Buffer
  send(bytes: string | Uint8Array): void
  /** Resolves when what was received satisfies the test; rejects when the server closes before. */
  until(test: (received: Buffer) => boolean): Promise<Buffer>
  /** Everything up to the server's close. */
  closed(): Promise<Buffer>
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve, reject) =>
    socket.once('connect', resolve).once('error', reject),
  )
  return rawClientOn(socket)
}

export function rawClientOn(socket: Socket): RawClient {
  let pieces: Buffer[] = []
  /** Joined when somebody looks, so that large answers are not copied once per packet. */
  const received = (): Buffer => {
    if (pieces.length !== 1) pieces = [Buffer.concat(pieces)]
    return pieces[0] as Buffer
  }
  let closed = false
  let wake: (() => void)[] = []
  const tell = (): void => {
    for (const go of wake.splice(0)) go()
  }
  wake = []
  socket.on('data', (chunk: Buffer) => {
    pieces.push(chunk)
    tell()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
    tell()
  })
  const turn = (): Promise<void> => new Promise((resolve) => wake.push(resolve))
  return {
    socket,
    received,
    send: (bytes) => {
      if (typeof bytes === 'string') socket.write(bytes, 'latin1')
      else socket.write(bytes)
    },
    async until(test) {
      while (!test(received())) {
        if (closed) throw new Error(`closed after ${JSON.stringify(received().toString('latin1'))}`)
        await turn()
      }
      return received()
    },
    async closed() {
      while (!closed) await turn()
      return received()
    },
  }
}

export type RawAnswer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly text: string
}

/** One request in, one connection's whole answer out. The request should say `connection: close`. */
export async function ask(port: number, request: string | Uint8Array): Promise<RawAnswer> {
  const client = await rawClient(port)
  client.send(request)
  return parseAnswer(await client.closed())
}

export function parseAnswer(bytes: Buffer): RawAnswer {
  const split = bytes.indexOf('\r\n\r\n')
  const [first = '', ...fields] = bytes.toString('latin1', 0, Math.max(0, split)).split('\r\n')
  const headers = new Map<string, string>()
  for (const field of fields) {
    const colon = field.indexOf(':')
    const name = field.slice(0, colon).toLowerCase()
    const value = field.slice(colon + 1).trim()
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value)
  }
  const rest = bytes.subarray(split + 4)
  const body = headers.get('transfer-encoding') === 'chunked' ? dechunk(rest) : rest
  return { status: Number(first.split(' ')[1] ?? 0), headers, body, text: bytes.toString('latin1') }
}

function dechunk(bytes: Buffer): Buffer {
  const out: Buffer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return Buffer.concat(out)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (!(size > 0)) return Buffer.concat(out)
    out.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

export const post = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${AUTH}${headers}content-length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`
export const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${AUTH}${headers}\r\n`
export const JSON_TYPE = 'content-type: application/json\r\n'
