import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { sweeper } from '../../../src/adapters/state/embedded/maps.js'
import { type Entry, slidingTotal } from '../../../src/adapters/state/embedded/sliding-total.js'
import { formatDecimal } from '../../../src/core/json/decimal.js'

describe('sliding total', () => {
  const step = fc.record({
    op: fc.constantFrom('push', 'push', 'push', 'remove', 'read', 'prune'),
    wait: fc.nat({ max: 400 }),
    /** How far the reader's clock is ahead of the journal's. */
    ahead: fc.nat({ max: 1500 }),
    cents: fc.nat({ max: 999 }),
    pick: fc.nat(),
  })

  it('equals the plain sum of what is inside, for readers ahead of the fold, and forgets nothing inside', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const window = slidingTotal(1000)
        const all: { entry: Entry; cents: number; gone: boolean }[] = []
        let now = 0
        let latest = 0
        for (const { op, wait, ahead, cents, pick } of steps) {
          now += wait
          if (op === 'push') {
            const entry = window.push(now, { units: BigInt(cents), scale: 2 }, null)
            all.push({ entry, cents, gone: false })
          }
          const picked = all[pick % Math.max(1, all.length)]
          if (op === 'remove' && picked !== undefined) {
            window.remove(picked.entry)
            picked.gone = true
          }
          if (op === 'prune') window.prune(now)
          const inside = (time: number) =>
            all.filter(({ entry, gone }) => !gone && entry.at > time - 1000)
          if (op === 'read') {
            latest = Math.max(latest, now + ahead)
            const sum = inside(latest).reduce((total, one) => total + one.cents, 0)
            expect(formatDecimal(window.totalAt(latest))).toBe(
              formatDecimal({ units: BigInt(sum), scale: 2 }),
            )
          }
          expect(window.inside(now)).toEqual(inside(now).map(({ entry }) => entry))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('lets a long fraction go with the entry that had it', () => {
    const window = slidingTotal(1000)
    window.push(0, { units: 1n, scale: 60 }, null)
    expect(window.totalAt(1000)).toEqual({ units: 0n, scale: 0 })
  })
})

describe('sweeper', () => {
  it('keeps the dead from outnumbering the living for long', () => {
    const map = new Map<string, number>()
    const sweep = sweeper(map, (diesAt, time) => diesAt <= time)
    let most = 0
    for (let time = 0; time < 100_000; time++) {
      map.set(`k${time}`, time + 100)
      sweep(time)
      most = Math.max(most, map.size)
    }
    expect(most).toBeLessThan(400)
  })
})
