import { spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import type { JwtIssuer } from '../../src/adapters/identity/jwt.js'
import type { MandateIssuer } from '../../src/adapters/identity/mandate.js'
import { hashToken } from '../../src/adapters/identity/tokens.js'
import { approvalSources } from '../../src/app/admin.js'
import { fromFiles, optionsOf } from '../../src/app/create-gate.js'
import { identityOf } from '../../src/app/identity.js'
import { endpointTerms } from '../../src/app/mcp/mount.js'
import { addressOptions, commandOptions, servedAs } from '../../src/app/mcp/served.js'
import { limitsOf, routesOf, tlsOf } from '../../src/app/proxy-config.js'
import { createUpstreams, upstreamOptions } from '../../src/app/upstreams.js'
import { endpointOf } from '../../src/app/webhooks.js'
import { logReports } from '../../src/cli/serve/serve.js'
import { loadConfig } from '../../src/config/load.js'
import { type GateConfig, sayProblem } from '../../src/config/model.js'
import { gateFile } from '../../src/config/schema.js'
import { deciderOf, isSigned } from '../../src/mounts/admin/approvals/sources.js'
import type { Principal } from '../../src/ports/admin.js'
import type { McpServer } from '../../src/ports/mcp.js'
import { type Listening, listen } from '../support/listen.js'
import { PAYMENTS } from '../support/manifests.js'
import { POLICIES } from '../support/rig.js'

/**
 * No key of gate.yaml is there for show. Each has a row: two values that differ in this key alone, and what
 * the key reaches (the options a gate, a listener, an upstream or a logger is made with, or the running
 * command), which must differ too. A key without a row fails the first test.
 */
type Tree = { readonly [key: string]: unknown }
type Reach = (config: GateConfig, file: string) => unknown
type Row = {
  readonly among: Tree
  readonly values: readonly [unknown, unknown]
  readonly reach: Reach
}

const SECRETS = [`whsec_${'A'.repeat(44)}`, `whsec_${'B'.repeat(44)}`] as const
const ENV = {
  TOKEN_A: 'Bearer a',
  TOKEN_B: 'Bearer b',
  HASH_A: 'aa'.repeat(32),
  HASH_B: 'bb'.repeat(32),
  WHSEC_A: SECRETS[0],
  WHSEC_B: SECRETS[1],
}
const UPSTREAM = 'http://127.0.0.1:9'
let dir: string
let taken: readonly Listening[]

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gate-keys-'))
  const write = (name: string, text: string): void => writeFileSync(join(dir, name), text)
  for (const folder of ['manifests', 'manifests-b', 'policies', 'policies-b']) {
    mkdirSync(join(dir, folder))
  }
  write('manifests/a.yaml', PAYMENTS)
  write('manifests-b/b.yaml', PAYMENTS.replace('com.acme.payments', 'com.acme.others'))
  write('policies/a.cedar', POLICIES)
  for (const [name, value] of Object.entries(ENV)) write(name, value)
  for (const name of ['pem-a', 'pem-b']) write(name, name)
  write('jwks-a', '{"keys":[]}')
  write('jwks-b', '{"keys":[{"kty":"OKP"}]}')
  const busy = () => listen((_, response) => response.end())
  taken = [await busy(), await busy()]
})
afterAll(async () => {
  for (const { close } of taken) await close()
  rmSync(dir, { recursive: true, force: true })
})

function configOf(document: unknown): { config: GateConfig; file: string } {
  const file = join(dir, 'gate.yaml')
  writeFileSync(file, JSON.stringify(document))
  const loaded = loadConfig(file, ENV)
  if (!loaded.ok) throw new Error(loaded.problems.map(sayProblem).join('\n'))
  return { config: loaded.config, file }
}

// ── what keys reach ──────────────────────────────────────────────────────────
const gate: Reach = (config) => optionsOf(config)
const judges: Reach = (config) => {
  const read = fromFiles(config)
  if (!read.ok) throw new Error(read.problems.map(sayProblem).join('\n'))
  const { manifests, exactPaths, ...rest } = read.source
  return { ...rest, digests: manifests.map(({ digest }) => digest), exact: [...(exactPaths ?? [])] }
}
const upstream: Reach = (config) =>
  Object.entries(config.upstreams).map(([name, each]) => {
    const { credential, ...rest } = upstreamOptions(name, each, config.limits.hold_bytes, ENV)
    const { origin, deadlines } = createUpstreams(config, ENV).get(name) ?? {}
    return { ...rest, origin, deadlines, header: credential?.header, sends: credential?.value() }
  })
