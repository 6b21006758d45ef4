import { afterEach, describe, expect, it } from '@jest/globals'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { Decider, Outcome, Resolution } from '../../src/gate/approval/decide/model.js'
import { type FakeTime, fakeTime, person } from '../support/approvals.js'
import { type Claims, mandateIssuer, stepsOf } from '../support/intents.js'
import { openItems } from '../support/open-items.js'
import type { CapsuleLine } from '../support/rig.js'

/**
 * Human approval as an executable list of promises, whatever stands in front of the gate. A mount
 * plugs in by saying how a refund is sent and what its caller is told; everything else is the gate's.
 */
export type Sent = {
  readonly amount: string
  readonly order?: string
  readonly approvalId?: string
  readonly waitSeconds?: number
  readonly idempotencyKey?: string
  readonly as?: 'support-bot' | 'other-bot'
  /** A mandate of `DECLARING`, and what is declared under it. */
  readonly declared?: { readonly intent: object; readonly mandate: string }
}
export type Told = {
  readonly status: number
  /** The problem's code; null where the tool's own answer came back. */
  readonly code: string | null
  readonly approvalId: string | null
  readonly capsuleId: string | null
  readonly differsAt?: string | null
  /** All that the agent got: on a socket every octet, head included. */
  readonly wire: string
}
export type Mounted = {
  readonly gate: RunningGate
  send(call: Sent): Promise<Told>
  /** Sends a call and does not stay for its answer: `leave` resolves when the mount has seen it go. */
  sendAnd(call: Sent): Promise<{ leave(): Promise<void> }>
  /** How many requests reached the tool. */
  reached(): number
  /** While on nothing leaves the gate, for the reason the suite was told of. */
  sendNothing(on: boolean): void | Promise<void>
  capsules(): Promise<CapsuleLine[]>
  restart(more?: { policies?: string; manifest?: string }): Promise<void>
  close(): Promise<void>
}
export type Mounting = (
  time: FakeTime,
  rules: { manifest: string; policies: string },
) => Promise<Mounted>

/** Mandates of this issuer are accepted by the gate of every mount. */
export const DECLARING = mandateIssuer()

/** How a grant comes to be taken and nothing sent: what a caller is told, and why it comes about. */
const UNSENT = {
  upstream_unreachable: 'nobody listens where the tool was',
  judgement_stale:
    'the rules turn just before it; a handler in the same process cannot be out of reach',
} as const

export const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD]}}
`
export const POLICIES = `
@id("bots") permit (principal, action == Action::"create_refund", resource)
when { context.args.currency == "EUR" };
@id("large") @hem("required") @reason("large refunds are looked at")
forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
const CHANGED = `${POLICIES}
@id("huge") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("400.0")) };
`
const LARGE: Sent = { amount: '150.00' }
const APPROVE: Outcome = { kind: 'approve' }
const DENY: Outcome = { kind: 'deny', reason: 'not this one' }

