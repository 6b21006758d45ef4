import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import type { Line, LineType } from '../../../src/core/journal/vocabulary.js'
import type { BudgetClaim, CommitRequest, ReserveRequest } from '../../../src/ports/state.js'
import { claim, request, sha } from '../../contract/state.js'
import { TENANT } from '../../support/tenant.js'
import { capsule, dispatched, lineWriter } from './lines.js'

/**
 * The invariant (DESIGN §5): the running state is a fold over the lines. For any interleaving, a fold
 * from scratch, and from any dump and the rest, dumps the same and decides the same.
 */
const T0 = Date.parse('2026-03-01T12:00:00.000Z')
const TTL_SECONDS = 20

const op = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('reserve' as const),
      key: fc.option(fc.constantFrom('k1', 'k2', 'k3')),
      grant: fc.option(fc.constantFrom('g1', 'g2'), { freq: 3 }),
      /** A reader's clock may be ahead of the journal's. */
      ahead: fc.integer({ min: 0, max: 6000 }),
      budgets: fc.array(
        fc.record({
          scope: fc.constantFrom(sha('x'), sha('y')),
          kind: fc.constantFrom('sum' as const, 'count' as const),
          windowSeconds: fc.constantFrom(3, 10),
          amount: fc.constantFrom('0.1', '0.25', '1', '2.50', '0'),
          advisory: fc.boolean(),
        }),
        { maxLength: 3 },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant('dispatch' as const), of: fc.nat() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('conclude' as const),
      of: fc.nat(),
      as: fc.constantFrom(
        ['executed', 'confirmed'] as const,
        ['errored', 'dispatched'] as const,
        ['engine_failure', undefined] as const,
      ),
      settles: fc.option(fc.constantFrom('commit', 'release')),
      settleFirst: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('abandon' as const), of: fc.nat() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.nat({ max: 8000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('item' as const),
      verdict: fc.constantFrom('blocked', 'hitl_dispatched', 'resolved', 'denied'),
      over: fc.option(fc.nat()),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('grant' as const),
      grant: fc.constantFrom('g1', 'g2'),
      uses: fc.integer({ min: 1, max: 2 }),
      forMs: fc.nat({ max: 20_000 }),
      revoke: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('halt' as const),
      type: fc.constantFrom('HALT' as const, 'RESUME' as const),
      name: fc.constantFrom('bot', 'other'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('describe' as const),
      type: fc.constantFrom('pin' as const, 'change' as const, 'accept' as const),
      server: fc.constantFrom('files', 'mail'),
      tools: fc.uniqueArray(fc.constantFrom('read', 'write', '__proto__'), { minLength: 1 }),
      definition: fc.constantFrom(sha('d1'), sha('d2'), sha('d3')),
    }),
  },
)
const SESSIONS = ['s-1', 's-2', 's-3'] as const
/** What declared calls, people and operators do to sessions and objects. */
const declaredOp = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('commit' as const),
      session: fc.constantFrom(...SESSIONS),
      agent: fc.oneof({ weight: 6, arbitrary: fc.constant('bot') }, fc.constant('other')),
      mandate: fc.constantFrom('m-1', 'm-2'),
      so: fc.constantFrom('o-1', 'o-2'),
      idp: fc.constantFrom(...Array.from({ length: 12 }, (_, n) => `i-${n}`)),
      step: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 7, arbitrary: fc.constant({ op: 'submit' as const }) },
  { weight: 1, arbitrary: fc.constant({ op: 'unwritten' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.nat({ max: 8000 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('session' as const),
      does: fc.constantFrom('mismatch', 'gap', 'ask call', 'ask session', 'resume', 'close'),
      session: fc.constantFrom(...SESSIONS),
      of: fc.nat(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('answer' as const),
      does: fc.constantFrom('grant', 'end'),
      of: fc.nat(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('governed' as const),
      type: fc.constantFrom(
        'MANDATE_REVOKED',
        'MISSION_SET',
        'OBJECT_SET',
        'STATE_TRANSITIONED',
        'ACTION_RESULT_RECORDED',
      ),
      so: fc.constantFrom('o-1', 'o-2', '__proto__'),
      name: fc.constantFrom('m-1', 'm-2', 'constructor'),
      phase: fc.constantFrom('ACTIVE', 'SUSPENDED', 'FAILED', 'ABANDONED'),
      from: fc.option(fc.constantFrom('created', 'paid')),
      to: fc.option(fc.constantFrom('created', 'paid')),
      principal: fc.option(fc.constantFrom(sha('alice'), sha('bob'))),
    }),
  },
)
type Op = Mixed | (typeof declaredOp extends fc.Arbitrary<infer T> ? T : never)
type Mixed = typeof op extends fc.Arbitrary<infer T> ? T : never

type Naive = { action: string; at: number; claim: BudgetClaim; gone: boolean }

/** Runs the operations on a live state as a gate would, and keeps every line it wrote. */
async function run(ops: readonly Op[]) {
  const state = createEmbeddedState({ tenant: TENANT, keyTtlSeconds: TTL_SECONDS })
  const line = lineWriter(T0)
  const lines: Line[] = []
  const reserved: ReserveRequest[] = []
  const inFlight: string[] = []
  const naive: Naive[] = []
  const declared: { request: CommitRequest; opens: boolean; presents: boolean }[] = []
  const asked: string[] = []
  let unwritten = 0
  let latest = 0
  let made = 0
  const write = (type: LineType, members: object): void => {
    const written = line(type, members)
    lines.push(written)
    state.apply(written)
    latest = Math.max(latest, line.now())
  }
  const same = (a: BudgetClaim, b: BudgetClaim): boolean =>
    a.scope === b.scope && a.kind === b.kind && a.windowSeconds === b.windowSeconds

  for (const step of ops) {
    switch (step.op) {
      case 'reserve': {
        const action = `a${++made}`
        const at = line.now() + step.ahead
        const budgets = step.budgets.map(({ amount, ...budget }) =>
          claim({ ...budget, amount: budget.kind === 'sum' ? amount : '1', max: '5' }),
        )
        const key = step.key === null ? null : sha(step.key)
        const wanted = request(action, { at, key, grant: step.grant, budgets })
        const answer = await state.reserve(wanted)
        latest = Math.max(latest, at)
        if (answer.kind !== 'reserved' && answer.kind !== 'budget') break
        // Readings against a list that is simply added up, in thousandths.
        const taken: Naive[] = []
        answer.readings.forEach((reading, i) => {
          const mine = budgets[i] as BudgetClaim
          const sum = [...naive, ...taken]
            .filter((n) => !n.gone && same(n.claim, mine))
            .filter((n) => n.at > latest - mine.windowSeconds * 1000)
            .reduce((total, n) => total + Math.round(Number(n.claim.amount) * 1000), 0)
          expect(Math.round(Number(reading.prior) * 1000)).toBe(sum)
          taken.push({ action, at: latest, claim: mine, gone: false })
        })
        if (answer.kind === 'budget') break
        naive.push(...taken)
        reserved.push(wanted)
        break
      }
      case 'dispatch': {
        const [next] = reserved.splice(step.of % Math.max(1, reserved.length), 1)
        if (next === undefined) break
        const { actionId, key, grant, budgets } = next
        const claims = { ...(key === null ? {} : { key }), ...(grant === null ? {} : { grant }) }
        write('ACTION_DISPATCHED', dispatched(actionId, { ...claims, budgets }))
        for (const n of naive.filter(({ action }) => action === actionId)) n.at = line.now()
        inFlight.push(actionId)
        break
      }
      case 'conclude': {
        const [action] = inFlight.splice(step.of % Math.max(1, inFlight.length), 1)
        if (action === undefined) break
        const outcome = step.settles
        const [verdict, effect] = step.as
        const settles = { action_id: action, outcome, replayable: false }
        const released = outcome === null ? verdict === 'engine_failure' : outcome === 'release'
        const settle = () =>
          state.settle(
            action,
            released
              ? { kind: 'release' }
              : { kind: 'commit', capsuleId: sha(action), replayable: false },
          )
        if (step.settleFirst) await settle()
        write('CAPSULE', {
          ...capsule(action, verdict, effect),
          ...(outcome === null ? {} : { settles }),
        })
        if (!step.settleFirst) await settle()
        if (released) for (const n of naive.filter((n) => n.action === action)) n.gone = true
        break
      }
      case 'abandon': {
        const [next] = reserved.splice(step.of % Math.max(1, reserved.length), 1)
        if (next === undefined) break
        await state.settle(next.actionId, { kind: 'release' })
        for (const n of naive.filter(({ action }) => action === next.actionId)) n.gone = true
        break
      }
      case 'wait':
        line.wait(step.ms)
        break
      case 'item':
        write(
          'CAPSULE',
          capsule(
            `i${++made}`,
            step.verdict,
            undefined,
            step.over === null ? undefined : `i${step.over % made}`,
          ),
        )
        break
      case 'grant': {
        const expires_at = new Date(line.now() + step.forMs).toISOString()
        const { grant, uses } = step
        const known = JSON.stringify(state.dump()).includes(`"grant":"${grant}"`)
        if (step.revoke) write('GRANT_REVOKED', { grant })
        else if (!known) {
          const bound = { agent: 'bot', request_digest: sha('request') }
          write('GRANT_ISSUED', { grant, ...bound, expires_at, uses })
        }
        break
      }
      case 'halt':
        write(step.type, { scope: { kind: 'agent', name: step.name } })
        break
      case 'describe': {
        const { server, definition, tools } = step
        const [tool = ''] = tools
        const pin = await state.pin(server, tool)
        if (step.type === 'pin') {
          write('TOOLS_PINNED', { server, tools: tools.map((tool) => ({ tool, definition })) })
        } else if (pin !== null && step.type === 'change') {
          write('TOOL_CHANGED', { server, tool, pinned: pin.definition, seen: definition })
        } else if (pin !== null) {
          write('TOOL_ACCEPTED', { server, tool, definition: pin.changed ?? pin.definition })
        }
        break
      }
      case 'commit': {
        const { session: sessionId, agent, mandate: mandateId, so: soId, idp: idpId } = step
        const [actionId, at] = [`d${++made}`, line.now()]
        const request = { sessionId, agent, soId, idpId, step: step.step, mandateId, actionId, at }
        const outcome = await state.commitIntent(request)
        if (outcome.kind === 'committed') declared.push({ request, ...outcome })
        break
      }
      case 'submit': {
        const next = declared.shift()
        if (next === undefined) break
        const { sessionId: session_id, agent, soId: so_id, mandateId: mandate_id } = next.request
        const { idpId: idp_id, step: step_sequence, actionId: action_id } = next.request
        if (next.opens) write('SESSION_OPENED', { session_id, agent })
        if (next.presents) write('MANDATE_PRESENTED', { session_id, agent, mandate_id, so_id })
        const of = { session_id, agent, so_id, mandate_id, idp_id, step_sequence, action_id }
        write('IDP_SUBMITTED', of)
        break
      }
      case 'unwritten': {
        const next = declared.shift()
        if (next === undefined) break
        unwritten++
        await state.releaseIntent(next.request.actionId)
        break
      }
      case 'session': {
        const { session: session_id, does, of } = step
        // A mandate of its own: the gate uses none in two open sessions.
        const mandate_id = `mission of ${session_id}`
        if (does === 'mismatch') {
          write('IDP_MISSION_REF_MISMATCH_REJECTED', { session_id, mandate_id })
        }
        if (does === 'close') write('SESSION_CLOSED', { session_id })
        if (does === 'gap') {
          await state.stopSession(session_id)
          write('IDP_COMMITMENT_GAP', { session_id })
        }
        if (does === 'resume') {
          const approval_id = asked[of % Math.max(1, asked.length)] ?? 'nobody'
          write('SESSION_RESUMED', { session_id, approval_id })
        }
        if (does.startsWith('ask')) {
          const approval_id = `q${++made}`
          asked.push(approval_id)
          const holds = does === 'ask call' ? 'call' : 'session'
          const capsule_id = sha(`capsule of ${approval_id}`)
          const request_digest = sha(approval_id)
          write('CAPSULE', capsule(approval_id, 'hitl_dispatched'))
          write('APPROVAL_OPENED', { approval_id, capsule_id, request_digest, session_id, holds })
        }
        break
      }
      case 'answer': {
        const id = asked[step.of % Math.max(1, asked.length)]
        if (id === undefined) break
        const approval = await state.approval(id)
        if (approval === null || approval.state.kind === 'closed') break
        if (step.does === 'end') {
          write('CAPSULE', capsule(`e${++made}`, 'resolved', undefined, id))
        } else if (approval.state.kind === 'pending') {
          const expires_at = new Date(line.now() + 10_000).toISOString()
          const { agent, requestDigest: request_digest } = approval
          const bound = { agent, request_digest, approval_id: id }
          write('GRANT_ISSUED', { grant: id, ...bound, expires_at, uses: 1 })
        }
        break
      }
      case 'governed': {
        const { so: so_id, name, phase, from: from_state, to: to_state, principal } = step
        if (step.type === 'MANDATE_REVOKED') write(step.type, { mandate_id: name })
        else if (step.type === 'MISSION_SET') write(step.type, { mission_ref: name, phase })
        else if (step.type === 'OBJECT_SET') write(step.type, { so_id, state: to_state ?? 'set' })
        else {
          const who = principal !== null && step.type === 'STATE_TRANSITIONED' ? { principal } : {}
          write(step.type as LineType, { so_id, from_state, to_state, ...who })
        }
        break
      }
      default:
        step satisfies never
    }
  }
  const holds = reserved.length + declared.length + unwritten
  return { state, lines, holds, now: Math.max(latest, line.now()) }
}

const foldOf = (lines: readonly Line[], dump?: unknown) => {
  const state = createEmbeddedState({ tenant: TENANT, keyTtlSeconds: TTL_SECONDS })
  // Through text, as a snapshot file would bring it back.
  if (dump !== undefined) expect(state.load(JSON.parse(JSON.stringify(dump)))).toBeNull()
  for (const line of lines) state.apply(line)
  return state
}

type Folded = ReturnType<typeof createEmbeddedState>

/** All that a gate asks of sessions, declarations and objects; commits are tried last, because they count. */
async function told(state: Folded, now: number) {
  const sessions = await Promise.all(
    SESSIONS.map(async (sessionId) => {
      const session = await state.session(sessionId)
      const standing = { sessionId, mandateId: 'm-1', missionRef: 'm-2', object: null }
      return {
        session: session === null ? null : { ...session, mandates: [...session.mandates].sort() },
        over: await state.isOver(sessionId),
        stands: state.stillStands(standing),
      }
    }),
  )
  const objects = await Promise.all(['o-1', 'o-2', '__proto__', 'o-3'].map(state.object))
  const missions = await Promise.all(['m-1', 'm-2', 'constructor', 'x'].map(state.mission))
  const revoked = await Promise.all(['m-1', 'm-2', 'constructor', 'x'].map(state.isRevoked))
  const commits: unknown[] = []
  for (const [n, sessionId] of SESSIONS.entries()) {
    for (const [idpId, step] of [
      ['i-0', 100],
      ['i-1', 101],
      ['fresh', 6],
      ['fresh-2', 200],
    ] as const) {
      const of = { sessionId, agent: 'bot', soId: 'o-1', mandateId: 'm-1', at: now }
      const actionId = `p-${n}-${idpId}`
      const { kind, ...more } = await state.commitIntent({ ...of, idpId, step, actionId })
      // The action behind an id is known only for a while.
      commits.push(kind === 'duplicate' ? kind : { kind, ...more })
    }
  }
  return { sessions, objects, missions, revoked, commits }
}

describe('embedded state is a fold', () => {
  it('dumps the same running, from scratch, and from any dump and the rest', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(op, { maxLength: 80, size: 'max' }),
          fc.array(declaredOp, { maxLength: 80, size: 'max' }),
          fc.array(fc.oneof(op, declaredOp), { maxLength: 80, size: 'max' }),
        ),
        fc.nat(),
        async (ops, pick) => {
          const { state, lines } = await run(ops)
          const running = JSON.stringify(state.dump())
          expect(JSON.stringify(foldOf(lines).dump())).toBe(running)
          const cut = lines.length === 0 ? 0 : pick % (lines.length + 1)
          const half = foldOf(lines.slice(0, cut)).dump()
          expect(JSON.stringify(foldOf(lines.slice(cut), half).dump())).toBe(running)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('decides the same after a restart as before it, when nothing was only reserved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 60, size: 'max' }), async (ops) => {
        const { state, lines, holds, now } = await run(ops)
        fc.pre(holds === 0)
        const restarted = [foldOf(lines), foldOf([], state.dump())]
        const probe = (id: string, over: Partial<ReserveRequest>) =>
          request(id, { at: now, ...over })
        for (const [i, over] of [
          ...['k1', 'k2', 'k3'].map((key) => ({ key: sha(key) })),
          ...['g1', 'g2'].map((grant) => ({ grant })),
          ...[sha('x'), sha('y')].map((scope) => ({
            budgets: [claim({ scope, windowSeconds: 10, amount: '2', max: '5' })],
          })),
        ].entries()) {
          const expected = await state.reserve(probe(`p${i}`, over))
          for (const other of restarted) {
            expect(await other.reserve(probe(`p${i}`, over))).toEqual(expected)
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it('says the same of sessions, declarations and objects after a restart as before it', async () => {
    const ops = fc.array(declaredOp, { maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(ops, async (steps) => {
        const { state, lines, holds, now } = await run(steps)
        fc.pre(holds === 0)
        const restarted = [foldOf(lines), foldOf([], state.dump())]
        const expected = await told(state, now)
        for (const other of restarted) {
          // One that is over is never listed as open, whatever line came after its end.
          for (const { sessionId } of await other.sessions()) {
            expect(await other.isOver(sessionId)).toBe(false)
          }
          expect(await told(other, now)).toEqual(expected)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('refuses a dump it did not write', () => {
    for (const dump of [null, {}, { v: 2 }, 'x']) {
      const state = createEmbeddedState({ tenant: TENANT })
      const before = state.dump()
      expect(state.load(dump)).toMatch(/ is not /)
      expect(state.dump()).toEqual(before)
    }
  })

  it('lets go of everything time is over for, so that memory holds open things only', async () => {
    const state = createEmbeddedState({ tenant: TENANT, keyTtlSeconds: TTL_SECONDS })
    const line = lineWriter(T0)
    const empty = JSON.stringify({ ...(state.dump() as object), at: 0 })
    for (let i = 0; i < 500; i++) {
      const budgets = [claim({ scope: sha(`s${i}`), windowSeconds: 10 })]
      state.apply(line('ACTION_DISPATCHED', dispatched(`a${i}`, { key: sha(`k${i}`), budgets })))
      state.apply(line('CAPSULE', capsule(`a${i}`, 'executed', 'confirmed')))
    }
    expect((state.dump() as { keys: unknown[] }).keys).toHaveLength(500)
    line.wait(TTL_SECONDS * 1000)
    state.apply(line('REPLAYED', {}))
    expect(JSON.stringify({ ...(state.dump() as object), at: 0 })).toBe(empty)
  })
})