const identity: Reach = (config) => {
  const { tokens, issuers, certificates, mandates } = identityOf(config, () => undefined)
  const read = <T extends JwtIssuer | MandateIssuer>({ jwks, ...issuer }: T) => ({
    ...issuer,
    jwks: jwks.kind === 'file' ? jwks.read() : jwks,
  })
  return {
    tokens: [...tokens()],
    issuers: issuers.map(read),
    mandates: mandates?.issuers.map(read),
    certificates: [...certificates],
  }
}
const limits: Reach = (config) => limitsOf(config)
const routes: Reach = (config) => routesOf(config)
const tls: Reach = (config) => tlsOf(config)
const mcp: Reach = (config) =>
  Object.entries(config.mcp).map(([name, server]) => {
    const { to } = server
    const { asks, meta, trusted } = servedAs(name, server, NO_SERVER)
    const terms = { asks, trusted, meta: [[...meta.to_server], [...meta.to_client]] }
    if (to.kind === 'command') return { ...terms, ...commandOptions(name, to, ENV) }
    const { credential: own, ...way } = addressOptions(name, to, ENV)
    return { ...terms, ...way, url: to.url, header: own?.header, sends: own?.value() }
  })
const NO_SERVER: McpServer = {
  name: 'x',
  connect: () => {
    throw new Error('nothing is sent here')
  },
  close: async () => undefined,
}
const endpoint: Reach = (config) => {
  const { sessions, approvalLink } = endpointTerms(config, () => UPSTREAM)
  return { sessions, link: approvalLink('1') }
}
const webhook: Reach = (config) =>
  Object.entries(config.webhooks).map(([name, hook]) => {
    const { secrets, ...endpoint } = endpointOf(name, hook, ENV)
    return { ...endpoint, secrets: secrets() }
  })

/** Which of the two secrets an approval system's message may be signed with, and who then decides. */
const deciders: Reach = ({ approvals }) => {
  const jane: Principal = { name: 'jane', role: 'approver', groups: [], machine: false }
  const tokens = { held: () => new Map([['t', jane]]) }
  const sources = approvalSources(approvals.sources, tokens, ENV)
  const source = sources.byName.get('x')
  if (source === undefined) throw new Error('no source')
  const stamp = String(Math.floor(Date.now() / 1000))
  const signed = SECRETS.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const mac = createHmac('sha256', key).update(`id.${stamp}.{}`).digest('base64')
    const headers: Readonly<Record<string, string>> = {
      'webhook-id': 'id',
      'webhook-timestamp': stamp,
      'webhook-signature': `v1,${mac}`,
    }
    return isSigned('{}', (name) => headers[name] ?? '', source)
  })
  try {
    return { signed, decider: deciderOf('x', source, 'x', sources) }
  } catch (error) {
    return { signed, decider: String(error) }
  }
}
const logged: Reach = ({ log }) => {
  const lines: unknown[] = []
  const report = logReports(log.level, { write: (line) => lines.push(JSON.parse(line).msg) })
  for (const level of ['info', 'warn', 'error'] as const) report({ level, event: level })
  return lines
}

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')

/** Which listener `serve` could not open, and where. */
const refusedListener: Reach = (_, file) => {
  const args = [MAIN, 'serve', '--config', file]
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
  return /the \w+ listener cannot open \S+:/.exec(stderr)?.[0]
}

/** Whether a stop gives a call that hangs the three seconds that one of the values says. */
const waitsForCalls: Reach = async (_, file) => {
  let reached = (): void => undefined
  const sent = new Promise<void>((resolve) => {
    reached = resolve
  })
  const silent = await listen(() => reached())
  const env = { ...process.env, GATE_UPSTREAM: `http://127.0.0.1:${silent.port}` }
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', file], { env })
  const exited = once(child, 'exit')
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (text) => {
      said += text
      const found = /agents connect to\s+(\S+)[\s\S]*records/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.stdout.resume()
    void exited.then(() => reject(new Error(said)))
  })
  const call = fetch(`${url}/v1/refunds`, {
    method: 'POST',
    headers: { authorization: 'Bearer drain', 'content-type': 'application/json' },
    body: '{"order":"o","currency":"EUR","amount":"5"}',
  }).catch(() => null)
  await sent
  const asked = performance.now()
  child.kill('SIGTERM')
  await exited
  await call
  await silent.close()
  return performance.now() - asked >= 3000
}

