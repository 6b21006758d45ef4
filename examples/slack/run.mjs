/** A person approves from Slack, through a bridge that both sides authenticate. Exits 0 or throws. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { createBridge } from './bridge.mjs'

const here = import.meta.dirname
const cli = join(here, '..', '..', 'dist', 'cli', 'main.js')
const home = mkdtempSync(join(tmpdir(), 'capsule-gate-slack-'))
const data = join(home, 'data')
const secret = () => `whsec_${randomBytes(32).toString('base64')}`
const [webhookSecret, sourceSecret] = [secret(), secret()]
const signingSecret = randomBytes(16).toString('hex')

function tokenFor(role, name) {
  const args = ['tokens', 'create', '--role', role, '--name', name, '--dir', data]
  const made = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' })
  assert.equal(made.status, 0, made.stderr)
  return made.stdout.trim()
}
/** Ada holds an approver's token; the bridge never sees it, the gate only checks that she has one. */
const ada = { authorization: `Bearer ${tokenFor('approver', 'ada')}` }

async function listen(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}
const api = await listen((_, res) => {
  res.writeHead(201, { 'content-type': 'application/json' })
  res.end('{"id":"re_1","status":"succeeded"}')
})
const messages = []
let people = ''
const bridge = await listen(
  createBridge({
    signingSecret,
    webhookSecret,
    sourceSecret,
    source: 'slack',
    auditorToken: tokenFor('auditor', 'slack-bridge'),
    adminUrl: () => people,
    postMessage: async (message) => messages.push(message),
  }),
)

const token = randomBytes(16).toString('hex')
const gate = spawn(
  process.execPath,
  [cli, 'serve', '--config', join(here, 'gate.yaml'), '--port', '0', '--data', data],
  {
    env: {
      ...process.env,
      GATE_UPSTREAM: api.url,
      GATE_LISTENERS__ADMIN__PORT: '0',
      GATE_WEBHOOKS__CHAT__URL: `${bridge.url}/gate`,
      CHAT_WEBHOOK_SECRET: webhookSecret,
      CHAT_SOURCE_SECRET: sourceSecret,
      PAYMENTS_TOKEN: 'Bearer secret-of-the-gate',
      BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
    },
  },
)

/** A button pressed in Slack, as Slack would send it. */
function press(action_id, value, { user = 'U024ADA', age = 0, key = signingSecret } = {}) {
  const timestamp = String(Math.floor(Date.now() / 1000) - age)
  const payload = {
    type: 'block_actions',
    user: { id: user },
    actions: [{ action_id, value, action_ts: '1700000000.000001' }],
  }
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
  const mac = createHmac('sha256', key).update(`v0:${timestamp}:${body}`).digest('hex')
  return fetch(`${bridge.url}/slack`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${mac}`,
    },
    body,
  })
}

try {
  const urls = await new Promise((resolve, reject) => {
    let said = ''
    gate.stderr.on('data', (chunk) => {
      said += chunk
      const [, agents] = /agents connect to +(\S+)\n/.exec(said) ?? []
      const [, operators] = /operators +(\S+)\n/.exec(said) ?? []
      if (agents !== undefined && operators !== undefined) resolve({ agents, operators })
    })
    gate.on('close', () => reject(new Error(said)))
  })
  people = urls.operators
  const refund = (headers = {}, order = 'o-1001') =>
    fetch(`${urls.agents}/v1/refunds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ order, currency: 'EUR', amount: '250.00' }),
    })
  /** A call that waits for a person, and the notification of it as the gate signs it. */
  const ask = async (order) => {
    const asked = await refund({}, order)
    assert.equal(asked.status, 202)
    const { approval_id, expires_at } = await asked.json()
    const shown = await fetch(`${people}/v1/approvals/${approval_id}`, { headers: ada })
    const { document_digest } = await shown.json()
    const notify = (key, id) => {
      const body = JSON.stringify({
        type: 'approval.requested',
        timestamp: new Date().toISOString(),
        data: {
          approval_id,
          document_digest,
          tool: 'create_refund',
          agent: 'support-bot',
          deadline: { at: expires_at, on_expiry: 'timeout' },
          link: `${people}/approvals/${approval_id}#${id}`,
        },
      })
      const at = new Date()
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(key).sign(id, at, body),
      }
      return fetch(`${bridge.url}/gate`, { method: 'POST', headers, body })
    }
    return { approval_id, notify }
  }
  // The running gate may have sent its own by now: only ours are looked at.
  const posted = (id) => messages.filter(({ text }) => text.endsWith(`#${id}`))

  // Delivered twice it is one message; and one that somebody else made up is none.
  const { approval_id, notify } = await ask('o-1001')
  assert.equal((await notify(secret(), 'msg_forged')).status, 401)
  assert.equal((await notify(webhookSecret, 'msg_once')).status, 204)
  assert.equal((await notify(webhookSecret, 'msg_once')).status, 204)
  const [message, ...more] = posted('msg_once')
  assert.equal(more.length, 0)
  const [, args, buttons] = message.blocks
  for (const part of ['support-bot', 'create_refund', 'o-1001', 'EUR', '250'])
    assert.ok(args.text.text.includes(`"${part}"`))
  const { value } = buttons.elements[0]

  // What does not fit into a message is read at the gate: there is a link and nothing to press.
  const long = await ask('o-'.padEnd(4000, 'x'))
  assert.equal((await long.notify(webhookSecret, 'msg_long')).status, 204)
  const [{ blocks }] = posted('msg_long')
  const [link, ...others] = blocks.at(-1).elements
  assert.deepEqual([link.url.endsWith('#msg_long'), link.value, others], [true, undefined, []])

  // A press that shows nothing decides nothing.
  const { shown_digest, ...unseen } = JSON.parse(value)
  const blind = await (await press('approve', JSON.stringify(unseen))).json()
  assert.match(blind.text, /^Not recorded: The decision has no shown_digest/)

  // Forged, stale, and pressed by somebody who is no approver: nothing is decided.
  assert.equal((await press('approve', value, { key: 'guessed' })).status, 401)
  assert.equal((await press('approve', value, { age: 301 })).status, 401)
  const stranger = await (await press('approve', value, { user: 'U999EVE' })).json()
  assert.match(stranger.text, /^Not recorded/)
  assert.equal((await refund({ 'gate-approval': approval_id })).status, 202)

  // Ada presses; Slack delivers her press twice; it is one decision.
  assert.equal((await (await press('approve', value)).json()).text, 'It is approved.')
  assert.equal((await (await press('approve', value)).json()).text, 'It is approved.')
  const late = await (await press('deny', value)).json()
  assert.match(late.text, /^Not recorded/)

  const done = await refund({ 'gate-approval': approval_id })
  assert.equal(done.status, 201)
  const capsule = await fetch(`${people}/v1/capsules/${done.headers.get('gate-capsule')}`, {
    headers: ada,
  })
  const { disposition } = await capsule.json()
  assert.deepEqual([disposition.approver, disposition.human_disposed], ['human', true])
  console.log('approved from Slack by a person, executed once', done.headers.get('gate-capsule'))
} finally {
  const ended = gate.exitCode === null ? once(gate, 'close') : null
  gate.kill('SIGTERM')
  await ended
  for (const { server } of [api, bridge]) {
    server.close()
    server.closeAllConnections()
  }
  rmSync(home, { recursive: true })
}
