import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { decisionOf } from '../../../src/core/capsule/disposition.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { capsuleEntry } from '../../../src/core/journal/entry.js'
import { toSeal } from '../../../src/core/statement/seal.js'
import { type Code, TABLE } from '../../../src/core/verdict/table.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { grantEntry } from '../../../src/gate/approval/decide/record.js'
import { saltedPart } from '../../../src/gate/evidence/parts.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import { signed } from '../../../src/gate/signed-event.js'
import { verifyLedger } from '../../../src/verify.js'
import {
  type answered,
  approvalOf,
  decide,
  type FakeTime,
  fakeTime,
  machine,
  person,
  tool,
  unreachable,
} from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import { forgedEntry } from '../../support/lines.js'
import { PAYMENTS } from '../../support/manifests.js'
import { openItems } from '../../support/open-items.js'
import {
  type CapsuleLine,
  OTHER_TOKEN,
  POLICIES,
  type Rig,
  type RigOptions,
  refund,
  rig,
} from '../../support/rig.js'

let time: FakeTime
let at: Rig
async function start(more: Partial<RigOptions> = {}): Promise<void> {
  time = fakeTime()
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer, ...more })
}
const withHitl = (hitl: string): Partial<RigOptions> => ({
  manifest: `${PAYMENTS}    hitl: ${hitl}\n`,
})
afterEach(async () => {
  await expectConformance(at)
  await at.close()
})

const LARGE = refund('150.00')
async function ask(call = LARGE): Promise<Extract<Answer, { kind: 'pending' | 'joined' }>> {
  const answer = await at.gate.govern(call, tool().dispatch)
  if (answer.kind !== 'pending' && answer.kind !== 'joined') {
    throw new Error(`not pending: ${JSON.stringify(answer)}`)
  }
  return answer
}
const say = (id: string, outcome: Outcome = APPROVE, who = person('alice')) =>
  decide(at.gate, id, who, outcome)
const run = (call = LARGE, how = tool()): Promise<Answer> => at.gate.govern(call, how.dispatch)
const newest = async (): Promise<CapsuleLine> => (await at.capsules()).at(-1) as CapsuleLine
const verdicts = async (): Promise<unknown[]> =>
  (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)
const types = async (): Promise<string[]> => (await at.lines()).map(({ type }) => type)
const pass = async (seconds: number): Promise<void> => {
  time.advance(seconds)
  await at.gate.expireDue()
}
const APPROVE: Outcome = { kind: 'approve' }
const DENY: Outcome = { kind: 'deny', reason: 'not this customer' }
const LATER: Outcome = { kind: 'defer', ttlSeconds: 600, onExpiry: 'expired' }

