/**
 * A gate in a process of its own that asks, decides, postpones, withdraws and retries until a named
 * seam kills it. It first finishes what its predecessors left open. Run by approval-crash.long.test.ts.
 */
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../dist/adapters/crypto-node.js'
import { openGate } from '../../dist/app/open-gate.js'
import { readYaml } from '../../dist/config/yaml.js'
import { ObservedResponse } from '../../dist/core/capsule/observation.js'
import { expand, manifestDigest } from '../../dist/core/manifest/expand/expand.js'

const [dir, seam, hits, name] = process.argv.slice(2)
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    hitl: {quorum: 2}
`
const { manifest } = expand(readYaml(MANIFEST).tree)

let left = Number(hits)
const hit = (at) => {
  if (at !== seam || --left > 0) return
  writeSync(1, `killed at ${at}\n`)
  process.kill(process.pid, 'SIGKILL')
}
// The stores are written from a thread of their own, which brings its own crash points.
Object.assign(process.env, { KILL_SEAM: seam, KILL_HITS: hits })
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const tool = openSync(join(dir, 'tool.log'), 'a')
const acks = openSync(join(dir, 'acks.log'), 'a')

let opened = false
const gate = await openGate({
  dir: join(dir, 'data'),
  headFile: join(dir, 'head'),
  operator: 'acme',
  mode: 'enforce',
  manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
  policyFolder: join(dir, 'policies'),
  identity: {
    tokens: () => new Map([[sha256('t'), { agent: 'support-bot', roles: [], developer: 'bot@1' }]]),
    issuers: [],
    certificates: new Map(),
    anonymous: false,
  },
  segmentBytes: 256 * 1024,
  snapshotEvery: 60,
  report: () => {},
  // What the start itself writes has its own suites.
  seam: (at) => opened && hit(at),
  recorder: { in: 'thread', seams: new URL('./kill-seams.mjs', import.meta.url).href },
})
opened = true

const BODY = new TextEncoder().encode('{"ok":true}')
const complete = () => ({
  kind: 'complete',
  outcome: 'succeeded',
  response: ObservedResponse.witness({
    framing: 'content_length',
    requestSent: true,
    status: 200,
    octets: { alg: 'sha-256', digest: sha256(BODY), length: 11, status: 200, complete: true },
    binding: 'octets',
    responseDigest: sha256('descriptor'),
  }),
})

async function send(order) {
  const text = JSON.stringify({ order, currency: 'EUR', amount: '150.00' })
  const answer = await gate.govern(
    {
      kind: 'http',
      method: 'POST',
      upstream: 'default',
      target: '/v1/refunds',
      headers: [['content-type', 'application/json']],
      body: { kind: 'read', bytes: new TextEncoder().encode(text) },
      tool: null,
      caller: { bearer: 't', certificate: null, asserted: null, source: 'loop' },
      idempotencyKey: null,
      approvalId: null,
      waitSeconds: 0,
    },
    async ({ actionId, stillAllowed }) => {
      if (!stillAllowed()) throw new Error('nothing changes here')
      writeSync(tool, `${order} ${actionId}\n`)
      hit('after_first_byte')
      await new Promise((resolve) => setImmediate(resolve))
      return { observation: complete(), held: null }
    },
  )
  const id = answer.problem?.approval_id ?? null
  writeSync(acks, `${answer.code ?? answer.kind} ${answer.actionId} ${id ?? '-'}\n`)
  return id
}

async function say(approvalId, who, outcome) {
  const approval = await gate.parts.state.approval(approvalId)
  const told = await gate.resolve({
    approvalId,
    documentDigest: approval.documentDigest,
    decider: { kind: 'person', name: who, roles: ['approver'], assurance: 'L1', via: 'test' },
    outcome,
  })
  if (told.kind === 'recorded') writeSync(acks, `decided-${told.state} ${approvalId} ${who}\n`)
  return told
}
const approve = async (id) => {
  await say(id, 'alice', { kind: 'approve' })
  await say(id, 'bob', { kind: 'approve' })
}

/** Whatever an earlier process was killed in the middle of. */
for (const { approvalId } of await gate.parts.state.approvals()) {
  await approve(approvalId)
  const found = await gate.parts.evidence.byAction(approvalId)
  const { value } = found.value.find(({ name: part }) => part === 'document')
  await send(value.arguments.order.value)
}
if ((await gate.parts.state.approvals()).length > 0) throw new Error('something stays open')

const path = [
  async (order) => {
    const id = await send(order)
    await approve(id)
    await send(order)
  },
  async (order) => {
    await say(await send(order), 'carol', { kind: 'deny', reason: 'no' })
  },
  async (order) => {
    const id = await send(order)
    await say(id, 'carol', { kind: 'defer', ttlSeconds: 600, onExpiry: 'expired' })
    await approve(id)
    await Promise.all([send(order), send(order)])
  },
  async (order) => {
    await gate.withdraw(await send(order), 'support-bot')
  },
]
for (let round = 0; round < 3; round++) {
  await Promise.all(path.map((walk, i) => walk(`${name}-${round}-${i}`)))
}
// The losers of a race for one grant may have asked anew.
for (const { approvalId } of await gate.parts.state.approvals()) {
  await gate.withdraw(approvalId, 'support-bot')
}
await gate.close()
writeSync(1, 'finished\n')
