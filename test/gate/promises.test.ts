import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { canonicalOf, jsonDigest } from '../../src/core/json/build.js'
import type { Answer } from '../../src/gate/answer/answer.js'
import { resolve } from '../../src/gate/approval/decide/decide.js'
import type { Parts } from '../../src/gate/context.js'
import { govern } from '../../src/gate/govern/govern.js'
import { eraseEvidence } from '../../src/gate/operate/erase.js'
import type { Evidence } from '../../src/ports/evidence.js'
import type { Journal } from '../../src/ports/journal.js'
import type { State } from '../../src/ports/state.js'
import { approvalOf, decide, person, tool } from '../support/approvals.js'
import { httpCall } from '../support/manifests.js'
import { type Rig, type RigOptions, rig, TOKEN } from '../support/rig.js'

/** Promises 1, 2 and 6 on real files, where one store fails, is late, or the process ends between two steps. */
const MANIFEST = `id: com.acme.payments
tools:
  refund:
    match: POST /v1/refunds
    args: {order: string, amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      order_form: {order: {matches: "o-[0-9]+"}}
      two_an_hour: {count: {max: 2, window: 1h}}
`
const POLICIES = `
@id("support") permit (principal == Agent::"support-bot", action, resource);
@id("large") @hem("required") forbid (principal, action == Action::"refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
let at: Rig
async function start(more: Partial<RigOptions> = {}): Promise<void> {
  at = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
}
afterEach(() => at.close())

const refund = (amount: string, more: Partial<HttpCall> = {}, order = 'o-1'): HttpCall =>
  httpCall(
    'POST',
    '/v1/refunds',
    { order, amount },
    {
      caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
      ...more,
    },
  )
const keyed = (order = 'o-1'): HttpCall => refund('5.00', { idempotencyKey: 'k-1' }, order)
const run = (call: HttpCall, how = tool()): Promise<Answer> => at.gate.govern(call, how.dispatch)
const verdicts = async (): Promise<unknown[]> =>
  (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)

describe('a call that was being sent when the process ended', () => {
  /** Sent, and not heard of again. */
  async function orphan(call: HttpCall): Promise<void> {
    await new Promise<void>((sent) => {
      void at.gate.govern(call, () => {
        sent()
        return new Promise(() => undefined)
      })
    })
  }

  // The first start settles in memory, the second reads the settlement from the line.
  it.each([1, 2])('keeps its key and its place in the window after %i restarts', async (times) => {
    await start()
    await orphan(keyed())
    for (let n = 0; n < times; n++) at = await at.restart()
    const again = tool()
    expect(await run(keyed(), again)).toMatchObject({ code: 'idempotency_in_flight', status: 409 })
    expect(await run(keyed('o-2'), again)).toMatchObject({ code: 'idempotency_mismatch' })
    expect(again.sent).toEqual([])
    expect(await run(refund('6.00'))).toMatchObject({ code: 'executed' })
    expect(await run(refund('7.00'))).toMatchObject({ code: 'budget_exceeded' })
  })

  it.each([1, 2])('has spent its grant after %i restarts', async (times) => {
    await start()
    const asked = await run(refund('150.00'))
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    const { approvalId } = asked
    await decide(at.gate, approvalId, person('alice'), { kind: 'approve' })
    await orphan(refund('150.00', { approvalId }))
    for (let n = 0; n < times; n++) at = await at.restart()
    const again = tool()
    expect(await run(refund('150.00', { approvalId }), again)).toMatchObject({
      code: 'approval_closed',
      problem: { approval_state: 'errored' },
    })
    expect(await run(refund('150.00'), again)).toMatchObject({ code: 'approval_pending' })
    expect(again.sent).toEqual([])
  })
})

type Store = 'journal' | 'evidence'
const STORES: readonly Store[] = ['journal', 'evidence']

/** The gate's parts with one store that writes nothing from the moment `fails` says so. */
function without(store: Store, fails: () => boolean): Parts {
  const { parts } = at.gate
  const { journal, evidence } = parts
  const append: Journal['append'] = (entries, options) =>
    fails() ? Promise.reject(new Error('no space')) : journal.append(entries, options)
  const put: Evidence['put'] = (record, options) =>
    fails() ? Promise.reject(new Error('no space')) : evidence.put(record, options)
  return store === 'journal'
    ? { ...parts, journal: { ...journal, append } }
    : { ...parts, evidence: { ...evidence, put } }
}

describe.each(STORES)('when the %s alone cannot be written', (store) => {
  const UNAVAILABLE = { kind: 'unrecorded', code: 'record_unavailable', status: 503 }

  it('and says so, nothing is judged, sent or written', async () => {
    await start()
    const { parts } = at.gate
    const health = () => ({ ok: false, reason: 'no space' })
    const sick = { ...parts, [store]: { ...parts[store], health } }
    const how = tool()
    const lines = (await at.lines()).length
    for (const call of [keyed(), refund('600.00'), refund('150.00')]) {
      expect(await govern(call, how.dispatch, sick)).toMatchObject(UNAVAILABLE)
    }
    expect(how.sent).toEqual([])
    expect(await at.lines()).toHaveLength(lines)
  })

  it('before dispatch, nothing is sent, and the key is free unless its intent is on record', async () => {
    await start()
    const how = tool()
    const broken = without(store, () => true)
    expect(await govern(keyed(), how.dispatch, broken)).toMatchObject(UNAVAILABLE)
    expect(how.sent).toEqual([])
    expect(await verdicts()).toEqual([])
    // A line that says "dispatched" holds what it names until a capsule says otherwise.
    const code = store === 'journal' ? 'executed' : 'idempotency_in_flight'
    expect(await run(keyed())).toMatchObject({ code })
  })

  it.each([
    ['a refusal', refund('600.00')],
    ['a question to a person', refund('150.00')],
  ])('%s is not told, and nothing waits', async (_, call) => {
    await start()
    const how = tool()
    const answer = await govern(
      call,
      how.dispatch,
      without(store, () => true),
    )
    expect(answer).toMatchObject(UNAVAILABLE)
    expect(JSON.stringify(answer)).not.toMatch(/constraint_failed|approval_pending/)
    expect(how.sent).toEqual([])
    expect(await at.gate.parts.state.openApprovals('support-bot')).toBe(0)
  })

  it('after dispatch, nothing of the answer is released, and key and window stay spent', async () => {
    await start()
    const how = tool()
    const broken = without(store, () => how.sent.length > 0)
    const settled: unknown[] = []
    const settle: State['settle'] = async (actionId, outcome) => {
      settled.push(outcome)
      return broken.state.settle(actionId, outcome)
    }
    const state = { ...broken.state, settle }
    const answer = await govern(keyed(), how.dispatch, { ...broken, state })
    expect(answer).toMatchObject({ kind: 'unrecorded', code: 'record_lost', status: 502 })
    expect(answer).not.toHaveProperty('dispatched')
    expect(how.sent).toHaveLength(1)
    expect(settled).toEqual([])
    const again = tool()
    expect(await run(keyed(), again)).toMatchObject({ code: 'idempotency_in_flight' })
    expect(again.sent).toEqual([])
    expect(await run(refund('6.00'))).toMatchObject({ code: 'executed' })
    expect(await run(refund('7.00'))).toMatchObject({ code: 'budget_exceeded' })
  })
})

/** Lets everything run that waits for nothing but its turn. */
async function turns(): Promise<void> {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** The gate's parts, which tell in `log` what they do; each store ends last where `late` names it. */
function told(log: string[], late: Store | null): Parts {
  const { parts } = at.gate
  const { journal, evidence, state } = parts
  return {
    ...parts,
    journal: {
      ...journal,
      async append(entries, options) {
        const name = entries.map(({ type }) => type).join('+')
        log.push(`${name} begun`)
        const lines = await journal.append(entries, options)
        if (late === 'journal') await turns()
        log.push(`${name} durable`)
        return lines
      },
    },
    evidence: {
      ...evidence,
      async put(record, options) {
        log.push('evidence begun')
        await evidence.put(record, options)
        if (late === 'evidence') await turns()
        log.push('evidence durable')
      },
      async erase(scope) {
        log.push('erased')
        return evidence.erase(scope)
      },
    },
    state: {
      ...state,
      async settle(actionId, outcome) {
        log.push('let go')
        return state.settle(actionId, outcome)
      },
      async unclaim(by) {
        log.push('let go')
        return state.unclaim(by)
      },
    },
  }
}
const expectOrder = (log: readonly string[], first: string, then: string): void => {
  expect(log).toContain(first)
  expect(log).toContain(then)
  expect(log.indexOf(first)).toBeLessThan(log.indexOf(then))
}

describe.each(STORES)('when the %s is the slower store', (late) => {
  it('intent and evidence are durable before the call is sent, the capsule before claims go', async () => {
    await start()
    const log: string[] = []
    const how = tool()
    const answer = await govern(
      keyed(),
      (request) => {
        log.push('sent')
        return how.dispatch(request)
      },
      told(log, late),
    )
    log.push('answered')
    expect(answer).toMatchObject({ code: 'executed' })
    expectOrder(log, 'evidence durable', 'sent')
    expectOrder(log, 'ACTION_DISPATCHED durable', 'sent')
    const after = log.slice(log.indexOf('sent'))
    expectOrder(after, 'evidence begun', 'CAPSULE begun')
    expectOrder(after, 'evidence durable', 'let go')
    expectOrder(after, 'CAPSULE durable', 'let go')
    expectOrder(after, 'let go', 'answered')
  })

  it('a refusal hands its evidence over first, and lets go when both are durable', async () => {
    await start()
    const log: string[] = []
    const answer = await govern(refund('600.00'), tool().dispatch, told(log, late))
    log.push('answered')
    expect(answer).toMatchObject({ code: 'constraint_failed' })
    expectOrder(log, 'evidence begun', 'CAPSULE begun')
    expectOrder(log, 'evidence durable', 'let go')
    expectOrder(log, 'CAPSULE durable', 'let go')
    expectOrder(log, 'let go', 'answered')
  })

  it('a person is asked only about what is durable', async () => {
    await start()
    const log: string[] = []
    const answer = await govern(refund('150.00'), tool().dispatch, told(log, late))
    expect(answer).toMatchObject({ code: 'approval_pending' })
    expectOrder(log, 'evidence durable', 'CAPSULE+APPROVAL_OPENED begun')
    expectOrder(log, 'CAPSULE+APPROVAL_OPENED durable', 'let go')
  })

  it('a vote counts only when what was said is durable', async () => {
    await start()
    const asked = await run(refund('150.00'))
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    const { approvalId } = asked
    const { documentDigest } = await approvalOf(at.gate, approvalId)
    const log: string[] = []
    const decision = { decider: person('alice'), outcome: { kind: 'approve' } } as const
    await resolve({ approvalId, documentDigest, ...decision }, told(log, late))
    log.push('told')
    expectOrder(log, 'evidence durable', 'APPROVAL_VOTED+GRANT_ISSUED begun')
    expectOrder(log, 'APPROVAL_VOTED+GRANT_ISSUED durable', 'told')
  })

  it('an erasure is on record before anything is destroyed', async () => {
    await start()
    const log: string[] = []
    await eraseEvidence({ subject: 'ada' }, 'operator', told(log, late))
    expectOrder(log, 'EVIDENCE_ERASING durable', 'erased')
    expectOrder(log, 'erased', 'EVIDENCE_ERASED begun')
  })
})

describe('an answer that names an earlier capsule, when its event cannot be written', () => {
  const replayed = refund('5.00', { idempotencyKey: 'k-1' })
  it.each([
    ['a replay', replayed, 'replayed', null],
    ['a call that joins', refund('150.00'), 'joined', null],
    ['a repeated refusal', refund('150.00'), 'refused', 'deny'],
  ])('%s is not told', async (_, call, kind, decided) => {
    await start()
    const first = await run(call)
    if (decided !== null && first.kind === 'pending') {
      const no = { kind: 'deny', reason: 'no' } as const
      await decide(at.gate, first.approvalId, person('alice'), no)
    }
    const broken = without('journal', () => true)
    const answer = await govern(call, tool().dispatch, broken)
    expect(answer).toMatchObject({ kind: 'unrecorded', code: 'record_unavailable', status: 503 })
    expect(await run(call)).toMatchObject({ kind })
  })
})

describe('a subject that the manifest names', () => {
  it('is erased by itself: refused, asked, executed, and nothing of another', async () => {
    await start({
      manifest: MANIFEST.replace('    constraints:', '    subject: order\n    constraints:'),
    })
    const actions: [string, string][] = []
    for (const order of ['o-1', 'o-2']) {
      for (const amount of ['600.00', '150.00', '5.00']) {
        const answer = await run(refund(amount, {}, order))
        if (!('actionId' in answer)) throw new Error(answer.kind)
        actions.push([order, answer.actionId])
      }
    }
    await at.gate.erase({ subject: 'o-1' }, 'operator')
    at = await at.restart()
    for (const [order, action] of actions) {
      const { state } = await at.gate.data.evidence.byAction(action)
      expect([order, state]).toEqual([order, order === 'o-1' ? 'erased' : 'present'])
    }
  })
})

describe('salts', () => {
  it('are fresh in every part that a digest commits to', async () => {
    await start({ manifest: MANIFEST.replace('max: 2', 'max: 9') })
    const digests = new Map<string, Set<string>>()
    const salts = new Set<string>()
    let parts = 0
    for (const order of ['o-1', 'o-1']) {
      for (const call of [refund('5.00', {}, order), refund('150.00', {}, order)]) {
        let answer = await run(call)
        const actions = []
        if (answer.kind === 'pending') {
          await decide(at.gate, answer.approvalId, person('alice'), { kind: 'approve' })
          actions.push(answer.actionId)
          answer = await run(call)
        }
        if (answer.kind !== 'executed') throw new Error(answer.kind)
        for (const action of [...actions, answer.actionId]) {
          const found = await at.gate.data.evidence.byAction(action)
          if (found.state !== 'present') throw new Error(found.state)
          for (const { kind, name, digest, value } of found.value) {
            if (!['constraint', 'cedar', 'approval', 'vote'].includes(kind)) continue
            const { salt } = value as { salt?: unknown }
            expect([kind, name, salt]).toEqual([
              kind,
              name,
              expect.stringMatching(/^[0-9a-f]{32}$/),
            ])
            salts.add(String(salt))
            digests.set(kind, (digests.get(kind) ?? new Set()).add(digest))
            parts += 1
          }
        }
      }
    }
    expect([...digests.keys()].sort()).toEqual(['approval', 'cedar', 'constraint', 'vote'])
    expect(salts.size).toBe(parts)
    expect([...digests.values()].reduce((sum, { size }) => sum + size, 0)).toBe(parts)
  })

  it('the tenant\u2019s is in every reason, so that its digest cannot be guessed', async () => {
    await start()
    await run(refund('600.00'))
    const [line] = await at.capsules()
    const { reason_digest } = line?.capsule.disposition ?? {}
    const found = await at.gate.data.evidence.byDigest(String(reason_digest))
    if (found.state !== 'present') throw new Error(found.state)
    const { tenant_salt, ...open } = found.value.value as { tenant_salt?: string; code: string }
    expect(tenant_salt).toBe(at.gate.parts.tenant.reasonSalt(canonicalOf(open)))
    expect(tenant_salt).toMatch(/^[0-9a-f]{64}$/)
    expect(jsonDigest(open, nodeCrypto)).not.toBe(reason_digest)
    expect(jsonDigest({ ...open, tenant_salt: String(tenant_salt) }, nodeCrypto)).toBe(
      reason_digest,
    )
  })
})

describe('what a line says of a budget', () => {
  it('is whose it is under the tenant\u2019s key, so that no order or agent can be guessed', async () => {
    await start({
      manifest: MANIFEST.replace(
        'two_an_hour: {count: {max: 2, window: 1h}}',
        'once: {dedupe: {per: [order], window: 1h}}',
      ),
    })
    await run(refund('5.00'))
    const line = (await at.lines()).find(({ type }) => type === 'ACTION_DISPATCHED')
    const [budget] = (line?.budgets ?? []) as { constraint: string; scope: string }[]
    const guess = { constraint: 'com.acme.payments.once', scope: { order: 'o-1' } }
    const plain = jsonDigest(guess, nodeCrypto)
    expect(budget).toMatchObject({ constraint: guess.constraint })
    expect(budget?.scope).toBe(at.gate.parts.tenant.budgetScope(plain))
    expect(JSON.stringify(await at.lines())).not.toContain(plain)
  })
})

describe('halt, resume and reload', () => {
  const EVERYTHING = { kind: 'all' } as const
  /** Runs `act` with a journal that does with its line what `how` says. */
  async function during(act: () => Promise<unknown>, how: () => Promise<void>): Promise<unknown> {
    const journal = at.gate.parts.journal as { append: Journal['append'] }
    const { append } = journal
    journal.append = async (entries, options) => {
      journal.append = append
      await how()
      return append(entries, options)
    }
    return act().catch((error) => error)
  }
  const reload = (): Promise<unknown> =>
    at.gate.change({ ...at.gate.parts.world(), mode: 'observe' })
  const state = () => {
    const { generation, mode } = at.gate.parts.world()
    return { generation, mode, halts: at.gate.parts.halts() }
  }
  const CHANGES: [string, () => Promise<unknown>, boolean][] = [
    ['halt', () => at.gate.halt(EVERYTHING, 'test'), false],
    ['resume', () => at.gate.resume(EVERYTHING, 'test'), true],
    ['reload', reload, false],
  ]

  it.each(CHANGES)('%s is not in force before its line is durable', async (_, act, halted) => {
    await start()
    if (halted) await at.gate.halt(EVERYTHING, 'test')
    const old = state()
    const failed = await during(act, () => Promise.reject(new Error('no space')))
    expect(failed).toMatchObject({ message: 'no space' })
    expect(state()).toEqual(old)
    let meanwhile: unknown
    await during(act, async () => {
      await turns()
      meanwhile = state()
    })
    expect(meanwhile).toEqual(old)
    expect(state()).not.toMatchObject({ mode: old.mode, halts: old.halts })
    expect(state().generation).toBe(old.generation + 1)
  })

  it('a standing grant is revoked, and calls under it are stopped, when the line is durable and not before', async () => {
    await start()
    const issued = await at.gate.issueStanding({
      agent: 'support-bot',
      tool: 'refund',
      bounds: { cap: { amount: { lte: '200.00' } } },
      expiresAt: new Date(at.gate.parts.clock.now() + 3_600_000).toISOString(),
      uses: 3,
      by: 'olga',
    })
    if (issued.kind !== 'issued') throw new Error(issued.problems.join())
    const { grant } = issued
    const revoke = (): Promise<unknown> => at.gate.revokeStanding(grant, 'olga')
    const now = async () => [state().generation, await at.gate.parts.state.isStanding(grant)]
    const old = await now()
    expect(old[1]).toBe(true)
    await during(revoke, () => Promise.reject(new Error('no space')))
    expect(await now()).toEqual(old)
    let meanwhile: unknown
    await during(revoke, async () => {
      await turns()
      meanwhile = await now()
    })
    expect(meanwhile).toEqual(old)
    expect(await now()).toEqual([Number(old[0]) + 1, false])
  })

  it('a reload before the first byte stops a call that was judged before it', async () => {
    let turn = false
    await start({
      seam: async (name) => {
        if (name === 'before_first_byte' && turn) await at.gate.change(at.gate.parts.world())
      },
    })
    turn = true
    const how = tool()
    expect(await run(refund('5.00'), how)).toMatchObject({ code: 'judgement_stale' })
    expect(how.sent).toEqual([])
  })
})