/** The newest capsule is that row, signed and strictly Class 1, and supersedes what was open. */
async function expectRow(code: Code, parent: string | null, human = false): Promise<void> {
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

describe('rows of deciders and deadlines', () => {
  it('approval_refused: a refusal with its reason closes the item, on a human word', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    expect(await say(actionId, { kind: 'deny', reason: '  ' })).toMatchObject({
      why: 'reason_required',
    })
    const told = await say(actionId, DENY)
    expect(told).toMatchObject({ kind: 'recorded', state: 'refused' })
    await expectRow('approval_refused', capsuleId, true)
    expect(await say(actionId, DENY)).toMatchObject({ ...told, repeated: true })
    expect(JSON.stringify(await at.lines())).not.toContain('not this customer')
  })

  it('approval_withdrawn: the agent takes its own request back; nobody else can', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    expect(await at.gate.withdraw(actionId, 'other-bot')).toEqual({
      kind: 'refused',
      why: 'unknown',
    })
    expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ kind: 'withdrawn' })
    await expectRow('approval_withdrawn', capsuleId)
    expect(await at.gate.withdraw(actionId, 'support-bot')).toMatchObject({ why: 'over' })
    expect(await say(actionId)).toMatchObject({ why: 'already_decided', first: 'resolved' })
  })

  it('approval_deferred, approval_expired: a deferral has its own time, from its own capsule', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await pass(3000)
    const told = await say(actionId, LATER)
    expect(told).toMatchObject({ state: 'deferred' })
    await expectRow('approval_deferred', capsuleId, true)
    const { capsule } = await newest()
    expect(capsule.disposition.expiry_policy).toEqual({ ttl_seconds: 600, on_expiry: 'expired' })
    expect(await say(actionId, LATER)).toMatchObject({ repeated: true, state: 'deferred' })
    await pass(599)
    expect((await newest()).capsule.capsule_id).toBe(capsule.capsule_id)
    await pass(1)
    await expectRow('approval_expired', capsule.capsule_id)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'deferred', 'expired'])
  })

  it('a deferred item can still be approved, by whoever postponed it too, and runs', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId, LATER)
    const deferral = (await newest()).capsule.capsule_id
    expect(await run()).toMatchObject({ code: 'approval_pending', actionId })
    expect(await say(actionId)).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
    expect((await newest()).capsule.chain).toMatchObject({ parent_capsule_id: deferral })
  })

  it('approval_escalated, approval_timed_out: the ladder is climbed rung by rung, then it ends', async () => {
    await start(
      withHitl(
        '{ttl_seconds: 100, ladder: [{roles: [lead], after_seconds: 10}, {roles: [boss], after_seconds: 20}]}',
      ),
    )
    const { actionId, capsuleId } = await ask()
    await pass(10)
    await expectRow('approval_escalated', capsuleId)
    const first = (await newest()).capsule
    expect(first['dev.capsulegate.deadline']).toEqual({ ttl_seconds: 20, on_expiry: 'escalated' })
    expect(await say(actionId)).toMatchObject({ why: 'role' })
    await pass(20)
    const second = (await newest()).capsule
    expect(second['dev.capsulegate.deadline']).toEqual({ ttl_seconds: 100, on_expiry: 'timeout' })
    expect(await say(actionId, APPROVE, person('lea', { roles: ['lead'] }))).toMatchObject({
      why: 'role',
    })
    await pass(100)
    await expectRow('approval_timed_out', second.capsule_id)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'escalated', 'escalated', 'timeout'])
  })

  it('a deferral may pass on to the next rung when its time is over, if there is one', async () => {
    await start(withHitl('{ladder: [{roles: [lead], after_seconds: 900}]}'))
    const { actionId } = await ask()
    const later: Outcome = { kind: 'defer', ttlSeconds: 60, onExpiry: 'escalated' }
    await say(actionId, later)
    await pass(60)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'deferred', 'escalated'])
    const lead = person('lea', { roles: ['lead'] })
    expect(await say(actionId, later, lead)).toMatchObject({ why: 'ladder' })
    expect(await say(actionId, APPROVE, lead)).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
  })

  it('approval_mismatch: names the first difference and closes nothing', async () => {
    await start()
    const { actionId } = await ask()
    const other = await run(refund('150.00', { approvalId: actionId }, 'o-2'))
    expect(other).toMatchObject({ code: 'approval_mismatch', status: 409 })
    expect(other.kind === 'refused' && other.problem.differs_at).toBe('/arguments/order/value')
    await expectRow('approval_mismatch', null)
    expect(await openItems(at.gate.data.state)).toHaveLength(1)
  })
})

describe('joining', () => {
  it('asks once for any number of identical calls at the same time', async () => {
    await start()
    const told = await Promise.all(Array.from({ length: 40 }, () => ask()))
    expect(new Set(told.map(({ actionId }) => actionId)).size).toBe(1)
    expect(new Set(told.map(({ capsuleId }) => capsuleId)).size).toBe(1)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    expect((await types()).filter((type) => type === 'APPROVAL_JOINED')).toHaveLength(39)
  })

  it('keeps other agents and other requests apart', async () => {
    await start()
    const ids = await Promise.all([ask(), ask(refund('151')), ask(refund('150.00', {}, 'o-9'))])
    expect(new Set(ids.map(({ actionId }) => actionId)).size).toBe(3)
  })
})