const isRun = (reach: Reach): boolean => reach === refusedListener || reach === waitsForCalls

// ── the rows ─────────────────────────────────────────────────────────────────
const row = (reach: Reach, values: Row['values'], among: Tree = {}): Row => ({
  reach,
  values,
  among,
})
const under = (prefix: string, rows: Readonly<Record<string, Row>>): Record<string, Row> =>
  Object.fromEntries(Object.entries(rows).map(([key, each]) => [`${prefix}${key}`, each]))

const pair = ['TOKEN_A', 'TOKEN_B'] as const
const pems = ['pem-a', 'pem-b'] as const
const credential = {
  header: row(upstream, ['X-Key', 'X-Other'], { env: 'TOKEN_A' }),
  env: row(upstream, pair),
  file: row(upstream, pair),
}
const agent = {
  token_sha256: row(identity, [ENV.HASH_A, ENV.HASH_B]),
  token_sha256_env: row(identity, ['HASH_A', 'HASH_B']),
  token_sha256_file: row(identity, ['HASH_A', 'HASH_B']),
  roles: row(identity, [['payer'], ['reader']], { token_sha256: ENV.HASH_A }),
  developer: row(identity, ['bot@1', 'bot@2'], { token_sha256: ENV.HASH_A }),
}
const issuer = { issuer: 'https://id', audience: 'gate' }
const keyed = { ...issuer, jwks_file: 'jwks-a' }
const hook = {
  url: 'https://hooks.example/a',
  events: ['approval.requested'],
  secret_env: 'WHSEC_A',
}
const nowhere = { host: '198.51.100.1', port: 4711 }
const route = {
  path: row(routes, ['/a', '/b'], { upstream: 'x' }),
  upstream: row(routes, ['x', 'default'], { path: '/a' }),
}

/** What must stand elsewhere in the document, by the path's beginning; `*` is x, `[]` the first. */
const AROUND: Readonly<Record<string, Tree>> = {
  'credential.': { upstream: UPSTREAM },
  'upstreams.': { upstreams: { default: { url: UPSTREAM }, x: { url: UPSTREAM } } },
  'passthrough[].': { upstreams: { default: { url: UPSTREAM }, x: { url: UPSTREAM } } },
  'websocket[].': { upstreams: { default: { url: UPSTREAM }, x: { url: UPSTREAM } } },
  'identity.mtls.': { agents: { a: {}, b: {} } },
  'mcp.*.credential.': { mcp: { x: { url: UPSTREAM } } },
  'mcp.*.meta.': { mcp: { x: { command: ['a'] } } },
  'listeners.admin.': { upstream: UPSTREAM },
  'listeners.': { upstream: UPSTREAM, listeners: { admin: { port: 0 } } },
  'limits.drain_seconds': {
    upstream: UPSTREAM,
    agents: { 'support-bot': { token_sha256: hashToken('drain') } },
    listeners: { data: { port: 0 }, admin: { port: 0 } },
  },
  'approvals.sources.*.people': {
    approvals: { sources: { x: { secret_env: 'WHSEC_A', asserts_people: true } } },
  },
}

