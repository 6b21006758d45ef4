import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import type { Outcome } from '../../../src/gate/approval/decide/model.js'
import { verifyLedger } from '../../../src/verify.js'
import {
  answered,
  decide,
  fakeTime,
  machine,
  person,
  tool,
  unreachable,
} from '../../support/approvals.js'
import { draws } from '../../support/draws.js'
import { known } from '../../support/lines.js'
import { PAYMENTS } from '../../support/manifests.js'
import { openItems } from '../../support/open-items.js'
import { POLICIES, type Rig, refund, rig } from '../../support/rig.js'

/**
 * After any interleaving, the gate's open items are the seed's (§5.4.4), computed by the independent
 * verifier from the journal's bytes alone; every chain verifies; nothing ran twice on one word.
 */
const MANIFEST = `${PAYMENTS}    hitl: {ttl_seconds: 100, quorum: 2, ladder: [{roles: [approver], after_seconds: 50}], reminders_seconds: [20]}\n`
const order = fc.constantFrom('a', 'b')
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Outcome>({ kind: 'approve' }) },
  fc.constant<Outcome>({ kind: 'deny', reason: 'no' }),
  fc.record({
    kind: fc.constant('defer' as const),
    ttlSeconds: fc.constantFrom(10, 200),
    onExpiry: fc.constantFrom('expired' as const, 'escalated' as const),
  }),
)
const single = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('call' as const),
      order,
      named: fc.boolean(),
      down: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('decide' as const),
      pick: fc.nat(3),
      who: fc.constantFrom('alice', 'bob', 'carol', 'robot'),
      outcome,
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('withdraw' as const), pick: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('halt' as const, 'resume' as const) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('standing' as const) }) },
)
const step = fc.oneof(
  { weight: 8, arbitrary: fc.array(single, { minLength: 1, maxLength: 5 }) },
  { weight: 3, arbitrary: fc.constantFrom(15, 49, 51, 101).map((seconds) => ({ pass: seconds })) },
  { weight: 2, arbitrary: fc.constant('restart' as const) },
  { weight: 1, arbitrary: fc.constant('change' as const) },
)
type Single = typeof single extends fc.Arbitrary<infer T> ? T : never
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const RUNS = Number(process.env.APPROVAL_RUNS ?? draws(30, 8))
const HALT = { kind: 'tool', name: 'create_refund' } as const

async function play(steps: readonly Step[]): Promise<void> {
  const time = fakeTime()
  let changed = false
  const options = () => ({
    manifest: MANIFEST,
    policies: changed
      ? `${POLICIES}\n@id("x") permit (principal == Agent::"x", action, resource);`
      : POLICIES,
    clock: time.clock,
    timer: time.timer,
  })
  let at: Rig = await rig(options())
  const ids: string[] = []
  const sent = new Map<string, number>()

  async function one(action: Single): Promise<void> {
    const { gate } = at
    const id = 'pick' in action ? (ids.at(-1 - action.pick) ?? ids.at(-1) ?? 'none') : 'none'
    switch (action.op) {
      case 'call': {
        const how = tool(() => (action.down ? unreachable() : answered()))
        const approvalId = action.named ? (ids.at(-1) ?? null) : null
        const answer = await gate.govern(refund('150', { approvalId }, action.order), how.dispatch)
        if (answer.kind === 'pending' || answer.kind === 'joined') ids.push(answer.actionId)
        for (const each of how.sent) sent.set(each, (sent.get(each) ?? 0) + 1)
        expect(answer.kind).not.toBe('unrecorded')
        return
      }
      case 'decide': {
        const who = action.who === 'robot' ? machine('robot') : person(action.who)
        const told = await decide(gate, id, who, action.outcome)
        if (told.kind === 'refused') expect(['busy', 'record_unavailable']).not.toContain(told.why)
        return
      }
      case 'withdraw':
        await gate.withdraw(id, 'support-bot')
        return
      case 'expire':
        return gate.expireDue()
      case 'halt':
        return gate.halt(HALT, 'test')
      case 'resume':
        return gate.resume(HALT, 'test')
      case 'standing':
        await gate.issueStanding({
          agent: 'support-bot',
          tool: 'create_refund',
          bounds: { low: { amount: { lte: '200' } } },
          expiresAt: new Date(time.clock.now() + 60_000).toISOString(),
          uses: 1,
          by: 'olga',
        })
        return
    }
  }

  try {
    for (const each of steps) {
      if (each === 'restart' || each === 'change') {
        if (each === 'change') changed = !changed
        await at.gate.close()
        at = await rig(options(), at.dir)
      } else if (Array.isArray(each)) await Promise.all(each.map(one))
      else {
        time.advance(each.pass)
        await at.gate.expireDue()
      }
    }
    await check(at, sent)
  } finally {
    await at.close()
  }
}

async function check(at: Rig, sent: ReadonlyMap<string, number>): Promise<void> {
  const lines = await at.lines()
  const journal = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const { gate } = at
  const verified = verifyLedger(journal, { keys: gate.data.keys(), crypto: nodeCrypto })
  const { results, open_items } = verified
  expect(verified.journal).toMatchObject({ status: 'valid', complete: { ok: true } })
  expect(results.flatMap(({ ok, findings }) => (ok ? [] : findings))).toEqual([])
  const codes = results.flatMap(({ findings }) => findings.map(({ code }) => code))
  expect(codes).not.toContain('concurrent_supersedes')

  const open = (await openItems(gate.data.state)).map(({ capsule_id }) => capsule_id)
  expect([...open].sort()).toEqual([...open_items].sort())
  // What waits for a human is exactly what the gate still knows as not closed.
  const live = await gate.parts.state.approvals()
  expect(live.map(({ parent }) => parent).sort()).toEqual([...open].sort())

  // And a restart from the first line would know exactly what this gate knows.
  const again = createEmbeddedState({ tenant: gate.data.tenant, keyTtlSeconds: 24 * 60 * 60 })
  for (const line of lines) again.apply(known(line))
  expect(again.dump()).toEqual(gate.data.state.dump())

  for (const count of sent.values()) expect(count).toBe(1)
  const capsules = (await at.capsules()).map(({ capsule }) => capsule)
  const ran = capsules.filter(({ disposition }) => disposition.human_disposed === true)
  const decisions = ran
    .filter(({ disposition }) => disposition.verdict_class === 'executed')
    .map((capsule) => capsule['dev.capsulegate.decision_id'])
  expect(new Set(decisions).size).toBe(decisions.length)
  for (const { disposition } of capsules) {
    if (disposition.authority !== undefined) expect(disposition.human_disposed).toBe(false)
  }
}

it('keeps the open items the seed says, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14, size: 'max' }), play),
    { numRuns: RUNS },
  )
}, 600_000)