describe('who may decide', () => {
  it.each([
    ['waiting', null],
    ['approved', 'approve'],
    ['refused', 'deny'],
  ])(
    'tells another agent nothing of an approval that is %s, whatever the arguments',
    async (_, said) => {
      await start()
      const { actionId } = await ask()
      if (said !== null) await say(actionId, said === 'approve' ? APPROVE : DENY)
      const caller = { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }
      /** What the agent is told, without what differs from call to call. */
      const told = async (amount: string, approvalId: string) => {
        const answer = await run(refund(amount, { caller, approvalId }))
        if (answer.kind !== 'refused') throw new Error(answer.kind)
        const { action_id, capsule_id, instance, approval_id, ...problem } = answer.problem
        expect(approval_id).toBe(approvalId)
        return { status: answer.status, code: answer.code, problem }
      }
      const unknown = await told('150.00', '019ca945-0a00-7000-8000-000000000000')
      expect(unknown).toMatchObject({ status: 409, code: 'approval_closed' })
      for (const amount of ['150.00', '151.00', '5.00']) {
        expect(await told(amount, actionId)).toEqual(unknown)
      }
    },
  )

  it('is for the operator that was asked: under another one it is unknown by its id, and asked anew', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    const waiting = await ask(refund('160.00'))
    await say(actionId)
    at = await at.restart({ operator: 'globex' })
    const how = tool()
    expect(await run(refund('150.00', { approvalId: actionId }), how)).toMatchObject({
      code: 'approval_closed',
      problem: { approval_state: 'unknown' },
    })
    expect(await say(waiting.actionId)).toMatchObject({ kind: 'refused', why: 'stale' })
    const again = await run(LARGE, how)
    expect(again).toMatchObject({ code: 'approval_pending' })
    expect(again).not.toMatchObject({ approvalId: actionId })
    expect(how.sent).toEqual([])
    expect((await newest()).capsule).toMatchObject({
      operator: 'globex',
      chain: { parent_capsule_id: capsuleId },
    })
    const journal = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
    const keys = at.gate.data.keys()
    const { results, journal: whole } = verifyLedger(journal, { keys, crypto: nodeCrypto })
    expect(results.filter(({ ok }) => !ok)).toEqual([])
    expect(whole).toMatchObject({ status: 'valid', complete: { ok: true } })
  })

  it('demands the assurance the manifest demands', async () => {
    await start(withHitl('{min_assurance: L3}'))
    const { actionId } = await ask()
    expect(await say(actionId, APPROVE, person('al', { assurance: 'L2' }))).toMatchObject({
      why: 'assurance',
    })
    expect(await decide(at.gate, actionId, machine('robot'), APPROVE)).toMatchObject({
      why: 'people_only',
    })
    expect(await say(actionId, APPROVE, person('al', { assurance: 'L3' }))).toMatchObject({
      state: 'approved',
    })
  })

  it("records a machine's word as policy with its authority, both ways, and lets it not postpone", async () => {
    await start()
    const robot = machine('fraud-engine')
    const { actionId } = await ask()
    expect(await decide(at.gate, actionId, robot, LATER)).toMatchObject({ why: 'people_only' })
    expect(await decide(at.gate, actionId, robot, APPROVE)).toMatchObject({ state: 'approved' })
    await run()
    expect((await newest()).capsule.disposition).toMatchObject({
      verdict_class: 'executed',
      approver: 'policy',
      human_disposed: false,
      authority: at.gate.parts.tenant.voter('fraud-engine'),
    })
    const next = await ask(refund('160'))
    await decide(at.gate, next.actionId, robot, DENY)
    await expectRow('approval_refused', next.capsuleId)
    expect((await newest()).capsule.disposition.authority).toBe(
      at.gate.parts.tenant.voter('fraud-engine'),
    )
  })

  it('tells a decider whose screen is old what came first, and records it', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await say(actionId, LATER, person('bob'))
    const { documentDigest } = await approvalOf(at.gate, actionId)
    const stale = { approvalId: actionId, documentDigest, on: capsuleId }
    const told = await at.gate.resolve({ ...stale, decider: person('alice'), outcome: DENY })
    expect(told).toMatchObject({ why: 'already_decided', first: 'deferred' })
    expect((await types()).filter((type) => type === 'DECISION_LOST')).toHaveLength(1)
  })

  it('refuses to approve under rules that are gone, since the grant would be void', async () => {
    await start()
    const { actionId } = await ask()
    const more = '\n@id("x") permit (principal == Agent::"x", action, resource);'
    at = await at.restart({ policies: `${POLICIES}${more}` })
    expect(await say(actionId)).toMatchObject({ why: 'stale' })
    expect(await say(actionId, DENY)).toMatchObject({ state: 'refused' })
  })
})

