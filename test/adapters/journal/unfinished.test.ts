import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { GateError } from '../../../src/core/error.js'
import { makePlace, note, type Place, rawLines } from './harness.js'

/**
 * What a crash may leave behind the newest head, and what it cannot have left: the first is cut and kept aside,
 * the second refuses the start and nothing is changed (DESIGN §5).
 */
let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const file = (): string => join(place.dir, '00000001.jsonl')
const LF = 10
/** Octets up to and with the n-th line. */
function upTo(bytes: Buffer, lines: number): number {
  let at = 0
  for (let n = 0; n < lines; n++) at = bytes.indexOf(LF, at) + 1
  return at
}

/** Three batches of three notes; the second head knows the first two. */
async function written(): Promise<{ bytes: Buffer; covered: number; known: Buffer }> {
  const journal = await place.open()
  await journal.append([note(1), note(2), note(3)])
  await journal.append([note(4), note(5), note(6)])
  await journal.close()
  const known = readFileSync(place.headFile)
  const covered = readFileSync(file()).length
  const again = await place.open()
  await again.append([note(7), note(8), note(9)])
  await again.close()
  writeFileSync(place.headFile, known)
  place.reports.length = 0
  return { bytes: readFileSync(file()), covered, known }
}

/** Opens on these octets; the folder is then as it was written. */
async function openOn(bytes: Buffer, { bytes: whole, known }: { bytes: Buffer; known: Buffer }) {
  writeFileSync(file(), bytes)
  writeFileSync(place.headFile, known)
  place.reports.length = 0
  try {
    const journal = await place.open()
    const { seq } = journal.head()
    await journal.close()
    const left = readFileSync(file())
    const torn = place.reports.find(({ kind }) => kind === 'torn_tail')
    const kept = torn?.kind === 'torn_tail' ? readFileSync(torn.kept) : null
    return { kind: 'opened', seq, left, kept } as const
  } catch (error) {
    const { code } = error as GateError
    return { kind: 'refused', code, left: readFileSync(file()) } as const
  } finally {
    writeFileSync(file(), whole)
  }
}

describe('a batch that was never finished', () => {
  it('is cut at any octet of it: back to the head before, and kept aside', async () => {
    const made = await written()
    const { bytes, covered } = made
    // A start costs milliseconds: the places around each line end, and every 17th octet between them.
    const ends = [8, 9, 10, 11, 12].map((lines) => upTo(bytes, lines))
    const isTried = (size: number): boolean =>
      size % 17 === 0 || ends.some((end) => Math.abs(end - size) <= 2)
    for (let size = covered + 1; size < bytes.length; size++) {
      if (!isTried(size)) continue
      const found = await openOn(bytes.subarray(0, size), made)
      expect(found).toEqual({
        kind: 'opened',
        seq: 8,
        left: bytes.subarray(0, covered),
        kept: bytes.subarray(covered, size),
      })
    }
    expect(await openOn(bytes, made)).toMatchObject({ kind: 'opened', seq: 12, kept: null })
  })

  it('is cut when its end was kept and its middle was lost, as zeros or as nothing', async () => {
    const made = await written()
    const { bytes, covered } = made
    const hole = fc
      .tuple(fc.nat({ max: bytes.length - covered - 2 }), fc.integer({ min: 1, max: 200 }))
      .map(([from, length]) => [covered + from, length] as const)
    await fc.assert(
      fc.asyncProperty(hole, fc.boolean(), async ([from, length], zeros) => {
        const end = Math.min(from + length, bytes.length - 1)
        const middle = zeros ? Buffer.alloc(end - from) : Buffer.alloc(0)
        const lost = Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(end)])
        const found = await openOn(lost, made)
        expect(found).toMatchObject({ kind: 'opened', seq: 8, kept: lost.subarray(covered) })
        expect(found.left).toEqual(bytes.subarray(0, covered))
      }),
      { numRuns: 40 },
    )
  })
})

describe('what no crash leaves behind the newest head', () => {
  const cases: Record<string, (bytes: Buffer, covered: number) => Buffer> = {
    'two batches with heads that do not hold': (bytes) => {
      const text = bytes.toString('latin1').split('\n')
      for (const at of [7, 11]) text[at] = (text[at] ?? '').replace(/"sig":"..../, '"sig":"AAAA')
      return Buffer.from(text.join('\n'), 'latin1')
    },
    'a head line that is not the last line': (bytes, covered) => {
      const last = bytes.subarray(upTo(bytes, 11))
      return Buffer.concat([
        bytes.subarray(0, covered),
        last,
        bytes.subarray(covered, upTo(bytes, 9)),
      ])
    },
    'two head lines': (bytes) => {
      const last = bytes.subarray(upTo(bytes, 11))
      return Buffer.concat([bytes.subarray(0, upTo(bytes, 9)), last, last])
    },
    'a line of the first batch changed': (bytes) =>
      Buffer.from(bytes.toString('latin1').replace('"n":2,', '"n":3,'), 'latin1'),
  }
  it.each(Object.keys(cases))('%s: damage, and nothing is cut', async (name) => {
    const made = await written()
    const changed = cases[name]?.(made.bytes, made.covered) ?? made.bytes
    const found = await openOn(changed, made)
    expect(found).toMatchObject({ kind: 'refused', code: 'damaged' })
    expect(found.left).toEqual(changed)
    expect(readdirSync(place.dir).filter((each) => each.endsWith('.torn'))).toEqual([])
  })

  it('a cut below the second head is refused, and nothing is cut', async () => {
    const made = await written()
    for (const lines of [4, 6, 7]) {
      const cut = made.bytes.subarray(0, upTo(made.bytes, lines))
      const found = await openOn(cut, made)
      expect([lines, found.kind === 'refused' && found.code]).toEqual([lines, 'behind'])
      expect(found.left).toEqual(cut)
    }
  })

  it('a cut below the head of a signed snapshot is refused, without a second head too', async () => {
    const journal = await place.open({ headFile: null })
    await journal.append([note(1)])
    await journal.append([note(2)])
    await journal.writeSnapshot({ any: true })
    await journal.close()
    const bytes = readFileSync(file())
    writeFileSync(file(), bytes.subarray(0, upTo(bytes, 3)))
    await expect(place.open({ headFile: null })).rejects.toMatchObject({ code: 'behind' })
    expect(readFileSync(file()).length).toBe(upTo(bytes, 3))
    expect((await rawLines(place.dir)).length).toBe(3)
  })
})
