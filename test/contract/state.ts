import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Line, LineType } from '../../src/core/journal/vocabulary.js'
import type { BudgetClaim, CommitRequest, ReserveRequest, State } from '../../src/ports/state.js'
import { known, rawLine } from '../support/lines.js'

/** What every driver of State must hold (DESIGN §8), through the port alone. */
export type OpenState = () => Promise<{
  state: State
  /** As the journal would hand it on, once it is durable. */
  fold(line: Line): void | Promise<void>
  close(): Promise<void>
}>

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex')
const T0 = Date.parse('2026-03-01T12:00:00.000Z')
const HOUR = 3600

export function claim(over: Partial<BudgetClaim> = {}): BudgetClaim {
  return {
    constraint: 'com.acme.daily',
    scope: sha('scope'),
    windowSeconds: HOUR,
    kind: 'sum',
    amount: '1',
    max: '10',
    advisory: false,
    ...over,
  }
}
export function request(actionId: string, over: Partial<ReserveRequest> = {}): ReserveRequest {
  return {
    actionId,
    operator: 'acme',
    agent: 'bot',
    requestDigest: sha('request'),
    at: T0,
    key: null,
    grant: null,
    item: null,
    budgets: [],
    ...over,
  }
}
const commit = (capsule: string, replayable = true) =>
  ({ kind: 'commit', capsuleId: sha(capsule), replayable }) as const
const release = { kind: 'release' } as const
const step = (actionId: string, over: Partial<CommitRequest> = {}): CommitRequest => ({
  sessionId: 's-1',
  agent: 'bot',
  soId: 'o-1',
  idpId: `id of ${actionId}`,
  step: 1,
  mandateId: 'm-1',
  actionId,
  at: T0,
  ...over,
})

