/** An agent declares its intent, is denied, reads the answer, and succeeds; then a person decides. Exits 0 or throws. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash, createPublicKey, randomBytes, randomUUID, verify } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent } from './agent.mjs'
import { jwks, mandateFor } from './issuer.mjs'

const here = import.meta.dirname
const cli = join(here, '..', '..', 'dist', 'cli', 'main.js')
const home = mkdtempSync(join(tmpdir(), 'capsule-gate-intent-'))
const data = join(home, 'data')
for (const name of ['gate.yaml', 'manifests', 'policies']) {
  cpSync(join(here, name), join(home, name), { recursive: true })
}
writeFileSync(join(home, 'jwks.json'), JSON.stringify(jwks))

// The booking system. It never sees a mandate or a declaration.
const received = []
const api = createServer((req, res) => {
  received.push(`${req.method} ${req.url}`)
  assert.equal(req.headers['agent-intent'] ?? req.headers['agent-mandate'], undefined)
  res.writeHead(req.method === 'GET' ? 200 : 201, { 'content-type': 'application/json' })
  res.end('{"guest":"left","balance":"0.00"}')
}).listen(0, '127.0.0.1')
await once(api, 'listening')

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
  [cli, 'serve', '--config', join(home, 'gate.yaml'), '--port', '0', '--data', data],
  {
    env: {
      ...process.env,
      GATE_UPSTREAM: `http://127.0.0.1:${api.address().port}`,
      GATE_LISTENERS__ADMIN__PORT: '0',
      BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    },
  },
)
try {
  const { url, people } = await new Promise((resolve, reject) => {
    let said = ''
    gate.stderr.on('data', (chunk) => {
      said += chunk
      const [, url] = /agents connect to +(\S+)\n/.exec(said) ?? []
      const [, people] = /operators +(\S+)\n/.exec(said) ?? []
      if (url !== undefined && people !== undefined) resolve({ url, people })
    })
    gate.on('close', () => reject(new Error(said)))
  })
  const agentOn = (booking) => {
    const sessionId = randomUUID()
    const mandate = mandateFor('booking-bot', booking, sessionId)
    return { mandate, ...createAgent({ url, token, mandate, sessionId, booking }) }
  }

  // #region denied
  const agent = agentOn('b-1')
  const guess = { type: 'INFERENCE', description: 'the guest has most probably left' }
  const first = await agent.close(agent.declare('CloseBooking', guess, 0.7))
  assert.equal(first.status, 403)
  const { deny_code, available_actions, hem_available } = first.body
  assert.deepEqual(
    { deny_code, available_actions, hem_available },
    {
      deny_code: 'POLICY_DENY',
      available_actions: ['ProcessPayment', 'ReadBooking'],
      hem_available: true,
    },
  )
  // #endregion denied
  console.log('CloseBooking at 0.7:', first.status, deny_code)
  console.log('  instead:', available_actions.join(', '), '| a person may be asked:', hem_available)

  // #region second
  const unsure = { type: 'UNCERTAINTY_REDUCTION', description: 'look whether the guest has left' }
  const looked = await agent.read(agent.declare('ReadBooking', unsure, 0.9))
  assert.equal(looked.body.guest, 'left')

  const seen = { type: 'RULE_BASED', description: 'a booking is closed once its guest has left' }
  const second = await agent.close(agent.declare('CloseBooking', seen, 0.95))
  assert.deepEqual([second.status, second.verdict], [201, 'executed'])
  // #endregion second
  console.log('ReadBooking:', looked.status, looked.verdict)
  console.log('CloseBooking at 0.95:', second.status, second.verdict)

  // #region required
  const payer = agentOn('b-2')
  const told = {
    type: 'INSTRUCTION',
    description: `the guest asked for it under mandate ${payer.mandate.jti}`,
  }
  const payment = { amount: '120.00', currency: 'EUR' }
  const intent = payer.declare('ProcessPayment', told, 0.6, { hem_urgency: 'REQUIRED' })
  const asked = await payer.pay(intent, payment)
  assert.deepEqual([asked.status, asked.body.result], [202, 'SESSION_HEM_PENDING'])

  // Until somebody has decided, nothing else of this session is sent.
  const other = await payer.read(payer.declare('ReadBooking', unsure, 0.9))
  assert.deepEqual([other.status, other.body.deny_code], [409, 'HEM_PENDING'])
  // #endregion required
  console.log('ProcessPayment, REQUIRED:', asked.status, asked.body.result)
  console.log('ReadBooking meanwhile:', other.status, other.body.deny_code)

  // #region person
  const as = { authorization: `Bearer ${ada}`, 'content-type': 'application/json' }
  const item = `${people}/v1/approvals/${asked.body.approval_id}`
  const { document, document_digest } = await (await fetch(item, { headers: as })).json()
  assert.equal(document.idp_summary.idp.reasoning, told.description)
  assert.equal(document.idp_summary.idp.confidence_level, '0.6')

  const decision = { decision: 'approve', digest: document_digest, reason: 'called the guest' }
  const decided = await fetch(`${item}/decision`, {
    method: 'POST',
    headers: as,
    body: JSON.stringify(decision),
  })
  assert.equal((await decided.json()).state, 'approved')
  // #endregion person
  console.log('a person read the declaration, and approved')

  // #region retry
  // The same call with the same declaration: one step, committed once.
  const paid = await payer.pay(intent, payment)
  assert.deepEqual([paid.status, paid.verdict], [201, 'executed'])
  // #endregion retry
  console.log('ProcessPayment again:', paid.status, paid.verdict)
  assert.deepEqual(received, [
    'GET /v1/bookings/b-1',
    'POST /v1/bookings/b-1/close',
    'POST /v1/bookings/b-2/payments',
  ])
} finally {
  const ended = gate.exitCode === null ? once(gate, 'close') : null
  gate.kill('SIGTERM')
  await ended
  api.close()
  api.closeAllConnections()
}

const journal = join(data, 'journal', '00000001.jsonl')
const lines = readFileSync(journal, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
const of = (type) => lines.filter((line) => line.type === type)
// Denied, read, closed, one that had to wait for a person, and one that had to wait for that decision.
assert.equal(of('IDP_SUBMITTED').length, 5)
assert.equal(of('CEDAR_DENY_RECORDED').length, 1)
assert.equal(of('STATE_TRANSITIONED').length, 3)

// #region verify
const keyring = JSON.parse(readFileSync(join(data, 'keys', 'keyring.json'), 'utf8'))
// Flat objects of plain ASCII: sorted members are the canonical form (RFC 8785).
const canonical = (flat) => JSON.stringify(Object.fromEntries(Object.entries(flat).sort()))
for (const { record } of of('IDP_COMMITMENT_VERIFIED')) {
  const { kernel_signature, ...signed } = record
  const { public_key } = keyring.keys.find(({ kid }) => kid === record.kid)
  const der = Buffer.from(`302a300506032b6570032100${public_key}`, 'hex')
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  const signature = Buffer.from(kernel_signature, 'base64url')
  assert.ok(verify(null, Buffer.from(canonical(signed)), key, signature))

  const transition = lines.find(({ event_id }) => event_id === record.state_transition_id)
  const { v, type, origin, seq, prev, at, ...members } = transition
  const digest = createHash('sha256').update(canonical(members)).digest('hex')
  assert.equal(record.transition_digest, digest)

  const declared = of('IDP_SUBMITTED').find(({ idp_id }) => idp_id === record.idp_id)
  assert.equal(declared.requested_action, transition.cedar_action)
  assert.ok(declared.seq < seq)
}
// #endregion verify
const keys = ['--keys', join(data, 'keys', 'keyring.json')]
const verified = spawnSync(process.execPath, [cli, 'verify', journal, ...keys], {
  encoding: 'utf8',
})
assert.equal(verified.status, 0, verified.stdout)
console.log('5 declarations on record, 3 transitions, each verified against what was declared')
rmSync(home, { recursive: true })
