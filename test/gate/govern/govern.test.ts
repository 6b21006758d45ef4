import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import type { ConstraintRecord } from '../../../src/core/capsule/model.js'
import { canonicalOf, jsonDigest } from '../../../src/core/json/build.js'
import type { Plain } from '../../../src/core/json/value.js'
import { rederive } from '../../../src/core/manifest/constraint/evidence.js'
import { type Code, TABLE } from '../../../src/core/verdict/table.js'
import { decisionOfRow } from '../../../src/core/verdict/verdict.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import { recordPassThrough } from '../../../src/gate/operate/pass-through.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import type { Dispatch } from '../../../src/ports/dispatch.js'
import { expectConformance } from '../../support/conformance.js'
import { happen } from '../../support/happen.js'
import { privateIn } from '../../support/private-words.js'
import { type CapsuleLine, type Rig, rig, TOKEN } from '../../support/rig.js'
import { SCENARIOS, type Scenario, SECRET } from '../../support/verdict-scenarios.js'

async function expectRow(code: Code, line: CapsuleLine, { gate }: Rig): Promise<void> {
  const row = TABLE[code]
  const { capsule } = line
  expect(capsule.disposition).toMatchObject({
    verdict_class: row.verdict,
    decision: decisionOfRow(code),
    approver: 'policy',
    human_disposed: false,
  })
  const effect = capsule.effect as { status: string } | undefined
  expect(effect?.status ?? 'none').toBe(row.effect)
  const verified = verifyStatement(statementOf(line), {
    keys: gate.data.keys(),
    crypto: nodeCrypto,
  })
  expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
  expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
}

/** Every digest the capsule commits to has its evidence, and constraints come out the same again. */
async function expectEvidence({ capsule }: CapsuleLine, { gate }: Rig): Promise<void> {
  const { evidence } = gate.data
  const reason = (capsule.disposition as { reason_digest?: string }).reason_digest
  if (reason !== undefined) expect((await evidence.byDigest(reason)).state).toBe('present')
  for (const record of (capsule.constraints ?? []) as ConstraintRecord[]) {
    if (record.result === 'n/a') {
      expect(record.evidence_digest).toBeUndefined()
      continue
    }
    const found = await evidence.byDigest(record.evidence_digest ?? '')
    if (found.state !== 'present') throw new Error(`${record.id}: ${found.state}`)
    if (found.value.kind !== 'constraint') continue
    const manifest = gate.read.judges().manifests[0]?.manifest
    if (manifest === undefined) throw new Error('no manifest')
    const again = rederive(manifest, found.value.value as Plain, nodeCrypto)
    expect(again).toMatchObject({ ok: true })
    expect(again.ok && (again.result === 'pass') === (record.result === 'pass')).toBe(true)
  }
}

/** Rows that end before a rule is found. */
const UNMATCHED: readonly Code[] = [
  'tool_unknown',
  'target_malformed',
  'target_ambiguous',
  'request_malformed',
  'body_too_large',
  'bodies_exhausted',
  'body_aborted',
  'body_consumed',
  'unauthenticated',
]

/** Whose call, which tool, which request: as much as was known, and the ledger finds it by that (DESIGN §5). */
async function expectFound(code: Code, line: CapsuleLine, { gate }: Rig): Promise<void> {
  const { capsule, about, settles } = line
  const known = capsule.developer !== 'anonymous'
  const matched = !UNMATCHED.includes(code)
  expect(capsule['dev.capsulegate.manifest_digest'] !== undefined).toBe(matched)
  if (settles !== undefined || !known) expect(about).toBeUndefined()
  else {
    expect(about).toEqual({
      agent: expect.stringMatching(/^(support|other)-bot$/),
      ...(matched
        ? {
            tool: expect.any(String),
            request_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          }
        : {}),
    })
  }
  const found = async (filter: { agent?: string; tool?: string }): Promise<boolean> => {
    const page = { before: null, limit: 100 } as const
    const { entries } = await gate.read.capsules(filter, page)
    return entries.some((entry) => entry.line.capsule.capsule_id === capsule.capsule_id)
  }
  const dispatched = (await gate.read.action(capsule.action_id))?.dispatched
  const { agent, tool } = about ?? dispatched ?? {}
  if (known) expect(await found({ agent: String(agent) })).toBe(true)
  if (matched) expect(await found({ tool: String(tool) })).toBe(true)
  expect(await found({ agent: 'nobody' })).toBe(false)
  expect(await found({ tool: 'nothing' })).toBe(false)
}

