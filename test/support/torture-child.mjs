/**
 * A gate in a process of its own, under load until a named seam kills it. The "tool" is a file it
 * appends to: what stands there was sent, whatever the gate remembers. Run by crash-torture.long.test.ts.
 */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
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
  declared_refund:
    match: POST /v1/declared
    args: {order: string}
    intent: required
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

/** Every run has an issuer and sessions of its own; ids of declarations are kept for the runs after it. */
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'm', alg: 'EdDSA', use: 'sig' }
const [ISSUER, AUDIENCE] = ['https://mandates.example', 'urn:capsule-gate:torture']
const jwt = (claims) => {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'EdDSA', kid: 'm' })}.${part({ iss: ISSUER, aud: AUDIENCE, ...claims })}`
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
}
/** One object for all, so that an id that came in any run may not come again in a later one. */
const SO_ID = '5f0c1a52-7d0e-4a54-9a41-0f1d3c5b7a90'
const now = Math.floor(Date.now() / 1000)
const [sessionId, mandateId] = [randomUUID(), randomUUID()]
const mandate = jwt({
  sub: 'support-bot',
  jti: mandateId,
  iat: now,
  exp: now + 3600,
  session_id: sessionId,
  so_id: SO_ID,
  so_type: 'order',
  cedar_actions: ['declared_refund'],
  human_principal_id: 'alice',
})
let step = 0
const declaration = (idp_id) => ({
  kind: 'carried',
  mandate,
  intent: new TextEncoder().encode(
    JSON.stringify({
      idp_id,
      session_id: sessionId,
      so_id: SO_ID,
      mandate_id: mandateId,
      step_sequence: ++step,
      requested_action: 'declared_refund',
      declared_goal: { goal_id: randomUUID(), description: 'refund the order' },
      reasoning_basis: { type: 'INSTRUCTION', description: `asked for under mandate ${mandateId}` },
      confidence_level: 0.9,
      hem_urgency: 'NONE',
      timestamp: new Date().toISOString(),
    }),
  ),
})

const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const tool = openSync(join(dir, 'tool.log'), 'a')
const acks = openSync(join(dir, 'acks.log'), 'a')
const ids = openSync(join(dir, 'ids.log'), 'a')
/** Ids of earlier runs, each tried once more: what came of it is for the parent to judge by the journal. */
const earlier = readFileSync(join(dir, 'ids.log'), 'utf8')
  .split('\n')
  .filter((id) => id !== '')
const again = openSync(join(dir, 'again.log'), 'a')

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
    mandates: {
      issuers: [
        {
          issuer: ISSUER,
          audience: AUDIENCE,
          jwks: { kind: 'static', set: { keys: [jwk] } },
          agentClaim: 'sub',
          algorithms: ['EdDSA'],
          requireProof: false,
        },
      ],
      agents: new Map(),
    },
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
  // Every third call declares what it does; a few of those bring an id of an earlier run.
  const isDeclared = index % 3 === 2
  // The newest were on their way when the kill came, the oldest had long been committed.
  const take = () => (index % 2 === 0 ? earlier.pop() : earlier.shift())
  const old = isDeclared && index % 9 === 8 ? take() : undefined
  const idp = old ?? randomUUID()
  if (isDeclared && old === undefined) writeSync(ids, `${idp}\n`)
  const amount = ['5.00', '20.00', '150.00', '600.00'][index % 4]
  const body = new TextEncoder().encode(
    JSON.stringify(
      isDeclared
        ? { order: `o-${seed}-${index}` }
        : { order: `o-${seed}-${index}`, currency: 'EUR', amount },
    ),
  )
  const answer = await gate.govern(
    {
      kind: 'http',
      method: 'POST',
      upstream: 'default',
      target: isDeclared ? '/v1/declared' : '/v1/refunds',
      ...(isDeclared ? { declared: declaration(idp) } : {}),
      headers: [['content-type', 'application/json']],
      body: { kind: 'read', bytes: body },
      tool: null,
      caller: { bearer: 't', certificate: null, asserted: null, source: 'loop' },
      // Every fourth call comes with a key, half of those keys come twice; those of declarations are other requests.
      idempotencyKey: index % 4 === 1 && !isDeclared ? `key-${seed}-${index >> 3}` : null,
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
  if (old !== undefined) writeSync(again, `${old} ${answer.code ?? answer.kind}\n`)
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
closeSync(ids)
closeSync(again)
writeSync(1, 'finished\n')