export function approvalConformance(
  mount: string,
  mounting: Mounting,
  unsent: keyof typeof UNSENT = 'upstream_unreachable',
): void {
  describe(`approval conformance: ${mount}`, () => {
    let time: FakeTime
    let at: Mounted
    const start = async (manifest = MANIFEST, policies = POLICIES): Promise<void> => {
      time = fakeTime()
      at = await mounting(time, { manifest, policies })
    }
    afterEach(() => at.close())

    async function ask(call: Sent = LARGE): Promise<string> {
      const told = await at.send(call)
      expect(told).toMatchObject({ status: 202, code: 'approval_pending' })
      return String(told.approvalId)
    }
    async function say(
      id: string,
      outcome: Outcome = APPROVE,
      decider: Decider = person('alice'),
      digest?: string,
    ): Promise<Resolution> {
      const approval = await at.gate.parts.state.approval(id)
      const documentDigest = digest ?? approval?.documentDigest ?? '0'.repeat(64)
      return at.gate.resolve({ approvalId: id, documentDigest, decider, outcome })
    }
    /** Named points instead of sleeps: the deadline's timer alone, or a waiting caller's beside it, and the newest head's. */
    async function timers(count: number): Promise<void> {
      while (time.waiting() !== count + 1) await new Promise((resolve) => setImmediate(resolve))
    }
    async function waitedFor(): Promise<string> {
      await timers(2)
      const [open] = await at.gate.parts.state.approvals()
      return String(open?.approvalId)
    }
    /** Where sessions have timers of their own: decided as soon as it is open. */
    async function openedSoon(): Promise<string> {
      for (;;) {
        const [open] = await at.gate.parts.state.approvals()
        if (open !== undefined) return open.approvalId
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const verdicts = async (): Promise<unknown[]> =>
      (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)
    const newest = async (): Promise<CapsuleLine['capsule']> =>
      ((await at.capsules()).at(-1) as CapsuleLine).capsule

    it('1: the same call resumes, and executes once', async () => {
      await start()
      const id = await ask()
      expect(await say(id)).toMatchObject({ kind: 'recorded', state: 'approved' })
      expect(await at.send(LARGE)).toMatchObject({ status: 200, code: null })
      expect(at.reached()).toBe(1)
      expect((await newest()).disposition).toMatchObject({
        verdict_class: 'executed',
        approver: 'human',
        human_disposed: true,
      })
      expect(await openItems(at.gate.data.state)).toEqual([])
    })

    it('2a: changed arguments under an approval are refused, with the place of the change', async () => {
      await start()
      const id = await ask()
      await say(id)
      const told = await at.send({ amount: '151.00', approvalId: id })
      expect(told).toMatchObject({
        status: 409,
        code: 'approval_mismatch',
        differsAt: '/arguments/amount/value',
      })
      expect(at.reached()).toBe(0)
      expect(await at.send({ ...LARGE, approvalId: id })).toMatchObject({ status: 200 })
    })

    it.each([
      ['policy', { policies: CHANGED }],
      ['manifest', { manifest: MANIFEST.replace('"500.00"', '"501.00"') }],
    ])('2b: a changed %s voids the grant, and a new request supersedes', async (_, rules) => {
      await start()
      const id = await ask()
      await say(id)
      await at.restart(rules)
      const told = await at.send({ ...LARGE, approvalId: id })
      expect(told).toMatchObject({ status: 202, code: 'approval_pending' })
      expect(told.approvalId).not.toBe(id)
      expect(at.reached()).toBe(0)
      const [first, second] = (await at.capsules()).map(({ capsule }) => capsule)
      expect(second?.chain).toMatchObject({ parent_capsule_id: first?.capsule_id })
      expect(await say(id)).toMatchObject({ kind: 'refused', why: 'already_decided' })
      await say(String(told.approvalId))
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })
    })

    it('2c: what policy denies in the meantime is denied, and ends the item', async () => {
      await start()
      const call = { amount: '450.00' }
      const id = await ask(call)
      await say(id)
      await at.restart({ policies: CHANGED })
      expect(await at.send(call)).toMatchObject({ status: 403, code: 'policy_denied' })
      expect(at.reached()).toBe(0)
      expect(await newest()).toMatchObject({
        'dev.capsulegate.decision_id': id,
        chain: { relation: 'supersedes' },
        disposition: { approver: 'policy', human_disposed: false },
      })
      expect(await openItems(at.gate.data.state)).toEqual([])
    })

    it('3: an expired approval is refused and recorded under the original decision', async () => {
      await start()
      const id = await ask()
      await say(id)
      time.advance(3600)
      await at.gate.expireDue()
      expect(await newest()).toMatchObject({
        'dev.capsulegate.decision_id': id,
        disposition: { verdict_class: 'timeout', approver: 'policy' },
      })
      const told = await at.send({ ...LARGE, approvalId: id })
      expect(told).toMatchObject({ status: 409, code: 'approval_closed' })
      expect(await newest()).toMatchObject({ 'dev.capsulegate.decision_id': id })
      expect(at.reached()).toBe(0)
    })

    it('4: a spent grant is refused', async () => {
      await start()
      const id = await ask()
      await say(id)
      await at.send(LARGE)
      expect(await at.send({ ...LARGE, approvalId: id })).toMatchObject({ code: 'approval_closed' })
      expect(at.reached()).toBe(1)
      // Without naming it, it is simply a new call that has to be asked about.
      expect(await at.send(LARGE)).toMatchObject({ status: 202 })
      expect(at.reached()).toBe(1)
    })

    it('5: fifty deciders and fifty retries give one outcome and one dispatch', async () => {
      await start()
      const id = await ask()
      const decisions = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          say(id, i % 2 === 0 ? APPROVE : DENY, person(`decider-${i}`)),
        ),
      )
      expect(decisions.filter(({ kind }) => kind === 'recorded')).toHaveLength(1)
      for (const lost of decisions.filter(({ kind }) => kind === 'refused')) {
        expect(lost).toMatchObject({ why: 'already_decided', first: 'approved' })
      }
      const told = await Promise.all(
        Array.from({ length: 50 }, () => at.send({ ...LARGE, approvalId: id })),
      )
      expect(told.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(told.filter(({ code }) => code === 'approval_closed')).toHaveLength(49)
      expect(at.reached()).toBe(1)
      const superseding = (await at.capsules()).filter(({ capsule }) => capsule.chain !== undefined)
      expect(superseding).toHaveLength(1)
    })

    it('6: pending and approved survive restarts, and resume', async () => {
      await start()
      const id = await ask()
      await at.restart()
      expect(await at.send(LARGE)).toMatchObject({ status: 202, approvalId: id })
      await say(id)
      await at.restart()
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })
      expect(at.reached()).toBe(1)
      await at.restart()
      expect(await at.send({ ...LARGE, approvalId: id })).toMatchObject({ code: 'approval_closed' })
      expect(
        (await at.capsules()).map(({ capsule }) => capsule.disposition.human_disposed),
      ).toEqual([false, true, false])
    })

    it('7, 13: the decision is bound to what was shown, and says who in private only', async () => {
      await start()
      const call = { ...LARGE, order: 'zq7-private' }
      const id = await ask(call)
      expect(await say(id, APPROVE, person('alice'), 'f'.repeat(64))).toMatchObject({
        kind: 'refused',
        why: 'digest_mismatch',
      })
      await say(id, APPROVE, person('alice-the-approver'))
      await at.send(call)
      const found = await at.gate.data.evidence.byAction(id)
      if (found.state !== 'present') throw new Error(found.state)
      const shown = found.value.find(({ name }) => name === 'document')
      expect(shown?.value).toMatchObject({
        approval_id: id,
        agent: 'support-bot',
        arguments: { amount: { type: 'decimal', value: '150' } },
        routed_by: { kind: 'policy', ids: ['large'], reason: 'large refunds are looked at' },
      })
      const approval = await at.gate.parts.state.approval(id)
      expect(shown?.digest).toBe(approval?.documentDigest)
      const journal: string[] = []
      for await (const line of at.gate.data.journal.lines()) journal.push(JSON.stringify(line))
      expect(journal.join('\n')).not.toContain('alice-the-approver')
      expect(journal.join('\n')).not.toContain('zq7-private')
      const votes = found.value.filter(({ kind }) => kind === 'vote')
      expect(votes.map(({ value }) => (value as { name: string }).name)).toEqual([
        'alice-the-approver',
      ])
    })

    it('8: the requester decides nothing, another agent uses nothing', async () => {
      await start()
      const id = await ask()
      for (const name of ['support-bot', 'support-bot@1']) {
        expect(await say(id, APPROVE, person(name))).toMatchObject({ why: 'own_request' })
      }
      expect(await say(id, APPROVE, person('eve', { roles: ['viewer'] }))).toMatchObject({
        why: 'role',
      })
      await say(id)
      // An id is no oracle: neither the same call nor one with other arguments tells more than a stranger's id.
      const asOther = async (amount: string, approvalId: string) => {
        const { status, code, differsAt, wire } = await at.send({
          amount,
          approvalId,
          as: 'other-bot',
        })
        const open = wire
          .replaceAll(/[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4,12}){4}/g, 'id')
          .replace(/^date: .*$/im, '')
        return { status, code, differsAt, open }
      }
      const unknown = await asOther('150.00', '019ca945-0a00-7000-8000-000000000000')
      expect(unknown).toMatchObject({ status: 409, code: 'approval_closed' })
      for (const amount of ['150.00', '160.00']) {
        expect(await asOther(amount, id)).toEqual(unknown)
      }
      expect(at.reached()).toBe(0)
    })

    it('9: nobody answers: it times out, nothing was sent, and the record says so', async () => {
      await start()
      const id = await ask()
      time.advance(3599)
      await at.gate.expireDue()
      expect(await verdicts()).toEqual(['hitl_dispatched'])
      time.advance(1)
      await at.gate.expireDue()
      expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
      expect(await say(id)).toMatchObject({ why: 'already_decided', first: 'timeout' })
      expect(at.reached()).toBe(0)
    })

    it('the agent is told neither who decided nor why, nor by which rule it was asked', async () => {
      await start()
      const told = [await at.send(LARGE), await at.send(LARGE)]
      const approvalId = String(told[0]?.approvalId)
      await say(approvalId, DENY, person('bob'))
      told.push(await at.send(LARGE), await at.send({ ...LARGE, approvalId }))
      const next = await ask({ amount: '160.00' })
      await say(next, { kind: 'approve', reason: 'a regular' }, person('carol'))
      told.push(await at.send({ amount: '170.00', approvalId: next }))
      told.push(await at.send({ amount: '160.00' }))
      expect(told.map(({ code }) => code)).toEqual([
        'approval_pending',
        'approval_pending',
        'approval_refused',
        'approval_refused',
        'approval_mismatch',
        null,
      ])
      const hidden = /not this one|a regular|bob|carol|large|bots|greaterThan|100\.0|500\.00/
      expect(told.filter(({ wire }) => wire.length === 0 || hidden.test(wire))).toEqual([])
    })

    it('10: a decision delivered twice is one; a conflicting one is refused and recorded', async () => {
      await start()
      const id = await ask()
      const first = await say(id)
      expect(await say(id)).toEqual({ ...first, repeated: true })
      expect(await say(id, DENY, person('bob'))).toMatchObject({
        kind: 'refused',
        why: 'already_decided',
        first: 'approved',
      })
      const types: string[] = []
      for await (const line of at.gate.data.journal.lines()) types.push(line.type)
      expect(types.filter((type) => type === 'APPROVAL_VOTED')).toHaveLength(1)
      expect(types.filter((type) => type === 'GRANT_ISSUED')).toHaveLength(1)
      expect(types.filter((type) => type === 'DECISION_LOST')).toHaveLength(1)
    })

    it('11: a quorum counts distinct people, and the first refusal ends it', async () => {
      const hitl = '    hitl: {quorum: 2}\n'
      await start(MANIFEST + hitl)
      const id = await ask()
      expect(await say(id)).toMatchObject({ state: 'pending', votes: 1, quorum: 2 })
      expect(await say(id)).toMatchObject({ state: 'pending', votes: 1, repeated: true })
      expect(await at.send(LARGE)).toMatchObject({ status: 202, approvalId: id })
      expect(await say(id, APPROVE, person('bob'))).toMatchObject({ state: 'approved', votes: 2 })
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })

      const next = await ask({ amount: '160.00' })
      await say(next)
      expect(await say(next, DENY, person('bob'))).toMatchObject({ state: 'refused' })
      expect(await say(next, APPROVE, person('carol'))).toMatchObject({ first: 'resolved' })
      expect((await newest()).disposition).toMatchObject({
        verdict_class: 'resolved',
        decision: 'reject',
        approver: 'human',
        human_disposed: true,
      })
      expect(at.reached()).toBe(1)
    })

    it('12: the caller went away before the approval: it ends unused, and nothing is sent', async () => {
      await start()
      const id = await ask()
      await say(id)
      time.advance(3600)
      await at.gate.expireDue()
      expect(await verdicts()).toEqual(['hitl_dispatched', 'timeout'])
      expect(at.reached()).toBe(0)
      expect(await openItems(at.gate.data.state)).toEqual([])
    })

    it('12: the caller hung up while it waited: approving sends nothing, and a retry finds the grant', async () => {
      await start()
      const { leave } = await at.sendAnd({ ...LARGE, waitSeconds: 20 })
      const id = await waitedFor()
      await leave()
      expect(await say(id)).toMatchObject({ state: 'approved' })
      await timers(1)
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })
      expect(at.reached()).toBe(1)
      expect(await verdicts()).toEqual(['hitl_dispatched', 'executed'])
    })

    it('12: the caller that stayed is answered by the tool once it is approved', async () => {
      await start()
      const told = at.send({ ...LARGE, waitSeconds: 20 })
      await say(await waitedFor())
      expect(await told).toMatchObject({ status: 200, code: null })
      expect(at.reached()).toBe(1)
    })

    it('14: a standing grant has bounds, an end and a number of uses, and is no human', async () => {
      await start()
      const issued = await at.gate.issueStanding({
        agent: 'support-bot',
        tool: 'create_refund',
        bounds: { small: { amount: { lte: '200.00' } } },
        expiresAt: new Date(time.clock.now() + 600_000).toISOString(),
        uses: 2,
        by: 'olga',
      })
      if (issued.kind !== 'issued') throw new Error(issued.problems.join())
      expect(await at.send({ amount: '250.00' })).toMatchObject({ status: 202 })
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })
      expect((await newest()).disposition).toMatchObject({
        approver: 'policy',
        human_disposed: false,
        authority: issued.grant,
      })
      await at.restart()
      expect(await at.send({ ...LARGE, order: 'o-2' })).toMatchObject({ status: 200 })
      expect(await at.send({ ...LARGE, order: 'o-3' })).toMatchObject({ status: 202 })
      expect(at.reached()).toBe(2)
    })

    it('15: the kill switch freezes what is pending, and resuming lets time have its due', async () => {
      await start()
      const id = await ask()
      await at.gate.halt({ kind: 'agent', name: 'support-bot' }, 'test')
      expect(await say(id)).toMatchObject({ kind: 'refused', why: 'frozen' })
      expect(await at.send(LARGE)).toMatchObject({ status: 403, code: 'halted' })
      time.advance(4000)
      await at.gate.expireDue()
      await at.restart()
      expect(await verdicts()).toEqual(['hitl_dispatched', 'denied'])
      await at.gate.resume({ kind: 'agent', name: 'support-bot' }, 'test')
      expect(await verdicts()).toEqual(['hitl_dispatched', 'denied', 'timeout'])
      expect(at.reached()).toBe(0)
    })

    /** An agent that demands a person: its session's next declaration at each call. */
    function declaring() {
      const claims = { cedar_actions: ['create_refund'], so_type: undefined }
      const steps = stepsOf(DECLARING, { claims, now: time.clock.now })
      return (more: Claims = {}): NonNullable<Sent['declared']> => ({
        intent: steps.standard('create_refund', { hem_urgency: 'REQUIRED', ...more }),
        mandate: steps.mandate,
      })
    }
    const INTENT = MANIFEST.replace('    irreversibility', '    intent: required\n$&')
    const written = async (wanted: string): Promise<number> => {
      let count = 0
      for await (const { type } of at.gate.data.journal.lines()) if (type === wanted) count++
      return count
    }
    async function ranOnce(): Promise<void> {
      expect(at.reached()).toBe(1)
      expect(await written('IDP_SUBMITTED')).toBe(1)
      expect(await written('IDP_COMMITMENT_VERIFIED')).toBe(1)
      expect(await written('IDP_COMMITMENT_GAP')).toBe(0)
      expect(await verdicts()).toEqual(['hitl_dispatched', 'executed'])
      expect((await newest()).disposition).toMatchObject({ human_disposed: true })
    }

    it('16: declared REQUIRED, approved: it runs once, and its intent is committed once', async () => {
      await start(INTENT)
      // Policy permits it without a person: the agent's own demand is what waits.
      const call: Sent = { amount: '50.00', declared: declaring()() }
      const told = await at.send(call)
      expect(told).toMatchObject({ status: 202, code: 'approval_pending' })
      expect(at.reached()).toBe(0)
      expect(await at.send(call)).toMatchObject({ status: 202, approvalId: told.approvalId })
      // People take longer than clocks may differ.
      time.advance(1_800)
      expect(await say(String(told.approvalId))).toMatchObject({ state: 'approved' })
      expect(await at.send(call)).toMatchObject({ status: 200, code: null })
      await ranOnce()
      expect(await at.send(call)).toMatchObject({ status: 409, code: 'intent_duplicate' })
      expect([at.reached(), await written('IDP_SUBMITTED')]).toEqual([1, 1])
    })

    it('16: the caller that stayed, and a restart between, commit nothing twice either', async () => {
      await start(INTENT)
      const next = declaring()
      const stayed = at.send({ amount: '50.00', declared: next(), waitSeconds: 20 })
      await say(await openedSoon())
      expect(await stayed).toMatchObject({ status: 200, code: null })
      await ranOnce()
      const call: Sent = { amount: '60.00', declared: next() }
      const id = await ask(call)
      await at.restart()
      // Its session waits, and says for what.
      const other = await at.send({ amount: '70.00', declared: next({ hem_urgency: 'NONE' }) })
      expect(other).toMatchObject({ status: 409, code: 'session_pending', approvalId: id })
      await say(id)
      await at.restart()
      expect(await at.send(call)).toMatchObject({ status: 200 })
      expect([at.reached(), await written('IDP_SUBMITTED')]).toEqual([2, 3])
    })

    it(`gives the grant back when nothing was sent (${UNSENT[unsent]}), and the item stays open`, async () => {
      await start()
      const id = await ask()
      await say(id)
      await at.sendNothing(true)
      expect(await at.send(LARGE)).toMatchObject({ status: 503, code: unsent })
      const failed = await newest()
      expect(failed.chain).toBeUndefined()
      expect(failed['dev.capsulegate.decision_id']).toBe(id)
      expect(at.reached()).toBe(0)
      expect(await openItems(at.gate.data.state)).toHaveLength(1)
      await at.sendNothing(false)
      expect(await at.send(LARGE)).toMatchObject({ status: 200 })
      expect(at.reached()).toBe(1)
    })
  })
}
