/**
 * Verifying a capsule statement against checking its signature alone, native engine (DESIGN §10:
 * floor 1.6×, aim 1.3×). Both sides run in turn within one process, so that a slow moment hits both.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { nodeCrypto } from '../dist/adapters/crypto-node.js'
import { buildCapsule } from '../dist/capsule.js'
import { hex } from '../dist/core/bytes/hex.js'
import { HumanDecision } from '../dist/core/capsule/human.js'
import { ObservedResponse } from '../dist/core/capsule/observation.js'
import { thumbprint } from '../dist/core/statement/keys.js'
import { signStatement, toSign } from '../dist/core/statement/sign.js'
import { decodeSign1, sigStructure, toCose } from '../dist/core/statement/sign1.js'
import { verifyStatement } from '../dist/verify.js'
import { floor, median, SHORT } from './stats.mjs'

const REPETITIONS = SHORT ? 1 : Number(process.env.REPETITIONS ?? 9)
const CALLS = SHORT ? 20 : Number(process.env.CALLS ?? 1500)

const digest = (text) => hex(nodeCrypto.sha256(new TextEncoder().encode(text)))
const pair = generateKeyPairSync('ed25519')
const publicKey = Uint8Array.from(
  pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
)
const kid = thumbprint('ed25519', publicKey, nodeCrypto)
const key = {
  kid: hex(kid),
  alg: -8,
  public_key: hex(publicKey),
  purpose: 'statement',
  status: 'active',
  issuers: ['support-bot@1.4.0'],
}

/** As the gate writes them: five constraints, Cedar's record, octets of both messages, a person's approval. */
function capsule(n) {
  const octets = (name, more) => ({
    alg: 'sha-256',
    digest: digest(`${name}${n}`),
    length: 512,
    content_type: 'application/json',
    ...more,
  })
  const request_digest = digest(`request${n}`)
  return buildCapsule(
    {
      identity: {
        action_id: `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`,
        action_type: 'decide',
        operator: 'acme',
        developer: 'support-bot@1.4.0',
        timestamp: '2026-06-13T00:00:00.000Z',
      },
      verdict: {
        kind: 'ran',
        verdict_class: 'executed',
        by: {
          kind: 'human',
          decision: HumanDecision.authenticated({
            decisionId: `decision-${n}`,
            requestDigest: request_digest,
            documentDigest: digest('document'),
            approver: 'dana',
            assurance: 'L2',
            outcome: 'approve',
            at: '2026-06-13T00:00:00.000Z',
          }),
        },
        effect: {
          type: 'com.acme.payments.create_refund',
          irreversibility_class: 'one_way_consequential',
          request_digest,
          request_octets: octets('request'),
        },
        observation: {
          kind: 'complete',
          outcome: 'succeeded',
          response: ObservedResponse.witness({
            framing: 'content_length',
            requestSent: true,
            status: 201,
            octets: octets('response', { status: 201, complete: true }),
            binding: 'json',
            responseDigest: digest(`response${n}`),
            externalRef: `re_${n}`,
          }),
        },
      },
      constraints: [1, 2, 3, 4, 5, 6].map((i) => ({
        id: `com.acme.payments.constraint_${i}`,
        result: 'pass',
        severity: 'high',
        blocking: false,
        check_type: 'com.acme.payments.threshold',
        method: 'dev.capsulegate.decimal_compare',
        evidence_digest: digest(`evidence${n}${i}`),
      })),
      extensions: {
        'dev.capsulegate.manifest_digest': digest('manifest'),
        'dev.capsulegate.policy_digest': digest('policy'),
        'dev.capsulegate.mode': 'enforce',
      },
      chain: { supersedes: digest(`parent${n}`) },
    },
    nodeCrypto,
  )
}

const statements = Array.from({ length: 200 }, (_, n) => {
  const order = toSign(capsule(n), 'agent_action')
  const { protectedBytes, signature } = signStatement(order, {
    kid,
    sign: (message) => sign(null, message, pair.privateKey),
  })
  return toCose(new TextEncoder().encode(order.payload), protectedBytes, signature)
})
const signed = statements.map((cose) => {
  const { sign1 } = decodeSign1(cose)
  return [sigStructure(sign1.protectedBytes, sign1.payload), sign1.signature]
})

/** The control: the engine's signature check on a message that lies ready. */
async function signatureAlone(i) {
  const [message, signature] = signed[i]
  if (!nodeCrypto.verifyEd25519(publicKey, message, signature)) throw new Error('signature')
}
const options = { keys: [key], crypto: nodeCrypto }
async function whole(i) {
  const result = await verifyStatement(statements[i], options)
  if (!result.ok) throw new Error(JSON.stringify(result))
}

/** Processor time: the machine may be shared, and waiting for a core is nobody's cost. */
async function time(work) {
  const began = process.cpuUsage()
  for (let i = 0; i < CALLS; i++) await work(i % statements.length)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / CALLS
}

await time(signatureAlone)
await time(whole)
const rows = []
for (let i = 0; i < REPETITIONS; i++) {
  const alone = await time(signatureAlone)
  const all = await time(whole)
  rows.push({ alone, all, ratio: all / alone })
}
const ratios = rows.map(({ ratio }) => ratio)
const us = (name) => `${median(rows.map((row) => row[name])).toFixed(1)} µs`
console.log(
  `verify: statement of ${statements[0].length} bytes, ${REPETITIONS} × ${CALLS} calls, processor time`,
)
console.log(`  signature alone   ${us('alone')}`)
console.log(`  whole statement   ${us('all')}`)
console.log(
  `  ratio             ${median(ratios).toFixed(2)}× (spread ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
)
const best = (name) => Math.min(...rows.map((row) => row[name]))
console.log(
  `  best of each      ${best('alone').toFixed(1)} µs and ${best('all').toFixed(1)} µs, ${(best('all') / best('alone')).toFixed(2)}×`,
)
floor('verify a capsule vs its signature check alone, native', median(ratios), { atMost: 1.6 })
