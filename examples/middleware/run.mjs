/** Runs the example against itself: executed, waiting, blocked and denied, each with its capsule. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp } from './app.mjs'

const data = mkdtempSync(join(tmpdir(), 'example-middleware-'))
const token = 'only-for-this-example'
const { app, running } = await startApp(join(import.meta.dirname, 'gate.yaml'), {
  BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
  GATE_DATA_DIR: JSON.stringify(data),
})
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))

async function call(path, body) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const verdict = response.headers.get('gate-verdict')
  console.log(`${path.padEnd(18)} ${response.status} ${verdict}`)
  assert.match(response.headers.get('gate-capsule') ?? '', /^[0-9a-f]{64}$/)
  return { status: response.status, verdict, json: await response.json() }
}

try {
  const refund = { order: 'o-1', currency: 'EUR', amount: '12.50' }
  const executed = await call('/tools/refunds', refund)
  assert.deepEqual([executed.status, executed.verdict], [201, 'executed'])
  assert.deepEqual(executed.json, { id: 'rf_1', ...refund })

  const waiting = await call('/tools/refunds', { ...refund, amount: '250.00' })
  assert.deepEqual([waiting.status, waiting.verdict], [202, 'hitl_dispatched'])

  const blocked = await call('/tools/refunds', { ...refund, amount: '501.00' })
  assert.deepEqual([blocked.status, blocked.json.code], [403, 'constraint_failed'])

  const denied = await call('/accounts/close', { account: 'a-1' })
  assert.deepEqual([denied.status, denied.json.code], [403, 'policy_denied'])

  const read = await call('/tools/refunds/rf_1')
  assert.deepEqual([read.status, read.json], [200, { id: 'rf_1' }])
} finally {
  server.close()
  server.closeAllConnections()
  await running.close()
  rmSync(data, { recursive: true })
}