describe('a grant given under rules that have changed since', () => {
  it.each([
    [
      'policies',
      { policies: `${POLICIES}\n@id("x") permit (principal == Agent::"x", action, resource);` },
    ],
    ['the manifest', { manifest: `${PAYMENTS}    deadlines: {total_ms: 2000}\n` }],
  ])('%s: is void, and the call is asked about again', async (_, changed) => {
    await start()
    const { actionId } = await ask()
    expect(await say(actionId)).toMatchObject({ state: 'approved' })
    at = await at.restart(changed)
    const how = tool()
    const again = await run(LARGE, how)
    expect(again).toMatchObject({ kind: 'pending', code: 'approval_pending' })
    expect(again).not.toMatchObject({ approvalId: actionId })
    expect(how.sent).toEqual([])
  })
})

describe('approval within bounds', () => {
  it('checks the bounds on what was shown, and again before it is sent', async () => {
    await start()
    const { actionId } = await ask()
    const within = (bounds: object): Outcome => ({ kind: 'approve', bounds: bounds as never })
    expect(await say(actionId, within({ low: { amount: { lte: '149' } } }))).toMatchObject({
      why: 'bounds',
      detail: 'the request does not keep low',
    })
    for (const wrong of [
      { low: { amuont: { lte: '1' } } },
      { low: { amount: { lte: 1.5 } } },
      { often: { count: { max: 1, window: '1h' } } },
    ]) {
      expect(await say(actionId, within(wrong))).toMatchObject({ why: 'bounds' })
    }
    expect(await types()).not.toContain('APPROVAL_VOTED')
    const noon = { time: { from: '11:00', until: '12:30' } }
    expect(await say(actionId, within({ noon, low: { amount: { lte: '150' } } }))).toMatchObject({
      state: 'approved',
    })
    time.advance(40 * 60)
    const how = tool()
    expect(await run(LARGE, how)).toMatchObject({ code: 'policy_denied' })
    expect(how.sent).toEqual([])
    expect(await openItems(at.gate.data.state)).toEqual([])
  })
})

describe('standing grants', () => {
  const order = (over: object = {}) => ({
    agent: 'support-bot',
    tool: 'create_refund',
    bounds: { low: { amount: { lte: '200.00' } } },
    expiresAt: new Date(time.clock.now() + 60_000).toISOString(),
    uses: 3,
    by: 'olga',
    ...over,
  })

  it('is refused without bounds, end, uses, a tool, or by the agent itself', async () => {
    await start()
    for (const wrong of [
      { bounds: {} },
      { bounds: { x: { nothing: { lte: '1' } } } },
      { expiresAt: new Date(time.clock.now()).toISOString() },
      { expiresAt: '9999-01-01T00:00:00Z' },
      { expiresAt: 'soon' },
      { uses: 0 },
      { uses: 1.5 },
      { tool: 'unheard_of' },
      { by: 'support-bot' },
      { by: '' },
    ]) {
      expect(await at.gate.issueStanding(order(wrong))).toMatchObject({ kind: 'refused' })
    }
    expect(await types()).not.toContain('GRANT_ISSUED')
  })

  it('ends with its time and with its revocation, and is the agent’s alone', async () => {
    await start()
    const issued = await at.gate.issueStanding(order())
    expect(await run()).toMatchObject({ code: 'executed' })
    if (issued.kind === 'issued') await at.gate.revokeStanding(issued.grant, 'olga')
    expect(await run(refund('150', {}, 'o-2'))).toMatchObject({ code: 'approval_pending' })
    await at.gate.issueStanding(order())
    time.advance(60)
    expect(await run(refund('150', {}, 'o-3'))).toMatchObject({ code: 'approval_pending' })
    await at.gate.issueStanding(order({ agent: 'other-bot' }))
    expect(await run(refund('150', {}, 'o-4'))).toMatchObject({ code: 'approval_pending' })
    expect(JSON.stringify(await at.lines())).not.toContain('olga')
  })

  it('stops a call that is not yet sent when it is revoked', async () => {
    let revoke: (() => Promise<void>) | null = null
    await start({
      seam: async (name) => {
        if (name === 'before_first_byte') await revoke?.()
      },
    })
    const issued = await at.gate.issueStanding(order())
    if (issued.kind !== 'issued') throw new Error('not issued')
    revoke = () => at.gate.revokeStanding(issued.grant, 'olga')
    const how = tool()
    expect(await run(LARGE, how)).toMatchObject({ code: 'judgement_stale' })
    expect(how.sent).toEqual([])
  })

  it('closes what was asked before it was given', async () => {
    await start()
    const { actionId, capsuleId } = await ask()
    await at.gate.issueStanding(order())
    expect(await run()).toMatchObject({ code: 'executed' })
    expect((await newest()).capsule).toMatchObject({
      chain: { parent_capsule_id: capsuleId },
      'dev.capsulegate.decision_id': actionId,
      disposition: { approver: 'policy', human_disposed: false },
    })
    expect(await say(actionId)).toMatchObject({ first: 'executed' })
  })

  it('is not spent by fifty calls more often than it may be', async () => {
    await start()
    await at.gate.issueStanding(order())
    const how = tool()
    await Promise.all(Array.from({ length: 50 }, (_, i) => run(refund('150', {}, `o-${i}`), how)))
    expect(how.sent).toHaveLength(3)
  })
})

