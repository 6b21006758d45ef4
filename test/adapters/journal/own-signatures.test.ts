import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { isHeadType } from '../../../src/core/journal/vocabulary.js'
import type { JournalLine } from '../../../src/ports/journal.js'
import { makePlace, note, type Place } from './harness.js'

/** Each line's own signature is checked behind the running journal; a bad one is damage. */
let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const SEGMENT = 1200
const LINES = 14
async function filled(): Promise<void> {
  const journal = await place.open({ segmentBytes: SEGMENT })
  for (let n = 1; n <= LINES; n++) await journal.append([note(n, 60)])
  await journal.close()
}
const isNote = ({ type }: JournalLine): boolean => !isHeadType(type)

it('of the segment being written first, then of every closed one from the first on', async () => {
  await filled()
  const seen: unknown[] = []
  const journal = await place.open({
    segmentBytes: SEGMENT,
    lineFault(line) {
      if (isNote(line)) seen.push(line.n)
      return null
    },
  })
  const { segments, damage } = await journal.verified
  expect(damage).toBeNull()
  expect(segments).toBeGreaterThan(2)
  const first = seen.indexOf(1)
  expect(first).toBeGreaterThan(0)
  // The newest lines stand before line 1, and none is left out or asked about twice.
  const all = Array.from({ length: LINES }, (_, index) => index + 1)
  expect([...seen.slice(first), ...seen.slice(0, first)]).toEqual(all)
})

it.each([
  ['a closed segment', 2],
  ['the segment being written', LINES],
])('a bad one in %s is damage: told, and health says so', async (_, bad) => {
  await filled()
  const journal = await place.open({
    segmentBytes: SEGMENT,
    lineFault: ({ n }) => (n === bad ? 'signature' : null),
  })
  const { damage } = await journal.verified
  expect(damage).toMatch(/a NOTE whose own signature does not hold \(signature\)/)
  expect(journal.health()).toEqual({ ok: false, reason: damage })
  expect(place.reports).toEqual([{ kind: 'damaged', why: damage }])
})