export function stateContract(driver: string, open: OpenState): void {
  describe(`State contract: ${driver}`, () => {
    let state: State
    let fold: (line: Line) => void | Promise<void>
    let close: () => Promise<void>
    beforeEach(async () => {
      ;({ state, fold, close } = await open())
    })
    afterEach(() => close())
    const key = sha('key-1')

    it('gives a key that fifty claim at once to exactly one, and names it to the others', async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => state.reserve(request(`a${i}`, { key }))),
      )
      const won = answers.filter((answer) => answer.kind === 'reserved')
      expect(won).toHaveLength(1)
      const actionId = won[0]?.kind === 'reserved' ? won[0].actionId : ''
      for (const answer of answers.filter((other) => other.kind !== 'reserved')) {
        expect(answer).toEqual({
          kind: 'key',
          holder: { state: 'in_flight', actionId, requestDigest: sha('request') },
        })
      }
    })

    it('keeps keys of other agents and other operators apart', async () => {
      const kinds = await Promise.all([
        state.reserve(request('a', { key })),
        state.reserve(request('b', { key, agent: 'other' })),
        state.reserve(request('c', { key, operator: 'other' })),
        state.reserve(request('d', { key, agent: 'acme', operator: 'bot' })),
      ])
      expect(kinds.map(({ kind }) => kind)).toEqual(Array(4).fill('reserved'))
    })

    it('tells a completed key with its capsule, whatever digest asks', async () => {
      await state.reserve(request('a', { key }))
      await state.settle('a', commit('capsule'))
      const holder = {
        state: 'completed',
        actionId: 'a',
        capsuleId: sha('capsule'),
        requestDigest: sha('request'),
      }
      expect(await state.keyState('acme', 'bot', key)).toEqual(holder)
      const other = request('b', { key, requestDigest: sha('other request') })
      expect(await state.reserve(other)).toEqual({ kind: 'key', holder })
    })

    it('tells unknown for what committed without an answer to replay', async () => {
      await state.reserve(request('a', { key }))
      await state.settle('a', commit('capsule', false))
      expect(await state.keyState('acme', 'bot', key)).toEqual({
        state: 'unknown',
        actionId: 'a',
        requestDigest: sha('request'),
      })
    })

    it('frees key and budget on release, and a second settle changes nothing', async () => {
      const full = { key, budgets: [claim({ amount: '10' })] }
      await state.reserve(request('a', full))
      await state.settle('a', release)
      await state.settle('a', commit('late'))
      expect(await state.keyState('acme', 'bot', key)).toBeNull()
      expect(await state.reserve(request('b', full))).toEqual({
        kind: 'reserved',
        actionId: 'b',
        readings: [{ constraint: 'com.acme.daily', prior: '0', within: true }],
      })
    })

    it('adds decimals exactly: 0.1 and 0.2 fill 0.3, and not a hundredth more fits', async () => {
      const of = (amount: string) => ({ budgets: [claim({ amount, max: '0.3' })] })
      expect((await state.reserve(request('a', of('0.1')))).kind).toBe('reserved')
      expect((await state.reserve(request('b', of('0.2')))).kind).toBe('reserved')
      expect(await state.reserve(request('c', of('0.01')))).toEqual({
        kind: 'budget',
        readings: [{ constraint: 'com.acme.daily', prior: '0.3', within: false }],
      })
      expect((await state.reserve(request('d', of('0.00')))).kind).toBe('reserved')
    })

    it('never lets concurrent claims pass the maximum together', async () => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          state.reserve(request(`a${i}`, { budgets: [claim({ amount: '0.7', max: '10' })] })),
        ),
      )
      expect(answers.filter(({ kind }) => kind === 'reserved')).toHaveLength(14)
    })

    it('takes nothing when one of several claims fails', async () => {
      const wide = claim({ constraint: 'com.acme.wide', amount: '5', max: '5' })
      const narrow = claim({ constraint: 'com.acme.narrow', amount: '5', max: '4' })
      const refused = await state.reserve(request('a', { key, budgets: [wide, narrow] }))
      expect(refused).toEqual({
        kind: 'budget',
        readings: [
          { constraint: 'com.acme.wide', prior: '0', within: true },
          { constraint: 'com.acme.narrow', prior: '0', within: false },
        ],
      })
      expect(await state.keyState('acme', 'bot', key)).toBeNull()
      expect((await state.reserve(request('b', { key, budgets: [wide] }))).kind).toBe('reserved')
    })

    it('counts two claims on one window together', async () => {
      const half = claim({ amount: '6', max: '10' })
      expect((await state.reserve(request('a', { budgets: [half, half] }))).kind).toBe('budget')
    })

    it('never refuses an advisory claim, and still counts it', async () => {
      const over = claim({ amount: '99', advisory: true })
      expect(await state.reserve(request('a', { budgets: [over] }))).toMatchObject({
        kind: 'reserved',
        readings: [{ within: false }],
      })
      expect((await state.reserve(request('b', { budgets: [claim()] }))).kind).toBe('budget')
    })

    it('lets an amount go when it is as old as the window, and not a millisecond before', async () => {
      const all = { budgets: [claim({ amount: '10' })] }
      await state.reserve(request('a', all))
      await state.settle('a', commit('a'))
      const late = T0 + HOUR * 1000
      expect((await state.reserve(request('b', { ...all, at: late - 1 }))).kind).toBe('budget')
      expect((await state.reserve(request('c', { ...all, at: late }))).kind).toBe('reserved')
    })

    it('does not bring expired amounts back, nor expire others, when a clock goes back', async () => {
      const all = { budgets: [claim({ amount: '10' })] }
      await state.reserve(request('a', { ...all, at: T0 + 5000 }))
      await state.settle('a', commit('a'))
      expect((await state.reserve(request('b', { ...all, at: T0 }))).kind).toBe('budget')
    })

    it('refuses a second one of a kind within a dedupe window', async () => {
      const once = { budgets: [claim({ kind: 'dedupe', amount: '1', max: '1' })] }
      expect((await state.reserve(request('a', once))).kind).toBe('reserved')
      expect((await state.reserve(request('b', once))).kind).toBe('budget')
      await state.settle('a', release)
      expect((await state.reserve(request('c', once))).kind).toBe('reserved')
    })

    it('refuses a negative amount and gives nobody room by it', async () => {
      const minus = claim({ amount: '-100' })
      expect((await state.reserve(request('a', { budgets: [minus] }))).kind).toBe('budget')
      await state.reserve(request('b', { budgets: [{ ...minus, advisory: true }] }))
      const eleven = claim({ amount: '11' })
      expect((await state.reserve(request('c', { budgets: [eleven] }))).kind).toBe('budget')
    })

    it('rejects an amount that is no decimal, and takes nothing', async () => {
      const budgets = [claim({ amount: '10' }), claim({ amount: '1e3' })]
      await expect(state.reserve(request('a', { key, budgets }))).rejects.toThrow(/1e3/)
      const good = request('a', { key, budgets: [claim({ amount: '10' })] })
      expect((await state.reserve(good)).kind).toBe('reserved')
    })

    it('refuses a grant nobody issued, and takes nothing', async () => {
      const all = { key, budgets: [claim({ amount: '10' })] }
      const answer = await state.reserve(request('a', { ...all, grant: 'no-such' }))
      expect(answer).toEqual({ kind: 'grant', why: 'unknown' })
      expect((await state.reserve(request('b', all))).kind).toBe('reserved')
    })

    it('gives a claim to one holder at a time, and to the next when it is given up', async () => {
      const winners = await Promise.all(['a', 'b', 'c'].map((by) => state.claim('item', by)))
      expect(winners.map(({ kind }) => kind).sort()).toEqual(['claimed', 'held', 'held'])
      const [holder] = ['a', 'b', 'c'].filter((_, i) => winners[i]?.kind === 'claimed')
      const held = await state.claim('item', 'd')
      if (held.kind !== 'held') throw new Error(held.kind)
      expect(held.by).toBe(holder)
      expect((await state.claim('another', 'd')).kind).toBe('claimed')
      await state.unclaim('d')
      expect((await state.claim('item', 'd')).kind).toBe('held')
      await state.unclaim(holder as string)
      await held.settled
      expect((await state.claim('item', 'd')).kind).toBe('claimed')
    })

    it('gives up what an action claimed when it is settled', async () => {
      expect((await state.claim('item', 'a')).kind).toBe('claimed')
      await state.reserve(request('a', { key }))
      await state.settle('a', release)
      expect((await state.claim('item', 'b')).kind).toBe('claimed')
    })

    it('lets an agent open no more approvals at once than it may, by agent', async () => {
      const opened = await Promise.all(
        ['a', 'b', 'c', 'd'].map((by) => state.claimOpening('bot', by, 2)),
      )
      expect(opened.filter((may) => may)).toHaveLength(2)
      expect(await state.claimOpening('other', 'e', 2)).toBe(true)
      const [first] = ['a', 'b', 'c', 'd'].filter((_, i) => opened[i])
      await state.unclaim(first as string)
      expect(await state.claimOpening('bot', 'f', 2)).toBe(true)
      expect(await state.claimOpening('bot', 'g', 2)).toBe(false)
    })

    it('lets a session open no more approvals at once than it may, whatever its agent may', async () => {
      const session = { sessionId: 's-1', most: 2 }
      const opened = await Promise.all(
        ['a', 'b', 'c', 'd'].map((by) => state.claimOpening('bot', by, 9, session)),
      )
      expect(opened.filter((may) => may)).toHaveLength(2)
      expect(await state.claimOpening('bot', 'e', 9, { ...session, sessionId: 's-2' })).toBe(true)
      expect(await state.claimOpening('bot', 'f', 9)).toBe(true)
      const [first] = ['a', 'b', 'c', 'd'].filter((_, i) => opened[i])
      await state.unclaim(first as string)
      expect(await state.claimOpening('bot', 'g', 4, session)).toBe(true)
      // What its agent may open counts as well.
      expect(await state.claimOpening('bot', 'h', 4, { ...session, sessionId: 's-3' })).toBe(false)
    })

    describe('declarations', () => {
      let seq = 0
      const say = async (type: LineType, members: object): Promise<void> =>
        fold(known(rawLine(type, members, { seq: ++seq })))
      const ofLine = ({ actionId: action_id, ...of }: CommitRequest) => ({
        action_id,
        session_id: of.sessionId,
        agent: of.agent,
        so_id: of.soId,
        idp_id: of.idpId,
        step_sequence: of.step,
        mandate_id: of.mandateId,
      })
      const write = async (request: CommitRequest): Promise<void> => {
        await say('SESSION_OPENED', { session_id: request.sessionId, agent: request.agent })
        await say('MANDATE_PRESENTED', ofLine(request))
        await say('IDP_SUBMITTED', ofLine(request))
      }
      const standing = { sessionId: 's-1', mandateId: 'm-1', missionRef: 'x', object: null }

      it('commit an id that two hundred bring at once exactly once, and name the action', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) =>
            state.commitIntent(step(`a${n}`, { idpId: 'i', step: n + 1, sessionId: `s-${n % 3}` })),
          ),
        )
        expect(answers.filter(({ kind }) => kind === 'committed')).toHaveLength(1)
        const winner = answers.findIndex(({ kind }) => kind === 'committed')
        for (const answer of answers.filter(({ kind }) => kind !== 'committed')) {
          expect(answer).toEqual({ kind: 'duplicate', actionId: `a${winner}` })
        }
      })

      it('commit a step that two hundred bring at once exactly once', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) => state.commitIntent(step(`a${n}`, { step: 7 }))),
        )
        expect(answers.filter(({ kind }) => kind === 'committed')).toHaveLength(1)
        expect(answers.filter(({ kind }) => kind !== 'committed')).toEqual(
          Array.from({ length: 199 }, () => ({ kind: 'step', last: 7 })),
        )
      })

      it('tell exactly one of many at once to open the session and to show the mandate', async () => {
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, n) => state.commitIntent(step(`a${n}`, { step: n + 1 }))),
        )
        const told = (name: 'opens' | 'presents') =>
          answers.filter((answer) => answer.kind === 'committed' && answer[name])
        expect([told('opens').length, told('presents').length]).toEqual([1, 1])
      })

      it('are unique within their object alone, and steps within their session', async () => {
        const first = step('a', { idpId: 'i', step: 5 })
        expect((await state.commitIntent(first)).kind).toBe('committed')
        for (const [over, kind] of [
          [{ soId: 'o-2', step: 6 }, 'committed'],
          [{ sessionId: 's-2', step: 1 }, 'duplicate'],
          [{ idpId: 'j', sessionId: 's-2', mandateId: 'm-2', step: 5 }, 'committed'],
          [{ idpId: 'k', step: 6 }, 'step'],
          [{ idpId: 'k', step: 5 }, 'step'],
          [{ idpId: 'k', step: 7, agent: 'other' }, 'session'],
        ] as const) {
          const actionId = JSON.stringify(over)
          expect([
            over,
            (await state.commitIntent(step(actionId, { idpId: 'i', ...over }))).kind,
          ]).toEqual([over, kind])
        }
      })

      it('are under a mandate that no other open session has', async () => {
        const first = step('a')
        await state.commitIntent(first)
        const elsewhere = { sessionId: 's-2', step: 2 }
        const bound = { kind: 'session', why: 'bound' }
        expect(await state.commitIntent(step('b', elsewhere))).toEqual(bound)
        expect(await state.countMismatch(step('c', elsewhere))).toEqual(bound)
        expect(
          await state.commitIntent(step('d', { ...elsewhere, mandateId: 'm-2' })),
        ).toMatchObject({ kind: 'committed' })
        await write(first)
        await say('SESSION_CLOSED', { session_id: 's-1' })
        expect(await state.commitIntent(step('e', { sessionId: 's-3' }))).toMatchObject({
          kind: 'committed',
        })
        expect(await state.countMismatch(step('f', { sessionId: 's-4' }))).toEqual(bound)
      })

      it('leave a mandate free where nothing of it came to be', async () => {
        await state.commitIntent(step('a'))
        await state.releaseIntent('a')
        await state.countMismatch(step('b', { sessionId: 's-2' }))
        await state.unclaim('b')
        expect(await state.commitIntent(step('c', { sessionId: 's-3' }))).toMatchObject({
          kind: 'committed',
        })
      })

      it('are free again when their line could not be written, and their step is not', async () => {
        const request = step('a', { idpId: 'i', step: 3 })
        await state.commitIntent(request)
        await state.commitIntent(step('b', { step: 4 }))
        await state.releaseIntent('a')
        expect(await state.committed('o-1', 'i')).toBeNull()
        const again = await state.commitIntent({ ...request, actionId: 'c', step: 5 })
        // Both lines of the first were lost, so they are this one's now.
        expect(again).toMatchObject({ kind: 'committed', opens: true })
        expect(await state.commitIntent(step('d', { step: 4 }))).toEqual({ kind: 'step', last: 5 })
      })

      it('stay when their line is there, whoever takes them back', async () => {
        const request = step('a', { idpId: 'i' })
        await state.commitIntent(request)
        await write(request)
        await state.releaseIntent('a')
        expect(await state.committed('o-1', 'i')).toEqual({ actionId: 'a' })
        expect(await state.commitIntent({ ...request, actionId: 'b', step: 2 })).toEqual({
          kind: 'duplicate',
          actionId: 'a',
        })
      })

      it('of another mission have a number each, and one of them opens the session', async () => {
        const counted = await Promise.all(
          Array.from({ length: 20 }, (_, n) => state.countMismatch(step(`a${n}`))),
        )
        const numbers = counted.map((each) => (each.kind === 'counted' ? each.mismatches : 0))
        expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
        const opening = counted.filter((each) => each.kind === 'counted' && each.opens)
        expect(opening).toHaveLength(1)
        for (let n = 0; n < 20; n++) await state.unclaim(`a${n}`)
        // None of their lines came: nothing was ever open, and the next begins it.
        expect(await state.session('s-1')).toBeNull()
        expect(await state.countMismatch(step('b'))).toEqual({
          kind: 'counted',
          opens: true,
          mismatches: 1,
        })
      })

      it('stand on session, mandate and mission until a line ends one of them', async () => {
        const stands = () => state.stillStands(standing)
        expect(stands()).toBe(false)
        const request = step('a')
        await state.commitIntent(request)
        expect(stands()).toBe(true)
        await write(request)
        await say('MISSION_SET', { mission_ref: 'x', phase: 'SUSPENDED' })
        expect(stands()).toBe(false)
        await say('MISSION_SET', { mission_ref: 'x', phase: 'ACTIVE' })
        expect(stands()).toBe(true)
        await say('MANDATE_REVOKED', { mandate_id: 'm-1' })
        expect([stands(), state.stillStands({ ...standing, mandateId: 'm-2' })]).toEqual([
          false,
          true,
        ])
        await say('SESSION_CLOSED', { session_id: 's-1' })
        expect(state.stillStands({ ...standing, mandateId: 'm-2' })).toBe(false)
        // For good, also where a line of it was on its way.
        await write(step('b', { step: 2 }))
        expect([await state.isOver('s-1'), await state.session('s-1')]).toEqual([true, null])
        expect(await state.commitIntent(step('c', { step: 9 }))).toEqual({
          kind: 'session',
          why: 'over',
        })
      })

      it('wait while the session is stopped, until each that people were asked about is answered', async () => {
        const request = step('a')
        await state.commitIntent(request)
        await write(request)
        const stands = () => state.stillStands(standing)
        const gap = async (approval_id: string): Promise<void> => {
          await say('IDP_COMMITMENT_GAP', { session_id: 's-1' })
          const capsule_id = sha(approval_id)
          const about = { session_id: 's-1', holds: 'session', request_digest: sha(approval_id) }
          await say('APPROVAL_OPENED', { approval_id, capsule_id, ...about })
        }
        const resume = (approval_id: string) =>
          say('SESSION_RESUMED', { session_id: 's-1', approval_id })
        await state.stopSession('s-1')
        expect([stands(), (await state.session('s-1'))?.heldBy]).toEqual([false, 's-1'])
        await gap('q-1')
        // A second one, found while people were asked about the first.
        await state.stopSession('s-1')
        await resume('q-1')
        expect(stands()).toBe(false)
        await gap('q-2')
        expect([stands(), (await state.session('s-1'))?.heldBy]).toEqual([false, 'q-2'])
        await resume('q-2')
        expect([stands(), (await state.session('s-1'))?.heldBy]).toEqual([true, null])
      })
    })

    describe('pins', () => {
      const [d1, d2, d3] = [sha('d1'), sha('d2'), sha('d3')]
      const FILES = { server: 'files', tool: 'write' }
      let seq = 0
      const say = async (type: LineType, members: object): Promise<void> =>
        fold(known(rawLine(type, members, { seq: ++seq })))
      const pinned = (server: string, ...tools: (readonly [string, string])[]) =>
        say('TOOLS_PINNED', {
          server,
          tools: tools.map(([tool, definition]) => ({ tool, definition })),
        })
      const pin = () => state.pin('files', 'write')

      it('are none at first, and then of the server and tool that a line names alone', async () => {
        expect([await pin(), await state.pins()]).toEqual([null, []])
        await pinned('mail', ['write', d3])
        await pinned('files', ['write', d1], ['read', d2])
        expect(await pin()).toEqual({ ...FILES, definition: d1, changed: null })
        for (const [server, tool] of [
          ['files', 'send'],
          ['fileswrite', ''],
          ['', 'write'],
          ['__proto__', 'write'],
          ['files', 'toString'],
        ] as const) {
          expect(await state.pin(server, tool)).toBeNull()
        }
        expect((await state.pins()).map(({ server, tool }) => `${server} ${tool}`)).toEqual([
          'files read',
          'files write',
          'mail write',
        ])
      })

      it('are not moved by what is pinned later, only by an operator', async () => {
        await pinned('files', ['write', d1])
        await pinned('files', ['write', d2])
        expect(await pin()).toMatchObject({ definition: d1, changed: null })
        await say('TOOL_CHANGED', { ...FILES, pinned: d1, seen: d2 })
        expect(await pin()).toMatchObject({ definition: d1, changed: d2 })
        await say('TOOL_CHANGED', { ...FILES, pinned: d1, seen: d3 })
        expect(await pin()).toMatchObject({ definition: d1, changed: d3 })
        await say('TOOL_ACCEPTED', { ...FILES, definition: d3 })
        expect(await pin()).toMatchObject({ definition: d3, changed: null })
      })

      it('are as before where the server describes the tool as before', async () => {
        await pinned('files', ['write', d1])
        await say('TOOL_CHANGED', { ...FILES, pinned: d1, seen: d2 })
        await say('TOOL_CHANGED', { ...FILES, pinned: d1, seen: d1 })
        expect(await pin()).toMatchObject({ definition: d1, changed: null })
      })

      it('stay changed where another definition is accepted than the one last seen', async () => {
        await pinned('files', ['write', d1])
        await say('TOOL_CHANGED', { ...FILES, pinned: d1, seen: d3 })
        await say('TOOL_ACCEPTED', { ...FILES, definition: d2 })
        expect(await pin()).toMatchObject({ definition: d2, changed: d3 })
      })
    })

    it('agrees with a naive ledger over any sequence of reserve, commit and release', async () => {
      const step = fc.record({
        amount: fc.integer({ min: 0, max: 400 }).map((cents) => (cents / 100).toFixed(2)),
        wait: fc.integer({ min: 0, max: 4000 }),
        end: fc.constantFrom('commit', 'release', 'stay'),
        scope: fc.constantFrom('x', 'y'),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const fresh = await open()
          try {
            const ledger: { at: number; cents: bigint; scope: string }[] = []
            let at = T0
            for (const [i, { amount, wait, end, scope }] of steps.entries()) {
              at += wait
              const cents = BigInt(amount.replace('.', ''))
              const prior = ledger
                .filter((entry) => entry.scope === scope && entry.at > at - 10_000)
                .reduce((sum, entry) => sum + entry.cents, 0n)
              const budgets = [claim({ amount, scope, windowSeconds: 10, max: '10.00' })]
              const answer = await fresh.state.reserve(request(`a${i}`, { at, budgets }))
              expect(answer.kind).toBe(prior + cents <= 1000n ? 'reserved' : 'budget')
              if (answer.kind !== 'reserved') continue
              if (end !== 'release') ledger.push({ at, cents, scope })
              if (end === 'commit') await fresh.state.settle(`a${i}`, commit(`c${i}`))
              if (end === 'release') await fresh.state.settle(`a${i}`, release)
            }
          } finally {
            await fresh.close()
          }
        }),
        { numRuns: 60 },
      )
    })
  })
}
