/** A call waits, a person approves exactly that call, and its retry runs once. Exits 0 or throws. */
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
const home = mkdtempSync(join(tmpdir(), 'capsule-gate-hitl-'))
const data = join(home, 'data')

const received = []
const api = createServer(async (req, res) => {
  let body = ''
  for await (const chunk of req) body += chunk
  received.push(body)
  res.writeHead(201, { 'content-type': 'application/json' })
  res.end('{"id":"re_1","status":"succeeded"}')
}).listen(0, '127.0.0.1')
await once(api, 'listening')

/** A person's token: for the admin plane only. No agent ever holds it. */
const made = spawnSync(
  process.execPath,
  [cli, 'tokens', 'create', '--role', 'approver', '--name', 'ada', '--dir', data],
  { encoding: 'utf8' },
)
assert.equal(made.status, 0, made.stderr)
const ada = made.stdout.trim()

const token = randomBytes(16).toString('hex')
const gate = spawn(
  process.execPath,
  [cli, 'serve', '--config', join(here, 'gate.yaml'), '--port', '0', '--data', data],
  {
    env: {
      ...process.env,
      GATE_UPSTREAM: `http://127.0.0.1:${api.address().port}`,
      GATE_LISTENERS__ADMIN__PORT: '0',
      PAYMENTS_TOKEN: 'Bearer secret-of-the-gate',
      BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    },
  },
)
try {
  const { agents, people } = await new Promise((resolve, reject) => {
    let said = ''
    gate.stderr.on('data', (chunk) => {
      said += chunk
      const [, agents] = /agents connect to +(\S+)\n/.exec(said) ?? []
      const [, people] = /operators +(\S+)\n/.exec(said) ?? []
      if (agents !== undefined && people !== undefined) resolve({ agents, people })
    })
    gate.on('close', () => reject(new Error(said)))
  })

  // #region agent
  const refund = (amount, headers = {}) =>
    fetch(`${agents}/v1/refunds`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ order: 'o-1001', currency: 'EUR', amount }),
    })

  const asked = await refund('250.00')
  assert.equal(asked.status, 202)
  const { approval_id } = await asked.json()
  assert.equal(asked.headers.get('location'), `/.gate/v1/actions/${approval_id}`)
  // #endregion agent
  console.log('waiting ', approval_id)
  assert.deepEqual(received, [])

  // The agent's own credential decides nothing, and shows nothing.
  const probe = await fetch(`${people}/v1/approvals/${approval_id}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(probe.status, 401)

  // #region person
  const as = { authorization: `Bearer ${ada}`, 'content-type': 'application/json' }
  const shown = await fetch(`${people}/v1/approvals/${approval_id}`, { headers: as })
  const { document, document_digest } = await shown.json()
  assert.deepEqual(document.arguments.amount, { type: 'decimal', value: '250' })

  const decided = await fetch(`${people}/v1/approvals/${approval_id}/decision`, {
    method: 'POST',
    headers: as,
    body: JSON.stringify({ decision: 'approve', digest: document_digest, reason: 'checked' }),
  })
  assert.equal((await decided.json()).state, 'approved')
  // #endregion person
  console.log('approved by a person, bound to', document_digest)

  // #region retry
  const other = await refund('251.00', { 'gate-approval': approval_id })
  assert.equal(other.status, 409)
  assert.equal((await other.json()).differs_at, '/arguments/amount/value')

  const done = await refund('250.00', { 'gate-approval': approval_id })
  assert.equal(done.status, 201)
  assert.equal(done.headers.get('gate-verdict'), 'executed')

  const again = await refund('250.00', { 'gate-approval': approval_id })
  assert.equal(again.status, 409)
  // #endregion retry
  console.log('executed', done.headers.get('gate-capsule'))
  assert.equal(received.length, 1)

  const capsule = await fetch(`${people}/v1/capsules/${done.headers.get('gate-capsule')}`, {
    headers: as,
  })
  const { disposition, chain } = await capsule.json()
  assert.deepEqual([disposition.approver, disposition.human_disposed], ['human', true])
  assert.equal(chain.parent_capsule_id, asked.headers.get('gate-capsule'))
} finally {
  const ended = gate.exitCode === null ? once(gate, 'close') : null
  gate.kill('SIGTERM')
  await ended
  api.close()
  api.closeAllConnections()
  rmSync(home, { recursive: true })
}
