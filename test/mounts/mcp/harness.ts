import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Started, startGate } from '../../../src/app/serve.js'
import { loadConfig } from '../../../src/config/load.js'
import { type LineOf, readLine } from '../../../src/core/journal/vocabulary.js'
import { CANARY } from '../../../src/gate/operate/canary.js'

export const TOKEN = 'a-token-for-tests'
export const OTHER = 'a-token-of-another'
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const MANIFEST = `id: com.acme.echo
server: echo
tools:
  echo:
    args: {text: string}
    constraints:
      no_shouting: {text: {matches: "[a-z 0-9-]*"}}
  slow:
    args: {text: string?}
    deadlines: {total_ms: 400}
  tasks:
    match: {method: tasks/*}
    args: {taskId: string}
`
export const POLICIES = `
@id("bot") permit (principal == Agent::"bot", action, resource);
@id("other") permit (principal == Agent::"other", action == Action::"echo.echo", resource);
`

/** A gate from files on sockets, with one MCP server that it starts for each session. */
export type McpStand = {
  readonly started: Started
  readonly port: number
  capsules(): Promise<LineOf<'CAPSULE'>[]>
  lines(): Promise<readonly { readonly type: string }[]>
  send(given: Given): Promise<Got>
  close(): Promise<void>
}
export type Given = {
  readonly method?: string
  readonly path?: string
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}
export type Got = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Of JSON, or of the last event. */
  // biome-ignore lint/suspicious/noExplicitAny: what a server said, as a client would read it
  readonly json: any
}

export async function mcpStand(more = ''): Promise<McpStand> {
  const dir = mkdtempSync(join(tmpdir(), 'mcp-stand-'))
  mkdirSync(join(dir, 'manifests'))
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'manifests', 'echo.yaml'), MANIFEST)
  writeFileSync(join(dir, 'policies', 'echo.cedar'), POLICIES)
  const server = join(import.meta.dirname, 'echo-server.mjs')
  writeFileSync(
    join(dir, 'gate.yaml'),
    `mcp:
  echo: {command: [${JSON.stringify(process.execPath)}, ${JSON.stringify(server)}]}
agents:
  bot: {token_sha256: ${sha256(TOKEN)}}
  other: {token_sha256: ${sha256(OTHER)}}
listeners: {data: {port: 0}, admin: {port: 0}}
${more}`,
  )
  const loaded = loadConfig(join(dir, 'gate.yaml'), {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const started = await startGate(loaded.config, { report: () => undefined })
  const port = Number(new URL(started.agentsUrl).port)
  const lines = async () => {
    const all = []
    for await (const line of started.gate.read.lines(1)) all.push(line)
    return all
  }
  return {
    started,
    port,
    lines,
    async capsules() {
      return (await lines())
        .map((line) => readLine(line))
        .filter((line): line is LineOf<'CAPSULE'> => line?.type === 'CAPSULE')
        .filter(({ about }) => about?.tool !== CANARY)
    },
    send: (given) => send(port, given),
    async close() {
      await started.close(0)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function send(
  port: number,
  { method = 'POST', path = '/mcp/echo', token, headers, body }: Given,
): Promise<Got> {
  const octets = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === null ? {} : { authorization: `Bearer ${token ?? TOKEN}` }),
          ...headers,
        },
      },
      (response) => {
        let text = ''
        response.on('data', (piece) => {
          text += String(piece)
        })
        response.on('end', () => {
          const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data)
          const last = events.at(-1) ?? text
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: /^[{[]/.test(last) ? JSON.parse(last) : null,
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(octets)
  })
}

let ids = 0
export const rpc = (method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id: ++ids,
  method,
  params,
})

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
/** A request of the modern era and the headers that repeat it. */
export function modern(
  method: string,
  params: { [name: string]: unknown } = {},
): Pick<Given, 'body' | 'headers'> {
  const name = params.name ?? params.uri
  return {
    body: rpc(method, { ...params, _meta: { ...META, ...(params._meta as object) } }),
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
  }
}

/** A session of the older revisions; its id. */
export async function initialize(stand: McpStand, token?: string): Promise<string> {
  const got = await stand.send({
    ...(token === undefined ? {} : { token }),
    body: rpc('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }),
  })
  const session = String(got.headers['mcp-session-id'])
  await stand.send({
    ...(token === undefined ? {} : { token }),
    headers: { 'mcp-session-id': session },
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
  })
  return session
}