describe('waiting', () => {
  const waiting = (call = LARGE) => ({ ...call, waitSeconds: 20 })
  /**
   * A named point instead of a sleep: the 202's own line, then the waiter's timer, beside those of the deadline
   * and of the newest head.
   */
  async function opened(): Promise<string> {
    for (;;) {
      const [open] = await at.gate.parts.state.approvals()
      if (open !== undefined && time.waiting() >= 3) return open.approvalId
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it('goes on as the retry when it is approved in time', async () => {
    await start()
    const how = tool()
    const answer = run(waiting(), how)
    await say(await opened())
    expect(await answer).toMatchObject({ kind: 'executed', code: 'executed' })
    expect(how.sent).toHaveLength(1)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'executed'])
  })

  it('names the refusal when it is refused in time, without a capsule of its own', async () => {
    await start()
    const answer = run(waiting())
    await say(await opened(), DENY)
    const { capsule } = await newest()
    expect(await answer).toMatchObject({ code: 'approval_refused', capsuleId: capsule.capsule_id })
    expect(await verdicts()).toEqual(['hitl_dispatched', 'resolved'])
  })

  it('gives the 202 after all when nobody decides, and no sooner', async () => {
    await start()
    const answer = run(waiting())
    const id = await opened()
    time.advance(20)
    expect(await answer).toMatchObject({ code: 'approval_pending', actionId: id })
  })

  it('lets one of many waiting callers run', async () => {
    await start()
    const how = tool()
    const answers = Array.from({ length: 10 }, () => run(waiting(), how))
    const id = await opened()
    while (time.waiting() < 12) await new Promise((resolve) => setImmediate(resolve))
    await say(id)
    const codes = (await Promise.all(answers)).map((answer) => 'code' in answer && answer.code)
    expect(codes.filter((code) => code === 'executed')).toHaveLength(1)
    expect(how.sent).toHaveLength(1)
  })
})

describe('time', () => {
  it('expires by the timer, from the records after a restart, and never because the clock jumped', async () => {
    await start()
    await ask()
    time.jump(7200)
    await at.gate.expireDue()
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    time.jump(-7200)
    const over = new Promise<void>((resolve) => {
      at.gate.data.subscribe(({ type }) => type === 'CAPSULE' && resolve())
    })
    time.advance(3600)
    await over
    expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
    const next = await ask(refund('160'))
    await at.gate.close()
    time.advance(3600)
    at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer }, at.dir)
    expect((await newest()).capsule.chain).toMatchObject({ parent_capsule_id: next.capsuleId })
  })

  it('does not state an end before its own deadline when the wall clock went back', async () => {
    await start()
    await ask()
    time.jump(-1800)
    await pass(3600)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    await pass(1800)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
  })

  it('leaves alone what is just being sent, and ends it when it came back unsent', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId)
    let end: (value: ReturnType<typeof answered>) => void = () => undefined
    const sending = new Promise<void>((begun) => {
      void run(
        LARGE,
        tool(() => {
          begun()
          return new Promise((resolve) => {
            end = resolve
          })
        }),
      )
    })
    await sending
    await pass(3600)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    end(unreachable())
    while ((await verdicts()).length < 2) await new Promise((resolve) => setImmediate(resolve))
    await pass(1)
    expect(await verdicts()).toEqual(['hitl_dispatched', 'engine_failure', 'timeout'])
  })

  it('reminds, once for each time that passed, and not after the decision', async () => {
    await start(withHitl('{reminders_seconds: [60, 120, 180]}'))
    const { actionId } = await ask()
    const reminders = async (): Promise<unknown[]> =>
      (await at.lines()).filter(({ type }) => type === 'APPROVAL_REMINDER').map(({ nth }) => nth)
    await pass(60)
    await pass(10)
    expect(await reminders()).toEqual([1])
    await pass(110)
    expect(await reminders()).toEqual([1, 3])
    await say(actionId)
    await pass(60)
    expect(await reminders()).toEqual([1, 3])
  })
})

