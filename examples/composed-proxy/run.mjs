/** An upstream, the application in front of it, and an agent: what was observed, and what was cut. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp } from './app.mjs'

const listening = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
const seen = []
const upstream = createServer((req, res) => {
  seen.push({ url: req.url, authorization: req.headers.authorization })
  if (req.method === 'POST') {
    res.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"rf_1"}')
    return
  }
  // Breaks off in the middle of its answer.
  res.writeHead(200, { 'content-length': '100' })
  res.write('half')
  setImmediate(() => res.destroy())
})
const data = mkdtempSync(join(tmpdir(), 'example-composed-'))
const token = 'only-for-this-example'
const { app, running, payments } = await startApp(
  join(import.meta.dirname, 'gate.yaml'),
  {
    BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    GATE_DATA_DIR: JSON.stringify(data),
    PAYMENTS_TOKEN: 'the-gate-s-own',
  },
  `http://127.0.0.1:${await listening(upstream)}`,
)
const server = createServer(app)
const origin = `http://127.0.0.1:${await listening(server)}`

async function call(method, path, body) {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const verdict = response.headers.get('gate-verdict')
  console.log(`${method.padEnd(4)} ${path.padEnd(26)} ${response.status} ${verdict}`)
  return { status: response.status, verdict, json: await response.json() }
}

try {
  assert.equal((await call('GET', '/healthz')).verdict, null)

  const refund = { order: 'o-1', currency: 'EUR', amount: '12.50' }
  const executed = await call('POST', '/payments/v1/refunds', refund)
  assert.deepEqual([executed.status, executed.verdict], [201, 'executed'])
  assert.deepEqual(seen, [{ url: '/v1/refunds', authorization: 'Bearer the-gate-s-own' }])

  const cut = await call('GET', '/payments/v1/refunds/rf_1')
  assert.deepEqual([cut.status, cut.verdict, cut.json.dispatched], [502, 'errored', true])

  const blocked = await call('POST', '/payments/v1/refunds', { ...refund, amount: '501.00' })
  assert.deepEqual([blocked.status, blocked.json.code], [403, 'constraint_failed'])
  assert.equal(seen.length, 2)
} finally {
  for (const each of [server, upstream]) {
    each.close()
    each.closeAllConnections()
  }
  await payments.close()
  await running.close()
  rmSync(data, { recursive: true })
}
