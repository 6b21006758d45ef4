import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Answer } from '../../../src/gate/answer/answer.js'
import {
  createPermits,
  MOST_PERMITS,
  type PermitEnd,
  type Permits,
} from '../../../src/gate/permit/permits.js'
import { fakeTime } from '../../support/approvals.js'
import { draws } from '../../support/draws.js'

/** Permits alone, on a clock that the test moves: each ends once, and nothing of it stays. */
const CLAIMED: PermitEnd = { kind: 'claimed', ok: true }
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A permit whose call is concluded when the test says so. */
function given(permits: Permits, actionId: string, agent = 'bot', ms = 1_000) {
  let conclude: () => void = () => undefined
  const concluded = new Promise<Answer>((_, reject) => {
    // How it ended does not matter here.
    conclude = () => reject(new Error('concluded'))
  })
  concluded.catch(() => undefined)
  const result = permits.give({ actionId, agent, ms, concluded })
  return { result, conclude }
}
async function endOf(permits: Permits, actionId: string): Promise<PermitEnd> {
  const { result } = given(permits, actionId)
  if (result.kind !== 'given') throw new Error(result.cause)
  return result.ended
}

describe('a permit', () => {
  it('says until when it is good, and is over then', async () => {
    const time = fakeTime()
    const permits = createPermits(time)
    const { result } = given(permits, 'a', 'bot', 1_500)
    expect(result).toMatchObject({ kind: 'given', deadline: '2026-03-01T12:00:01.500Z' })
    time.advance(1.499)
    const ended = result.kind === 'given' ? result.ended : null
    expect(await Promise.race([ended, turn().then(() => 'open')])).toBe('open')
    time.advance(0.001)
    expect(await ended).toEqual({ kind: 'sent', cause: 'not_reported', deadline: true })
    expect(permits.find('a', 'bot')?.end(CLAIMED)).toBe(false)
    expect(time.waiting()).toBe(0)
  })

  it('is found by its own agent until its call is concluded', async () => {
    const permits = createPermits(fakeTime())
    const { conclude } = given(permits, 'a')
    expect(permits.find('a', 'other')).toBeNull()
    expect(permits.find('b', 'bot')).toBeNull()
    expect(permits.find('a', 'bot')?.end(CLAIMED)).toBe(true)
    expect(permits.find('a', 'bot')?.end(CLAIMED)).toBe(false)
    conclude()
    await turn()
    expect(permits.find('a', 'bot')).toBeNull()
  })

  it('is one of so many that an agent may hold, until it is concluded', async () => {
    const permits = createPermits(fakeTime())
    const all = Array.from({ length: MOST_PERMITS }, (_, i) => given(permits, `a${i}`))
    expect(new Set(all.map(({ result }) => result.kind))).toEqual(new Set(['given']))
    expect(given(permits, 'more').result).toEqual({ kind: 'refused', cause: 'permits_exhausted' })
    expect(given(permits, 'else', 'other').result.kind).toBe('given')
    permits.find('a0', 'bot')?.end(CLAIMED)
    expect(given(permits, 'more').result.kind).toBe('refused')
    all[0]?.conclude()
    await turn()
    expect(given(permits, 'more').result.kind).toBe('given')
    expect(given(permits, 'yet more').result.kind).toBe('refused')
  })

  it('is cut when the gate stops, which waits for its record and gives no more', async () => {
    const time = fakeTime()
    const permits = createPermits(time)
    const { result, conclude } = given(permits, 'a')
    let stopped = false
    const stopping = permits.stop().then(() => {
      stopped = true
    })
    if (result.kind !== 'given') throw new Error(result.cause)
    expect(await result.ended).toEqual({ kind: 'sent', cause: 'gate_stopped', deadline: false })
    expect(given(permits, 'b').result).toEqual({ kind: 'refused', cause: 'withdrawn' })
    await turn()
    expect(stopped).toBe(false)
    conclude()
    await stopping
    expect(time.waiting()).toBe(0)
  })

  it('ends once, whatever comes and in whatever order', async () => {
    type Step = 'report' | 'wait' | 'stop'
    const step = fc.constantFrom<Step>('report', 'report', 'wait', 'stop')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const time = fakeTime()
        const permits = createPermits(time)
        const ended = endOf(permits, 'a')
        let wins = 0
        let expected: PermitEnd['kind'] | 'open' = 'open'
        for (const each of steps) {
          if (each === 'report') {
            const won = permits.find('a', 'bot')?.end(CLAIMED) === true
            expect(won).toBe(expected === 'open')
            if (won) wins++
            expected = won ? 'claimed' : expected
          } else {
            if (each === 'wait') time.advance(2)
            else void permits.stop()
            if (expected === 'open') expected = 'sent'
          }
        }
        expect(wins).toBe(expected === 'claimed' ? 1 : 0)
        const seen = await Promise.race([ended.then(({ kind }) => kind), turn().then(() => 'open')])
        expect(seen).toBe(expected)
      }),
      { numRuns: draws(1_000, 200) },
    )
  })
})