describe('what a vote must be to count', () => {
  /** Evidence and members of a vote by somebody who never voted; `of` is the approval it speaks of. */
  async function madeUp(id: string, of = id, on?: string) {
    const { parts } = at.gate
    const { documentDigest, parent } = await approvalOf(at.gate, id)
    const said = await approvalOf(at.gate, of)
    const part = saltedPart(
      'vote',
      'approve',
      {
        vote: 'gate.vote/v1',
        approval_id: of,
        on: on ?? said.parent,
        document_digest: said.documentDigest,
        name: 'mallory',
        by: 'person',
        roles: ['approver'],
        assurance: 'L3',
        via: 'session',
        outcome: 'approve',
      },
      parts,
    )
    const when = parts.journal.timestamp()
    const record = { actionId: id, operator: 'acme', subject: null, at: when, parts: [part] }
    await parts.evidence.put(record)
    return {
      approval_id: id,
      on: parent,
      voter: parts.tenant.voter('mallory'),
      by: 'person',
      outcome: 'approve',
      document_digest: documentDigest,
      evidence_digest: part.digest,
    } as const
  }
  async function expectAskedAgain(actionId: string): Promise<void> {
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('approved')
    const how = tool()
    const answer = await run(LARGE, how)
    expect(answer).toMatchObject({ code: 'approval_pending' })
    expect(answer).not.toMatchObject({ actionId })
    expect(how.sent).toEqual([])
  }

  it('does not run on a vote that the gate never signed, however right its evidence', async () => {
    await start()
    const { actionId } = await ask()
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const kid = Buffer.from(at.gate.parts.signer.kid('event')).toString('hex')
    const sig = Buffer.alloc(64, 1).toString('base64url')
    const vote = forgedEntry('APPROVAL_VOTED', { ...(await madeUp(actionId)), kid, sig })
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('does not make a quorum of two out of one voter\u2019s two votes', async () => {
    await start(withHitl('{quorum: 2}'))
    const { actionId } = await ask()
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const votes = [await madeUp(actionId), await madeUp(actionId)].map((members) =>
      signed('APPROVAL_VOTED', members, at.gate.parts),
    )
    await at.gate.data.journal.append([...votes, grant])
    expect((await approvalOf(at.gate, actionId)).votes).toHaveLength(2)
    await expectAskedAgain(actionId)
  })

  it.each<[string, { on?: string; voter?: string }]>([
    ['was cast on an earlier step of the request', { on: 'e'.repeat(64) }],
    ['is somebody else\u2019s', { voter: 'alice' }],
  ])('does not run on a signed vote whose evidence %s', async (_, { on, voter }) => {
    await start()
    const { actionId } = await ask()
    const { parts } = at.gate
    const grant = grantEntry(await approvalOf(at.gate, actionId), parts)
    const members = await madeUp(actionId, actionId, on)
    const cast = voter === undefined ? {} : { voter: parts.tenant.voter(voter) }
    const vote = signed('APPROVAL_VOTED', { ...members, ...cast }, parts)
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('does not run on a signed vote whose evidence speaks of another request', async () => {
    await start()
    const { actionId } = await ask()
    const other = await ask(refund('151'))
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const vote = signed('APPROVAL_VOTED', await madeUp(actionId, other.actionId), at.gate.parts)
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('counts anew after a deferral: what was said before it does not count', async () => {
    await start(withHitl('{quorum: 2}'))
    const { actionId } = await ask()
    await say(actionId, APPROVE, person('alice'))
    await say(actionId, LATER, person('bob'))
    expect(await say(actionId, APPROVE, person('bob'))).toMatchObject({
      state: 'pending',
      votes: 1,
    })
    expect(await say(actionId, APPROVE, person('alice'))).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
  })

  it('does not run on a vote whose evidence was erased: it is asked again', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId)
    await at.gate.data.evidence.erase({ operator: 'acme', day: '2026-03-01' })
    const how = tool()
    const answer = await run(LARGE, how)
    expect(answer).toMatchObject({ code: 'approval_pending' })
    expect(answer).not.toMatchObject({ actionId })
    expect(how.sent).toEqual([])
  })
})

describe('on_approval: dispatch', () => {
  it('sends what was frozen when it is approved, keeps the answer, and does so after a restart too', async () => {
    await start(withHitl('{on_approval: dispatch}'))
    const how = tool()
    const bodies: string[] = []
    const register = () =>
      at.gate.dispatchApproved((call) => {
        if (call.kind === 'http' && call.body.kind === 'read') {
          bodies.push(Buffer.from(call.body.bytes).toString())
        }
        return how.dispatch
      })
    await register()
    const { actionId } = await ask()
    await say(actionId)
    await at.gate.stop()
    expect(how.sent).toHaveLength(1)
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ amount: '150.00' })
    expect((await newest()).capsule.disposition).toMatchObject({ human_disposed: true })
    const { state } = await approvalOf(at.gate, actionId)
    const kept = await at.gate.data.evidence.byAction(state.kind === 'closed' ? state.actionId : '')
    expect(kept.state === 'present' && kept.value.map(({ kind }) => kind)).toContain('response')

    const next = await ask(refund('170'))
    at = await at.restart()
    await say(next.actionId)
    at = await at.restart()
    await register()
    await at.gate.stop()
    expect(how.sent).toHaveLength(2)
    expect(JSON.stringify(await at.lines())).not.toContain('bot-token')
  })
})

describe('after power was lost between two lines of one append', () => {
  it('closes a question that nobody was ever asked', async () => {
    await start()
    await ask()
    const line = await newest()
    const capsule: Capsule = {
      ...line.capsule,
      'dev.capsulegate.decision_id': '019ca945-0a00-7000-8000-000000000000',
      capsule_id: 'e'.repeat(64),
    }
    const statement = 'agent_action'
    const entry = capsuleEntry(toSeal(capsule, statement), { capsule, statement })
    await at.gate.data.journal.append([entry])
    expect(at.gate.data.state.unasked()).toHaveLength(1)
    at = await at.restart()
    expect(at.gate.data.state.unasked()).toEqual([])
    expect((await newest()).capsule).toMatchObject({
      chain: { parent_capsule_id: 'e'.repeat(64) },
      disposition: { verdict_class: 'engine_failure' },
    })
    expect(await openItems(at.gate.data.state)).toHaveLength(1)
  })

  it('gives the grant that a complete quorum was due', async () => {
    await start()
    const { actionId } = await ask()
    const { append } = at.gate.data.journal
    const journal = at.gate.parts.journal as { append: typeof append }
    journal.append = (entries, options) =>
      append(
        entries.filter(({ type }) => type !== 'GRANT_ISSUED'),
        options,
      )
    await say(actionId)
    journal.append = append
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('pending')
    at = await at.restart()
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('approved')
    expect(await run()).toMatchObject({ code: 'executed' })
  })
})

it('runs by policy what policy no longer asks about, and closes what was asked', async () => {
  await start()
  const { actionId, capsuleId } = await ask()
  at = await at.restart({
    policies: '@id("all") permit (principal == Agent::"support-bot", action, resource);',
  })
  expect(await run()).toMatchObject({ code: 'executed' })
  expect((await newest()).capsule).toMatchObject({
    chain: { parent_capsule_id: capsuleId },
    'dev.capsulegate.decision_id': actionId,
    disposition: { approver: 'policy' },
  })
})

it('asks where a constraint says so, and runs it although that constraint fails', async () => {
  await start({
    manifest: PAYMENTS.replace(
      '{amount: {lte: "500.00"}}',
      '{amount: {lte: "50.00"}, on_fail: hitl}',
    ),
  })
  const { actionId } = await ask(refund('60.00'))
  const found = await at.gate.data.evidence.byAction(actionId)
  if (found.state !== 'present') throw new Error(found.state)
  expect(found.value.find(({ name }) => name === 'document')?.value).toMatchObject({
    routed_by: { kind: 'constraint', ids: ['com.acme.payments.amount_cap'] },
  })
  await say(actionId)
  expect(await run(refund('60.00'))).toMatchObject({ code: 'executed' })
  const journal = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
  const keys = at.gate.data.keys()
  const { results, journal: whole } = verifyLedger(journal, { keys, crypto: nodeCrypto })
  expect(results.filter(({ ok }) => !ok).map(({ findings }) => findings)).toEqual([])
  expect(whole).toMatchObject({ status: 'valid', complete: { ok: true } })
})