const ROWS: Readonly<Record<string, Row>> = {
  upstream: row(upstream, ['http://127.0.0.1:9', 'http://127.0.0.1:10']),
  ...under('credential.', credential),
  ...under('agents.*.', agent),
  operator: row(judges, ['acme', 'other']),
  mode: row(judges, ['enforce', 'observe']),
  data_dir: row(gate, ['data', 'elsewhere']),
  manifests: row(judges, ['manifests', 'manifests-b']),
  policies: row(judges, ['policies', 'policies-b']),
  ...under('upstreams.*.', {
    url: row(upstream, ['http://127.0.0.1:9', 'http://127.0.0.1:10']),
    ca_file: row(upstream, pems),
    cert_file: row(upstream, pems, { key_file: 'pem-a' }),
    key_file: row(upstream, pems, { cert_file: 'pem-a' }),
    ...under('credential.', credential),
    paths: row(judges, ['folded', 'exact']),
    'deadlines.connect_ms': row(upstream, [1, 2]),
    'deadlines.first_byte_ms': row(upstream, [1, 2]),
    'deadlines.total_ms': row(upstream, [1, 2]),
  }),
  ...under('mcp.*.', {
    command: row(mcp, [['a'], ['a', 'b']]),
    cwd: row(mcp, ['a', 'b'], { command: ['a'] }),
    env: row(mcp, [['TOKEN_A'], ['TOKEN_B']], { command: ['a'] }),
    url: row(mcp, [`${UPSTREAM}/mcp`, `${UPSTREAM}/other`]),
    ca_file: row(mcp, pems, { url: UPSTREAM }),
    'credential.header': row(mcp, ['X-Key', 'X-Other'], { env: 'TOKEN_A' }),
    'credential.env': row(mcp, pair),
    'credential.file': row(mcp, pair),
    trusted: row(mcp, [false, true], { command: ['a'] }),
    sampling: row(mcp, ['pass', 'refuse'], { command: ['a'] }),
    elicitation: row(mcp, ['pass', 'refuse'], { command: ['a'] }),
    roots: row(mcp, ['pass', 'refuse'], { command: ['a'] }),
    'meta.to_server': row(mcp, [['a/b'], ['a/c']]),
    'meta.to_client': row(mcp, [['a/b'], ['a/c']]),
  }),
  'listeners.data.host': row(refusedListener, ['198.51.100.1', '198.51.100.2'], nowhere),
  'listeners.data.port': row(refusedListener, [4711, 4712], nowhere),
  'listeners.data.tls.cert_file': row(tls, pems, { key_file: 'pem-a' }),
  'listeners.data.tls.key_file': row(tls, pems, { cert_file: 'pem-a' }),
  'listeners.data.tls.client_ca_file': row(tls, pems, { cert_file: 'pem-a', key_file: 'pem-a' }),
  'listeners.admin.host': row(refusedListener, ['198.51.100.1', '198.51.100.2'], nowhere),
  'listeners.admin.port': row(refusedListener, [4711, 4712], nowhere),
  'listeners.admin.public_url': row(endpoint, ['https://a.example', 'https://b.example']),
  'listeners.metrics.port': row(refusedListener, ['taken 0', 'taken 1']),
  ...under('identity.agents.*.', agent),
  ...under('identity.jwt[].', {
    issuer: row(identity, ['https://a', 'https://b'], keyed),
    audience: row(identity, ['a', 'b'], keyed),
    jwks_file: row(identity, ['jwks-a', 'jwks-b'], issuer),
    jwks_url: row(identity, ['https://a/k', 'https://b/k'], issuer),
    agent_claim: row(identity, ['sub', 'agent'], keyed),
    roles_claim: row(identity, ['roles', 'groups'], keyed),
    developer_claim: row(identity, ['dev', 'team'], keyed),
  }),
  ...under('identity.mandates[].', {
    issuer: row(identity, ['https://a', 'https://b'], keyed),
    audience: row(identity, ['a', 'b'], keyed),
    jwks_file: row(identity, ['jwks-a', 'jwks-b'], issuer),
    jwks_url: row(identity, ['https://a/k', 'https://b/k'], issuer),
    agent_claim: row(identity, ['sub', 'agent'], keyed),
    algorithms: row(identity, [['EdDSA'], ['EdDSA', 'ES256']], keyed),
    require_proof: row(identity, [false, true], keyed),
  }),
  'identity.mtls.*': row(identity, ['a', 'b']),
  ...under('limits.', {
    body_bytes: row(limits, [1, 2]),
    hold_bytes: row(limits, [1, 2]),
    agent_body_bytes: row(gate, [1, 2]),
    held_bytes: row(gate, [1, 2]),
    agent_keys: row(gate, [1, 2]),
    'pre_identity.refusals': row(limits, [1, 2]),
    'pre_identity.window_seconds': row(limits, [1, 2]),
    'mcp_sessions.per_agent': row(endpoint, [1, 2]),
    'mcp_sessions.idle_seconds': row(endpoint, [1, 2]),
    event_loop_delay_ms: row(limits, [10, 20]),
    drain_seconds: row(waitsForCalls, [0, 3]),
  }),
  'intent.pii': row(gate, ['reject', 'flag']),
  'intent.skew_seconds': row(gate, [1, 2]),
  'intent.mission_mismatches': row(gate, [1, 2]),
  'intent.audit_accessible': row(gate, [true, false]),
  'sessions.idle_seconds': row(gate, [1, 2]),
  'journal.segment_bytes': row(gate, [65_536, 65_537]),
  'journal.head_file': row(gate, ['a', 'b']),
  'evidence.master_key_file': row(gate, ['a', 'b']),
  'idempotency.ttl_seconds': row(gate, [1, 2]),
  ...under('webhooks.*.', {
    url: row(webhook, ['https://hooks.example/a', 'https://hooks.example/b'], hook),
    events: row(webhook, [['approval.requested'], ['mode.changed']], hook),
    secret_env: row(webhook, ['WHSEC_A', 'WHSEC_B'], hook),
    secret_file: row(webhook, ['WHSEC_A', 'WHSEC_B'], { ...hook, secret_env: undefined }),
    allow_private: row(webhook, [false, true], hook),
  }),
  ...under('passthrough[].', route),
  ...under('websocket[].', route),
  'approvals.open_per_agent': row(gate, [1, 2]),
  'approvals.open_per_session': row(gate, [1, 2]),
  'approvals.enabled': row(gate, [false, true]),
  ...under('approvals.sources.*.', {
    secret_env: row(deciders, ['WHSEC_A', 'WHSEC_B']),
    secret_file: row(deciders, ['WHSEC_A', 'WHSEC_B']),
    asserts_people: row(deciders, [false, true], { secret_env: 'WHSEC_A' }),
    'people.*': row(deciders, ['jane', 'nobody-here']),
    roles: row(deciders, [['approver'], ['treasurer']], { secret_env: 'WHSEC_A' }),
  }),
  'log.level': row(logged, ['info', 'warn']),
  deny_detail: row(gate, ['code', 'explain']),
}
/** The document that has this value at this path, and around it what the row needs. */
function documentOf(path: string, { among }: Row, value: unknown): Tree {
  const around = Object.entries(AROUND).find(([prefix]) => path.startsWith(prefix))?.[1] ?? {}
  const [last = '', ...parents] = path
    .replaceAll('[]', '.0')
    .replaceAll('*', 'x')
    .split('.')
    .reverse()
  const inner: Tree = { ...among, [last]: value }
  const whole = parents.reduce<Tree>(
    (below, key) => (key === '0' ? { '0': below } : { [key]: '0' in below ? [below['0']] : below }),
    inner,
  )
  return merged(around, whole)
}
const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const merged = (base: Tree, over: Tree): Tree => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(over).map(([key, value]) => {
      const below = base[key]
      return [key, isTree(below) && isTree(value) ? merged(below, value) : value]
    }),
  ),
})