describe('every row that needs neither a human nor an intent, through govern on real files', () => {
  it.each(Object.entries(SCENARIOS) as [Code, Scenario][])('%s', async (code, scenario) => {
    const ended = await happen(scenario)
    const { answer, capsules } = ended
    expect(answer).toMatchObject({ code })
    expect(capsules).toHaveLength(1)
    const [line] = capsules as [CapsuleLine]
    await expectRow(code, line, ended.rig)
    await expectEvidence(line, ended.rig)
    await expectConformance(ended.rig)
    await expectFound(code, line, ended.rig)
    if (answer.kind === 'refused' || answer.kind === 'pending') {
      expect(answer.kind).toBe(code === 'approval_pending' ? 'pending' : 'refused')
      expect(answer.status).toBe(TABLE[code].status)
      expect(answer.problem).toMatchObject({ code, capsule_id: line.capsule.capsule_id })
      const { evidence } = ended.rig.gate.data
      expect(await privateIn(JSON.stringify(answer.problem), line, evidence)).toEqual([])
    } else expect(answer).toMatchObject({ kind: 'executed', capsuleId: line.capsule.capsule_id })
    if (TABLE[code].effect === 'none') expect(ended.requests).toBe(0)

    const open = JSON.stringify(await ended.rig.lines()) + JSON.stringify(ended.rig.reports)
    expect(open).not.toContain(SECRET)
    expect(open).not.toContain(TOKEN)
    await ended.rig.close()
  })
})

describe('rows of other entrances', () => {
  let gate: Rig
  beforeAll(async () => {
    gate = await rig({
      manifest: 'id: com.acme.local\ntools:\n  compute: {args: {n: integer}}\n',
      policies:
        '@id("any") permit (principal == Agent::"worker", action == Action::"compute", resource);',
    })
  })
  afterAll(() => gate.close())
  const compute = (dispatch: Dispatch) =>
    gate.gate.govern(
      {
        kind: 'function',
        tool: 'compute',
        argumentsJson: utf8('{"n":1}'),
        caller: { bearer: null, certificate: null, asserted: 'worker', source: 'in-process' },
        idempotencyKey: null,
        approvalId: null,
        waitSeconds: 0,
      },
      dispatch,
    )

  it('claimed: a function that returns is executed, dispatched and never confirmed', async () => {
    const answer = await compute(async () => ({
      observation: { kind: 'claimed', ok: true },
      held: null,
    }))
    expect(answer).toMatchObject({ kind: 'executed', code: 'claimed' })
    await expectRow('claimed', (await gate.capsules()).at(-1) as CapsuleLine, gate)
  })

  it('runtime_failed: a function that reports failure is errored, its effect unknown', async () => {
    await compute(async () => ({ observation: { kind: 'claimed', ok: false }, held: null }))
    await expectRow('runtime_failed', (await gate.capsules()).at(-1) as CapsuleLine, gate)
  })

  it('outcome_unknown: a dispatch that throws may have sent something', async () => {
    await compute(() => Promise.reject(new Error('boom')))
    await expectRow('outcome_unknown', (await gate.capsules()).at(-1) as CapsuleLine, gate)
  })

  it('passed_through: an ungoverned route leaves an fyi capsule', async () => {
    const passed = { method: 'GET', target: `/open?x=${SECRET}`, status: 200, upstream: 'default' }
    await recordPassThrough(passed, gate.gate.parts)
    const line = (await gate.capsules()).at(-1) as CapsuleLine
    expect(line.capsule.action_type).toBe('fyi')
    expect(JSON.stringify(line)).not.toContain(SECRET)
    // Salted: a path that somebody guesses cannot be compared.
    const salt = gate.gate.parts.tenant.passThroughSalt(canonicalOf(passed))
    expect(line.capsule.effect?.request_digest).toBe(jsonDigest({ ...passed, salt }, nodeCrypto))
    await expectRow('passed_through', line, gate)
  })

  it('recovered: a dispatch nobody concluded is concluded before the next start opens', async () => {
    const dispatched = new Promise<void>((resolve) => {
      void compute(async () => {
        resolve()
        return new Promise(() => undefined)
      })
    })
    await dispatched
    gate = await gate.restart()
    const line = (await gate.capsules()).at(-1) as CapsuleLine
    expect(line.capsule['dev.capsulegate.recovered']).toBe(true)
    await expectRow('recovered', line, gate)
  })
})
