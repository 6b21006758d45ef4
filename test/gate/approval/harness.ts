import { afterEach, expect } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { decisionOf } from '../../../src/core/capsule/disposition.js'
import { type Code, TABLE } from '../../../src/core/verdict/table.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import { decide, type FakeTime, fakeTime, person, tool } from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type CapsuleLine, type Rig, type RigOptions, refund, rig } from '../../support/rig.js'

/** Approvals on a real gate: `start` opens it, `restart` opens it again on the same folder. */
export let time: FakeTime
export let at: Rig
export async function start(more: Partial<RigOptions> = {}): Promise<void> {
  time = fakeTime()
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer, ...more })
}
export async function restart(more: Partial<RigOptions> = {}): Promise<void> {
  at = await at.restart(more)
}
/** After `at.gate.close()`, with the same clock. */
export async function openAgain(): Promise<void> {
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer }, at.dir)
}
export const withHitl = (hitl: string): Partial<RigOptions> => ({
  manifest: `${PAYMENTS}    hitl: ${hitl}\n`,
})
afterEach(async () => {
  await expectConformance(at)
  await at.close()
})

export const LARGE = refund('150.00')
export async function ask(call = LARGE): Promise<Extract<Answer, { kind: 'pending' | 'joined' }>> {
  const answer = await at.gate.govern(call, tool().dispatch)
  if (answer.kind !== 'pending' && answer.kind !== 'joined') {
    throw new Error(`not pending: ${JSON.stringify(answer)}`)
  }
  return answer
}
export const say = (id: string, outcome: Outcome = APPROVE, who = person('alice')) =>
  decide(at.gate, id, who, outcome)
export const run = (call = LARGE, how = tool()): Promise<Answer> =>
  at.gate.govern(call, how.dispatch)
export const newest = async (): Promise<CapsuleLine> => (await at.capsules()).at(-1) as CapsuleLine
export const verdicts = async (): Promise<unknown[]> =>
  (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)
export const types = async (): Promise<string[]> => (await at.lines()).map(({ type }) => type)
export const pass = async (seconds: number): Promise<void> => {
  time.advance(seconds)
  await at.gate.expireDue()
}
export const APPROVE: Outcome = { kind: 'approve' }
export const DENY: Outcome = { kind: 'deny', reason: 'not this customer' }
export const LATER: Outcome = { kind: 'defer', ttlSeconds: 600, onExpiry: 'expired' }

/** The newest capsule is that row, signed and strictly Class 1, and supersedes what was open. */
export async function expectRow(code: Code, parent: string | null, human = false): Promise<void> {
  const line = await newest()
  const { capsule } = line
  const row = TABLE[code]
  expect(capsule.disposition).toMatchObject({
    verdict_class: row.verdict,
    decision: decisionOf(row.verdict, row.effect !== 'none'),
    approver: human ? 'human' : 'policy',
    human_disposed: human,
  })
  expect(capsule.effect).toBeUndefined()
  // Whose call it was, so that the ledger's filters find what became of it (DESIGN §5).
  expect(line.about).toMatchObject({
    agent: 'support-bot',
    tool: 'create_refund',
    request_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const listed = await at.gate.read.capsules({ tool: 'create_refund' }, { before: null, limit: 1 })
  expect(listed.entries[0]?.line.capsule.capsule_id).toBe(capsule.capsule_id)
  if (parent !== null) expect(capsule.chain).toMatchObject({ parent_capsule_id: parent })
  const verified = verifyStatement(statementOf(line), {
    keys: at.gate.data.keys(),
    crypto: nodeCrypto,
  })
  expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
  expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
  const reason = String(capsule.disposition.reason_digest)
  expect((await at.gate.data.evidence.byDigest(reason)).state).toBe('present')
}
