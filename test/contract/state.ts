import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Line, LineType } from '../../src/core/journal/vocabulary.js'
import type { BudgetClaim, ReserveRequest, State } from '../../src/ports/state.js'
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
