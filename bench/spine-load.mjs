/** A gate without HTTP on a temporary folder, and calls through `govern`; shared by the benches. */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeCrypto } from '../dist/adapters/crypto-node.js'
import { openGate } from '../dist/app/open-gate.js'
import { readYaml } from '../dist/config/yaml.js'
import { ObservedResponse } from '../dist/core/capsule/observation.js'
import { expand, manifestDigest } from '../dist/core/manifest/expand/expand.js'

const sha256 = (data) => createHash('sha256').update(data).digest('hex')

const FIVE = `
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD, GBP]}}
      order_form: {order: {matches: "o-[0-9]+"}}
      note_length: {note: {length: {max: 500}}}
      order_present: {order: {exists: true}}`
export const manifestText = (constraints) => `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal, note: string}
    connection: pooled
${
  constraints === 0
    ? ''
    : `    constraints:${FIVE.split('\n')
        .slice(0, constraints + 1)
        .join('\n')}`
}
`
/**
 * `count` policies: one permits the bot its refunds, the others are about other agents and limits. Asked:
 * one more reads the order, of which every call has its own, so that no decision comes from memory.
 */
export const policyText = (count, asked) =>
  [
    ...(asked
      ? [
          '@id("barred") forbid (principal, action == Action::"create_refund", resource) when { context.args.order == "barred" };',
        ]
      : []),
    '@id("bot") permit (principal == Agent::"support-bot", action == Action::"create_refund", resource);',
    ...Array.from({ length: count - 1 }, (_, i) =>
      i % 10 === 0
        ? `@id("cap-${i}") forbid (principal == Agent::"agent-${i}", action == Action::"create_refund", resource) when { context.args.amount.greaterThan(decimal("${i}.5")) };`
        : `@id("other-${i}") permit (principal == Agent::"agent-${i}", action == Action::"op_${i % 97}", resource);`,
    ),
  ].join('\n')
const OTHER_TOOLS = (count) =>
  Array.from(
    { length: count },
    (_, i) => `  op_${i}: {match: POST /ops/${i}, args: {x: string}}`,
  ).join('\n')

export async function benchGate({
  policies = 100,
  constraints = 5,
  asked = false,
  more = {},
} = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'gate-bench-'))
  const policyFolder = join(dir, 'policies')
  mkdirSync(policyFolder)
  writeFileSync(join(policyFolder, 'p.cedar'), policyText(policies, asked))
  const expanded = expand(readYaml(`${manifestText(constraints)}${OTHER_TOOLS(97)}\n`).tree)
  if (!expanded.ok) throw new Error(JSON.stringify(expanded.problems))
  const { manifest } = expanded
  const gate = await openGate({
    dir: join(dir, 'data'),
    headFile: join(dir, 'head'),
    operator: 'acme',
    mode: 'enforce',
    manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
    policyFolder,
    identity: {
      tokens: () =>
        new Map([[sha256('t'), { agent: 'support-bot', roles: [], developer: 'bot@1' }]]),
      issuers: [],
      certificates: new Map(),
      anonymous: false,
    },
    report: (event) =>
      event.level === 'error' && process.stderr.write(`${JSON.stringify(event)}\n`),
    ...more,
  })
  return {
    gate,
    async close() {
      await gate.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const BODY = new TextEncoder().encode('{"ok":true}')
const digest = sha256(BODY)
const encoder = new TextEncoder()
export const PAD = 'x'.repeat(400)

let orders = 0
export function oneCall(gate, index) {
  return gate.govern(
    {
      kind: 'http',
      method: 'POST',
      upstream: 'default',
      target: '/v1/refunds',
      headers: [['content-type', 'application/json']],
      body: {
        kind: 'read',
        bytes: encoder.encode(
          JSON.stringify({
            order: `o-${orders++}`,
            currency: 'EUR',
            amount: `${1 + (index % 400)}.${10 + (index % 89)}`,
            note: PAD,
          }),
        ),
      },
      tool: null,
      caller: { bearer: 't', certificate: null, asserted: null, source: 'loop' },
      idempotencyKey: null,
      approvalId: null,
      waitSeconds: 0,
    },
    async () => ({
      observation: {
        kind: 'complete',
        outcome: 'succeeded',
        response: ObservedResponse.witness({
          framing: 'content_length',
          requestSent: true,
          status: 200,
          octets: { alg: 'sha-256', digest, length: BODY.length, status: 200, complete: true },
          binding: 'octets',
          responseDigest: digest,
        }),
      },
      held: null,
    }),
  )
}

/** Calls per second and CPU µs per call at a concurrency. */
export async function load(gate, concurrency, calls) {
  let next = 0
  const cpu = process.cpuUsage()
  const started = performance.now()
  const latencies = []
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < calls) {
        const at = performance.now()
        const answer = await oneCall(gate, next++)
        if (answer.kind !== 'executed') throw new Error(JSON.stringify(answer))
        latencies.push(performance.now() - at)
      }
    }),
  )
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  latencies.sort((a, b) => a - b)
  return {
    perSecond: calls / seconds,
    cpuMicros: (user + system) / calls,
    p50: latencies[latencies.length >> 1],
  }
}
