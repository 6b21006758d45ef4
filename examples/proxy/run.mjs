/** `capsule-gate serve` in front of an API: executed, blocked and waiting, then verified. Exits 0 or throws. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const here = import.meta.dirname
const cli = join(here, '..', '..', 'dist', 'cli', 'main.js')
const data = mkdtempSync(join(tmpdir(), 'capsule-gate-example-'))

// The API: it trusts one credential, which the gate has and the agent has not.
const credential = `Bearer ${randomBytes(16).toString('hex')}`
const received = []
const api = createServer(async (req, res) => {
  let body = ''
  for await (const chunk of req) body += chunk
  received.push({ authorization: req.headers.authorization, body })
  res.writeHead(201, { 'content-type': 'application/json' })
  res.end('{"id":"re_1","status":"succeeded"}')
}).listen(0, '127.0.0.1')
await once(api, 'listening')

const token = randomBytes(16).toString('hex')
const gate = spawn(
  process.execPath,
  [cli, 'serve', '--config', join(here, 'gate.yaml'), '--port', '0', '--data', join(data, 'data')],
  {
    env: {
      ...process.env,
      GATE_UPSTREAM: `http://127.0.0.1:${api.address().port}`,
      GATE_LISTENERS__ADMIN__PORT: '0',
      PAYMENTS_TOKEN: credential,
      BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    },
  },
)
try {
  const url = await new Promise((resolve, reject) => {
    let said = ''
    gate.stderr.on('data', (chunk) => {
      said += chunk
      const [, found] = /agents connect to +(\S+)\n/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    gate.on('close', () => reject(new Error(said)))
  })
  // #region refund
  const refund = (amount) =>
    fetch(`${url}/v1/refunds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ order: 'o-1001', currency: 'EUR', amount }),
    })
  for (const [amount, status, verdict] of [
    ['40.00', 201, 'executed'],
    ['750.00', 403, 'blocked'],
    ['250.00', 202, 'hitl_dispatched'],
  ]) {
    const answer = await refund(amount)
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('gate-verdict'), verdict)
    console.log(amount, status, verdict, answer.headers.get('gate-capsule'))
  }
  // #endregion refund
  assert.deepEqual(received, [
    { authorization: credential, body: '{"order":"o-1001","currency":"EUR","amount":"40.00"}' },
  ])
} finally {
  const ended = gate.exitCode === null ? once(gate, 'close') : null
  gate.kill('SIGTERM')
  await ended
  api.close()
  api.closeAllConnections()
}
const verified = spawnSync(
  process.execPath,
  [
    cli,
    'verify',
    join(data, 'data', 'journal', '00000001.jsonl'),
    '--keys',
    join(data, 'data', 'keys', 'keyring.json'),
  ],
  { encoding: 'utf8' },
)
assert.equal(verified.status, 0, verified.stdout)
rmSync(data, { recursive: true })
