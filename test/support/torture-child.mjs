/**
 * A gate in a process of its own, under load until a named seam kills it. The "tool" is a file it
 * appends to: what stands there was sent, whatever the gate remembers. Run by crash-torture.test.ts.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../dist/adapters/crypto-node.js'
import { openGate } from '../../dist/app/open-gate.js'
import { readYaml } from '../../dist/config/yaml.js'
import { ObservedResponse } from '../../dist/core/capsule/observation.js'
import { expand, manifestDigest } from '../../dist/core/manifest/expand/expand.js'

const [dir, seam, hits, calls, seed] = process.argv.slice(2)
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD]}}
      daily: {count: {max: 1000000, window: 24h}}
`
const read = readYaml(MANIFEST)
const { manifest } = expand(read.tree)

let left = Number(hits)
const hit = (name) => {
  if (name === seam && --left <= 0) {
    // The report is written before the end, so that the parent can count it.
    writeSync(1, `killed at ${name}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
}
// The stores are written from a thread of their own, which brings its own crash points.
Object.assign(process.env, { KILL_SEAM: seam, KILL_HITS: hits })

const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const tool = openSync(join(dir, 'tool.log'), 'a')
const acks = openSync(join(dir, 'acks.log'), 'a')

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
  segmentBytes: 128 * 1024,
  snapshotEvery: 150,
  report: () => {},
  seam: (name) => hit(name),
  recorder: { in: 'thread', seams: new URL('./kill-seams.mjs', import.meta.url).href },
})

const BODY = new TextEncoder().encode('{"ok":true}')
const complete = () => ({
  kind: 'complete',
  outcome: 'succeeded',
  response: ObservedResponse.witness({
    framing: 'content_length',
    requestSent: true,
    status: 200,
    octets: {
      alg: 'sha-256',
      digest: sha256(BODY),
      length: BODY.length,
      status: 200,
      complete: true,
    },
    binding: 'octets',
    responseDigest: sha256('descriptor'),
  }),
})

async function call(index) {
  const amount = ['5.00', '20.00', '150.00', '600.00'][index % 4]
  const body = new TextEncoder().encode(
    JSON.stringify({ order: `o-${seed}-${index}`, currency: 'EUR', amount }),
  )
  const answer = await gate.govern(
    {
      kind: 'http',
      method: 'POST',
      upstream: 'default',
      target: '/v1/refunds',
      headers: [['content-type', 'application/json']],
      body: { kind: 'read', bytes: body },
      tool: null,
      caller: { bearer: 't', certificate: null, asserted: null, source: 'loop' },
      // Every fourth call comes with a key, half of those keys come twice.
      idempotencyKey: index % 4 === 1 ? `key-${seed}-${index >> 3}` : null,
      approvalId: null,
      waitSeconds: 0,
    },
    async ({ actionId, stillAllowed }) => {
      if (!stillAllowed()) {
        return {
          observation: { kind: 'not_sent', cause: 'withdrawn', deadline: false },
          held: null,
        }
      }
      writeSync(tool, `${actionId}\n`)
      hit('after_first_byte')
      await new Promise((resolve) => setImmediate(resolve))
      return {
        observation: complete(),
        held: { status: 200, headers: [['content-type', 'application/json']], body: BODY },
      }
    },
  )
  if (answer.kind !== 'unrecorded') writeSync(acks, `${answer.actionId} ${answer.kind}\n`)
}

for (let round = 0; round < 3; round++) {
  await Promise.all(
    Array.from({ length: Number(calls) }, (_, i) => call(round * Number(calls) + i)),
  )
}
await gate.close()
closeSync(tool)
closeSync(acks)
writeSync(1, 'finished\n')
