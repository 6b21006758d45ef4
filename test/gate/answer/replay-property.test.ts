import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { RunningGate } from '../../../src/app/open-gate.js'
import type { ConstraintRecord } from '../../../src/core/capsule/model.js'
import { ObservedResponse } from '../../../src/core/capsule/observation.js'
import type { Plain } from '../../../src/core/json/value.js'
import { rederive } from '../../../src/core/manifest/constraint/evidence.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import type { Manifest } from '../../../src/core/manifest/model.js'
import type { Dispatch } from '../../../src/ports/dispatch.js'
import type { Evidence } from '../../../src/ports/evidence.js'
import { draws } from '../../support/draws.js'
import { known } from '../../support/lines.js'
import { manifestOf } from '../../support/manifests.js'
import {
  type CapsuleLine,
  OTHER_TOKEN,
  POLICIES,
  type Rig,
  refund,
  rig,
  TOKEN,
} from '../../support/rig.js'

/**
 * From any interleaving of calls, reloads, halts and restarts: the fold of the journal is the state the
 * running gate had, and journal, evidence and public documents alone give every verdict again.
 */
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      per_order: {count: {max: 3, window: 1h, per: [order]}}
      volume: {sum: {of: amount, max: "900.00", window: 1h}}
`
const TIGHTER = `${POLICIES}
@id("small-only") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("60.0")) };
`

type Op =
  | {
      kind: 'calls'
      amounts: string[]
      order: string
      other: boolean
      key: string | null
      ends: Ends
    }
  | { kind: 'reload'; tighter: boolean; mode: 'enforce' | 'observe' }
  | { kind: 'halt' | 'resume'; agent: string }
  | { kind: 'restart' }
type Ends = 'complete' | 'cut' | 'unsent'

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      amounts: fc.array(fc.constantFrom('5', '70.50', '150', '499.99', '500.01', '1e2'), {
        minLength: 1,
        maxLength: 6,
      }),
      order: fc.constantFrom('a', 'b', 'c'),
      other: fc.boolean(),
      key: fc.option(fc.constantFrom('k1', 'k2'), { nil: null }),
      ends: fc.constantFrom<Ends>('complete', 'cut', 'unsent'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reload' as const),
      tighter: fc.boolean(),
      mode: fc.constantFrom('enforce' as const, 'observe' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('halt' as const, 'resume' as const),
      agent: fc.constantFrom('support-bot', 'other-bot'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)

const BODY = Buffer.from('{"ok":true}')
function dispatching(ends: Ends): Dispatch {
  return async ({ stillAllowed }) => {
    if (ends === 'unsent' || !stillAllowed()) {
      return { observation: { kind: 'not_sent', cause: 'refused', deadline: false }, held: null }
    }
    if (ends === 'cut')
      return { observation: { kind: 'sent', cause: 'reset', deadline: false }, held: null }
    const response = ObservedResponse.witness({
      framing: 'content_length',
      requestSent: true,
      status: 200,
      octets: {
        alg: 'sha-256',
        digest: 'a'.repeat(64),
        length: BODY.length,
        status: 200,
        complete: true,
      },
      binding: 'octets',
      responseDigest: 'b'.repeat(64),
    })
    return {
      observation: { kind: 'complete', outcome: 'succeeded', response },
      held: { status: 200, headers: [], body: BODY },
    }
  }
}

async function perform(step: Op, at: { rig: Rig }): Promise<void> {
  const { gate } = at.rig
  switch (step.kind) {
    case 'calls':
      await Promise.all(
        step.amounts.map((amount) =>
          gate.govern(
            refund(
              amount,
              {
                idempotencyKey: step.key,
                caller: {
                  bearer: step.other ? OTHER_TOKEN : TOKEN,
                  certificate: null,
                  asserted: null,
                  source: 'x',
                },
              },
              step.order,
            ),
            dispatching(step.ends),
          ),
        ),
      )
      return
    case 'reload': {
      const folder = join(at.rig.dir, step.tighter ? 'tighter' : 'policies')
      mkdirSync(folder, { recursive: true })
      if (step.tighter) writeFileSync(join(folder, 'p.cedar'), TIGHTER)
      const manifest = manifestOf(MANIFEST)
      const manifests = [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }]
      expect(
        await gate.reload({ operator: 'acme', mode: step.mode, manifests, policyFolder: folder }),
      ).toEqual([])
      return
    }
    case 'halt':
    case 'resume':
      await gate[step.kind]({ kind: 'agent', name: step.agent }, 'test')
      return
    case 'restart': {
      const before = gate.data.state.dump()
      await gate.close()
      const again = await rig({ manifest: MANIFEST, approvals: false }, at.rig.dir)
      // The start itself wrote lines: compare what the fold had before them.
      expect(withoutStart(again.gate.data.state.dump())).toEqual(withoutStart(before))
      at.rig = again
    }
  }
}

/** The clock of the fold and the recorded judges move at a start; nothing else may. */
function withoutStart(dump: Plain): Plain {
  const { at: _at, config: _config, ...rest } = dump as { [name: string]: Plain }
  return rest
}

/** The whole journal from its first line, against the running state. */
async function expectSameFold({ gate }: Rig): Promise<void> {
  const { createEmbeddedState } = await import('../../../src/adapters/state/embedded/state.js')
  const fresh = createEmbeddedState({ tenant: gate.data.tenant })
  for await (const line of gate.data.journal.lines()) fresh.apply(known(line))
  expect(withoutStart(fresh.dump())).toEqual(withoutStart(gate.data.state.dump()))
}

async function expectRederived({ capsule }: CapsuleLine, gate: RunningGate): Promise<void> {
  const { evidence } = gate.data
  const records = (capsule.constraints ?? []) as ConstraintRecord[]
  let verdict: string | null = null
  for (const record of records) {
    if (record.result === 'n/a') continue
    const found = await evidence.byDigest(record.evidence_digest ?? '')
    if (found.state !== 'present') throw new Error(`${record.id}: ${found.state}`)
    const value = found.value.value as { [name: string]: Plain }
    if (found.value.kind === 'cedar') {
      const decided = await decideAgain(value, evidence)
      expect(value.decision === 'permit').toBe(decided === 'allow')
      expect(record.result).toBe(value.decision === 'permit' ? 'pass' : 'fail')
      if (record.blocking) verdict ??= value.decision === 'ask' ? 'needs_decision' : 'denied'
      continue
    }
    const manifest = await publicManifest(String(value.manifest_digest), evidence)
    const again = rederive(manifest, value, nodeCrypto)
    expect(again.ok && (again.result === 'pass') === (record.result === 'pass')).toBe(true)
    if (record.blocking) verdict ??= 'blocked'
  }
  const recorded = String(capsule.disposition.verdict_class)
  if (verdict !== null) expect(recorded).toBe(verdict)
  // Nothing blocked it: then it was refused for another recorded reason, or it ran.
  else expect(['executed', 'errored', 'denied', 'engine_failure']).toContain(recorded)
}

/** Another road to Cedar: text and schema from the public store, no slicing, no preparsing. */
async function decideAgain(value: { [name: string]: Plain }, evidence: Evidence): Promise<string> {
  const bytes = await evidence.getPublic(String(value.policy_digest))
  const document = JSON.parse(Buffer.from(bytes ?? []).toString('utf8'))
  const request = value.request as unknown as Omit<cedar.AuthorizationCall, 'policies'>
  const answer = cedar.isAuthorized({
    ...request,
    policies: { staticPolicies: document.policies },
    schema: document.schema.startsWith('{') ? JSON.parse(document.schema) : document.schema,
    validateRequest: true,
  })
  if (answer.type !== 'success') throw new Error(JSON.stringify(answer))
  expect(answer.response.diagnostics.errors).toEqual([])
  return answer.response.decision
}

async function publicManifest(digest: string, evidence: Evidence): Promise<Manifest> {
  const bytes = await evidence.getPublic(digest)
  return JSON.parse(Buffer.from(bytes ?? []).toString('utf8')) as Manifest
}

it('the fold is the state, and every verdict comes out again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 4, maxLength: 14 }), async (ops) => {
      const at = { rig: await rig({ manifest: MANIFEST, approvals: false }) }
      try {
        for (const step of ops) await perform(step, at)
        await expectSameFold(at.rig)
        for (const line of await at.rig.capsules()) await expectRederived(line, at.rig.gate)
      } finally {
        await at.rig.close()
      }
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? draws(12, 5)) },
  )
}, 300_000)
