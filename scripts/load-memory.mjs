/**
 * What a gate's memory does over many calls: a real `serve` process and a tool beside it on loopback,
 * each verdict that one call can end in, memory at intervals and in a closing table. Outside CI; run
 * after a build. Described in docs/security-testing.md.
 *
 *   node scripts/load-memory.mjs [--calls 200000] [--others 20000] [--connections 32] [--every 10000]
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '200000' },
    others: { type: 'string', default: '20000' },
    connections: { type: 'string', default: '32' },
    every: { type: 'string', default: '10000' },
  },
})
const countOf = (name) => {
  const count = Number(values[name])
  if (Number.isSafeInteger(count) && count > 0) return count
  throw new Error(`--${name}: a whole number above 0`)
}
const [CALLS, OTHERS, CONNECTIONS, EVERY] = ['calls', 'others', 'connections', 'every'].map(countOf)

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const home = mkdtempSync(join(tmpdir(), 'load-memory-'))
const TOKEN = 'cg_agent_load-memory'
const OTHER = 'cg_agent_load-memory-other'
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** What each kind of call is, and the code it has to end in. */
const JSON_TYPE = { 'content-type': 'application/json' }
const pay = (n, amount, more = {}) => ({
  path: '/pay',
  body: JSON.stringify({ order: `o-${n}`, amount }),
  headers: { ...JSON_TYPE, ...more },
})
const KINDS = [
  ['executed', CALLS, (n) => pay(n, '5.00')],
  ['policy_denied', CALLS, (n) => ({ ...pay(n, '5.00'), token: OTHER })],
  ['constraint_failed', OTHERS, (n) => pay(n, '501.00')],
  ['tool_unknown', OTHERS, (n) => ({ path: `/none/${n}`, body: '', headers: {} })],
  ['target_malformed', OTHERS, () => ({ path: '/a/../pay', body: '', headers: {} })],
  ['body_unreadable', OTHERS, () => ({ path: '/pay', body: '{"a":1,"a":2}', headers: JSON_TYPE })],
  ['arguments_invalid', OTHERS, () => ({ path: '/pay', body: '{}', headers: JSON_TYPE })],
  ['unauthenticated', OTHERS, (n) => ({ ...pay(n, '5.00'), token: 'wrong' })],
  ['approval_pending', OTHERS, (n) => pay(n, '150.00')],
  ['approval_closed', OTHERS, (n) => pay(n, '150.00', { 'gate-approval': 'no-such' })],
  [
    'budget_exceeded',
    OTHERS,
    (n) => ({ path: '/limited', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
  ['duplicate_call', OTHERS, () => ({ path: '/once', body: '{"order":"o"}', headers: JSON_TYPE })],
  ['idempotency_mismatch', OTHERS, (n) => pay(n, '5.00', { 'idempotency-key': 'one-key' })],
  ['query_not_read', OTHERS, (n) => ({ ...pay(n, '5.00'), path: '/pay?dry_run=1' })],
  [
    'member_not_read',
    OTHERS,
    (n) => ({ ...pay(n, '5.00'), body: `{"order":"o-${n}","amount":"5","role":"admin"}` }),
  ],
  ['body_not_read', OTHERS, () => ({ path: '/ping', body: '{}', headers: JSON_TYPE })],
  ['target_ambiguous', OTHERS, (n) => ({ ...pay(n, '5.00'), path: '/PAY' })],
  [
    'upstream_unreachable',
    OTHERS,
    (n) => ({ path: '/gone', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
  [
    'deadline_after_dispatch',
    OTHERS,
    (n) => ({ path: '/slow', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
  [
    'tool_refused',
    OTHERS,
    (n) => ({ path: '/refuse', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
  [
    'tool_failed',
    OTHERS,
    (n) => ({ path: '/fail', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
  [
    'outcome_unknown',
    OTHERS,
    (n) => ({ path: '/cut', body: `{"order":"o-${n}"}`, headers: JSON_TYPE }),
  ],
]

const TOOLS = ['refuse', 'fail', 'cut'].map(
  (name) => `  ${name}: {match: POST /${name}, args: {order: string}}\n`,
)
/** Nobody listens there: its port was free a moment ago. */
const gone = createServer()
await new Promise((resolve) => gone.listen(0, '127.0.0.1', resolve))
const GONE = gone.address().port
await new Promise((resolve) => gone.close(resolve))
function writeFiles(origin) {
  for (const folder of ['manifests', 'policies']) mkdirSync(join(home, folder))
  writeFileSync(
    join(home, 'gate.yaml'),
    `upstreams: {default: {url: "${origin}"}, gone: {url: "http://127.0.0.1:${GONE}"}}
agents: {bot: {token_sha256: ${sha256(TOKEN)}}, other: {token_sha256: ${sha256(OTHER)}}}
listeners: {data: {port: 0}, admin: {port: 0}, metrics: {port: 0}}
limits: {pre_identity: {refusals: 1000000}, event_loop_delay_ms: 60000}
approvals: {open_per_agent: ${Math.min(100_000, OTHERS + 1_000)}}
`,
  )
  writeFileSync(
    join(home, 'manifests', 'load.yaml'),
    `id: com.acme.load
tools:
  pay:
    match: POST /pay
    args: {order: string, amount: decimal}
    constraints: {cap: {amount: {lte: "500.00"}}}
    hitl: {ttl_seconds: 86400}
  limited:
    match: POST /limited
    args: {order: string}
    constraints: {per_day: {count: {max: 1, window: 24h}}}
  once:
    match: POST /once
    args: {order: string}
    constraints: {only_once: {dedupe: {per: [order], window: 24h}}}
  ping: {match: POST /ping}
  slow:
    match: POST /slow
    args: {order: string}
    deadlines: {connect_ms: 2000, first_byte_ms: 100, total_ms: 200}
${TOOLS.join('')}`,
  )
  writeFileSync(
    join(home, 'manifests', 'gone.yaml'),
    'id: com.acme.gone\nupstream: gone\ntools:\n  gone: {match: POST /gone, args: {order: string}}\n',
  )
  writeFileSync(
    join(home, 'policies', 'load.cedar'),
    `@id("bot") permit (principal == Agent::"bot", action, resource) when { principal == Agent::"bot" };
@id("large") @hem("required") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`,
  )
}

const tool = createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    if (req.url === '/cut') return res.destroy()
    if (req.url === '/slow') return undefined
    const status = req.url === '/refuse' ? 409 : req.url === '/fail' ? 500 : 200
    return res.writeHead(status, JSON_TYPE).end('{"ok":true}')
  })
})
await new Promise((resolve) => tool.listen(0, '127.0.0.1', resolve))
writeFiles(`http://127.0.0.1:${tool.address().port}`)

const child = spawn(process.execPath, [MAIN, 'serve', '--config', join(home, 'gate.yaml')], {
  stdio: ['ignore', 'ignore', 'pipe'],
  // A group of its own: Ctrl-C ends the calls, and the gate is still there to be measured.
  detached: true,
})
let said = ''
const gate = await new Promise((resolve, reject) => {
  child.stderr.on('data', (text) => {
    said += text
    const agents = /agents connect to\s+(\S+)/.exec(said)?.[1]
    if (agents !== undefined && said.includes('records')) resolve(new URL(agents))
  })
  child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${said}`)))
})

/** RSS and, since the gate's threads share it, what of it is anonymous: heaps and buffers. */
function memory() {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const mib = (name) =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { rss: mib('VmRSS'), heap: mib('RssAnon') }
}

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
function call({ path, body, headers, token = TOKEN }) {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: gate.hostname,
        port: gate.port,
        method: 'POST',
        path,
        agent,
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (piece) => {
          text += piece
        })
        answer.on('end', () => resolve(codeOf(answer, text)))
        answer.on('error', () => resolve('cut'))
      },
    )
    sent.on('error', (error) => resolve(error.code ?? 'error'))
    sent.end(body)
  })
}
const OWN = { 200: 'executed', 409: 'tool_refused', 500: 'tool_failed' }
const codeOf = ({ headers, statusCode }, text) =>
  headers['content-type'] === 'application/problem+json'
    ? JSON.parse(text).code
    : (OWN[statusCode] ?? String(statusCode))

const rows = []
const start = memory()
let stopped = false
process.once('SIGINT', () => {
  stopped = true
  console.log('\nstopping; what there is:')
})

for (const [code, count, make] of KINDS) {
  if (stopped) break
  // What has to have happened before: the first use of a window, a name or a key.
  if (['budget_exceeded', 'duplicate_call'].includes(code)) await call(make(-1))
  if (code === 'idempotency_mismatch') await call(make('first'))
  const before = memory()
  const ended = new Map()
  const began = performance.now()
  let next = 0
  let done = 0
  const lane = async () => {
    while (next < count && !stopped) {
      const got = await call(make(next++))
      ended.set(got, (ended.get(got) ?? 0) + 1)
      if (++done % EVERY === 0) {
        const { rss, heap } = memory()
        console.log(
          `${code.padEnd(22)} ${String(done).padStart(8)}  rss ${rss} MiB  heap ${heap} MiB`,
        )
      }
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  const seconds = (performance.now() - began) / 1000
  rows.push({ code, done, ended, before, after: memory(), seconds })
}

console.log(
  '\nverdict                   calls   as told   calls/s   rss before → after   heap before → after (MiB)',
)
for (const { code, done, ended, before, after, seconds } of rows) {
  const cells = [
    code.padEnd(22),
    String(done).padStart(8),
    String(ended.get(code) ?? 0).padStart(9),
    String(Math.round(done / seconds)).padStart(9),
    `${before.rss} → ${after.rss}`.padStart(20),
    `${before.heap} → ${after.heap}`.padStart(22),
  ]
  console.log(cells.join(' '))
  for (const [other, times] of ended)
    if (other !== code) console.log(`    ${times} ended as ${other}`)
}
const end = memory()
console.log(
  `\nfrom start to end: rss ${start.rss} → ${end.rss} MiB, heap ${start.heap} → ${end.heap} MiB`,
)

agent.destroy()
const ended = new Promise((resolve) => child.once('exit', resolve))
child.kill('SIGTERM')
await ended
tool.closeAllConnections()
tool.close()
rmSync(home, { recursive: true, force: true })
const wrong = rows.some(({ code, done, ended }) => (ended.get(code) ?? 0) !== done)
process.exitCode = wrong ? 1 : 0
