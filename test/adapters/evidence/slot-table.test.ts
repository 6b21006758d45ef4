import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createSlotTable } from '../../../src/adapters/evidence/keys/slot-table.js'

describe('slot table', () => {
  it('offers every slot that was added under a prefix, through growth and collisions', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(0, 1, 1023, 1024, 0xffffffff, 77), { maxLength: 60 }),
        fc.integer({ min: 0, max: 3000 }),
        (prefixes, others) => {
          const table = createSlotTable()
          const tagOf = (prefix: number): Buffer => {
            const tag = Buffer.alloc(32)
            tag.writeUInt32BE(prefix)
            return tag
          }
          const expected = new Map<number, number[]>()
          prefixes.forEach((prefix, i) => {
            table.add(tagOf(prefix), i + 1)
            expected.set(prefix, [...(expected.get(prefix) ?? []), i + 1])
          })
          for (let i = 0; i < others; i++) table.add(tagOf(1_000_000 + i * 7), 100_000 + i)
          for (const [prefix, slots] of expected) {
            const found = [...table.candidates(tagOf(prefix))].sort((a, b) => a - b)
            expect(found).toEqual(slots)
          }
          expect([...table.candidates(tagOf(5))]).toEqual([])
        },
      ),
      { numRuns: 50 },
    )
  })
})
