import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  createReplayIndex,
  replayKey,
} from '../../../src/adapters/state/embedded/sessions/replay-index.js'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import { TENANT } from '../../support/tenant.js'
import { lineWriter } from './lines.js'

const loaded = (dump: readonly string[]) => {
  const index = createReplayIndex()
  index.load(JSON.parse(JSON.stringify(dump)))
  return index
}

describe('the replay index', () => {
  it('knows a hundred thousand ids, and none that never came, before and after a dump', () => {
    const index = createReplayIndex()
    const ids = Array.from({ length: 100_000 }, () => replayKey('o-1', randomUUID()))
    for (const id of ids) index.add(id)
    const strangers = Array.from({ length: 100_000 }, () => replayKey('o-1', randomUUID()))
    const again = loaded(index.dump())
    for (const each of [index, again]) {
      expect(each.size()).toBe(ids.length)
      expect(ids.every(each.has)).toBe(true)
      expect(strangers.some(each.has)).toBe(false)
    }
    expect(again.dump()).toEqual(index.dump())
    // 16 octets each, at most doubled, and a place in the table.
    expect(index.bytes()).toBeLessThan(ids.length * 64)
    const text = index.dump().reduce((sum, chunk) => sum + chunk.length, 0)
    process.stdout.write(`${ids.length} ids: ${index.bytes()} octets, ${text} in a dump\n`)
  }, 120_000)

  it('is a set, whatever meets in its table, wherever it is dumped and loaded', () => {
    const few = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 40 }))
    const op = fc.oneof(
      { weight: 9, arbitrary: few.map(([head, rest]) => ({ head, rest })) },
      fc.constant(null),
    )
    fc.assert(
      fc.property(fc.array(op, { maxLength: 200 }), (ops) => {
        let index = createReplayIndex()
        const model = new Set<string>()
        for (const each of ops) {
          if (each === null) {
            index = loaded(index.dump())
            continue
          }
          // The first octets are the slot, so these all meet.
          const key = Buffer.alloc(16)
          key.writeUInt32LE(0xffff_fffc + each.head, 0)
          key.writeUInt32LE(each.rest, 12)
          expect(index.has(key)).toBe(model.has(key.toString('hex')))
          index.add(key)
          model.add(key.toString('hex'))
          expect(index.has(key)).toBe(true)
        }
        expect(index.size()).toBe(model.size)
      }),
      { numRuns: 100 },
    )
  })

  it('does not keep the caller’s octets', () => {
    const index = createReplayIndex()
    const key = Buffer.from(replayKey('o-1', 'i-1'))
    index.add(key)
    key.fill(0)
    expect(index.has(replayKey('o-1', 'i-1'))).toBe(true)
    expect(index.has(key)).toBe(false)
  })

  it('keeps objects apart that could be spelt alike', () => {
    const index = createReplayIndex()
    index.add(replayKey('a', 'b'))
    for (const [scope, id] of [
      ['ab', ''],
      ['', 'ab'],
      ['b', 'a'],
      ['session', 'b'],
    ] as const) {
      expect(index.has(replayKey(scope, id))).toBe(false)
    }
  })
})

describe('a snapshot of the state', () => {
  it('of before intents has no sessions, and loads as that', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const { sessions, governed, ...older } = state.dump() as { [name: string]: unknown }
    expect([sessions, governed]).not.toContain(undefined)
    expect(state.load(JSON.parse(JSON.stringify(older)))).toBeNull()
    expect(await state.sessions()).toEqual([])
    const { sessions: none } = state.dump() as { [name: string]: unknown }
    expect(none).toEqual({ open: [], over: [], ids: [] })
  })

  it('forgets what was committed after its lines, and nothing else', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const line = lineWriter(Date.parse('2026-03-01T12:00:00.000Z'))
    const of = { agent: 'bot', soId: 'o-1', mandateId: 'm-1', at: line.now() }
    const commit = (sessionId: string, idpId: string, step: number) =>
      state.commitIntent({ ...of, sessionId, idpId, step, actionId: `a-${idpId}` })
    await commit('s-1', 'i-1', 1)
    await commit('s-1', 'i-2', 2)
    state.apply(line('SESSION_OPENED', { session_id: 's-1', agent: 'bot' }))
    const submitted = { session_id: 's-1', agent: 'bot', so_id: 'o-1', action_id: 'a-i-1' }
    state.apply(line('IDP_SUBMITTED', { ...submitted, idp_id: 'i-1', step_sequence: 1 }))
    const dump = JSON.stringify(state.dump())
    expect(state.load(JSON.parse(dump))).toBeNull()
    expect(JSON.stringify(state.dump())).toBe(dump)
    expect(await commit('s-1', 'i-1', 3)).toEqual({ kind: 'duplicate', actionId: null })
    expect(await commit('s-1', 'i-2', 2)).toMatchObject({ kind: 'committed', opens: false })
  })

  it.each([
    ['half an id', ['AAAA']],
    ['no ids in a text', ['']],
    ['text that is no base64url', ['!'.repeat(22)]],
    ['a number', [1]],
  ])('with %s is refused', (_, ids) => {
    const state = createEmbeddedState({ tenant: TENANT })
    const dump = state.dump() as { [name: string]: unknown }
    expect(state.load({ ...dump, sessions: { open: [], over: [], ids } } as never)).not.toBeNull()
  })
})