/** Every path at which gate.yaml takes a value. */
function leaves(schema: unknown, path: string): string[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  ) {
    return leaves(schema.unwrap(), path)
  }
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, below]) =>
      leaves(below, path === '' ? key : `${path}.${key}`),
    )
  }
  if (schema instanceof z.ZodRecord) return leaves(schema.valueType, `${path}.*`)
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject) {
    return leaves(schema.element, `${path}[]`)
  }
  return [path]
}

describe('gate.yaml', () => {
  it('has a row here for every key, and for no other', () => {
    expect(Object.keys(ROWS).sort()).toEqual(leaves(gateFile, '').sort())
  })

  it.each(Object.entries(ROWS))(
    '%s changes something',
    async (path, each) => {
      const reached = async (value: unknown): Promise<unknown> => {
        const port = typeof value === 'string' ? /^taken (\d)$/.exec(value)?.[1] : undefined
        const real = port === undefined ? value : taken[Number(port)]?.port
        const { config, file } = configOf(documentOf(path, each, real))
        return each.reach(config, file)
      }
      const [one, other] = each.values
      const first = await reached(one)
      expect(first).toBeDefined()
      // The same twice, so that what differs differs by the key.
      if (!isRun(each.reach)) expect(await reached(one)).toEqual(first)
      expect(await reached(other)).not.toEqual(first)
    },
    30_000,
  )
})
