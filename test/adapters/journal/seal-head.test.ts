import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { makePlace, note, type Place, rawLines } from './harness.js'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

describe('a segment that is full at the start', () => {
  it('is sealed before the first line, with the members of its newest head', async () => {
    const first = await place.open()
    for (let n = 1; n <= 3; n++) await first.append([note(n)])
    await first.close()
    const second = await place.open({ segmentBytes: 500 })
    await second.append([note(4)])
    expect(place.reports).toEqual([])
    await second.close()
    const seal = JSON.parse((await rawLines(place.dir))[6] ?? '')
    expect(seal).toMatchObject({ type: 'SEGMENT_SEALED', upto: 6, lines: 3, capsules: 0 })
  })
})

describe('a journal whose newest head is a seal', () => {
  it('has it in its second place as a head, which the next start takes for its own', async () => {
    const first = await place.open({ segmentBytes: 1, headFile: null })
    for (let n = 1; n <= 2; n++) await first.append([note(n)])
    await first.close()
    // As a stop between a seal and the batch behind it leaves it.
    rmSync(join(place.dir, '00000002.jsonl'))
    const idle = await place.open({ acceptMissingHead: true })
    expect(idle.head().seq).toBe(3)
    await idle.close()
    const again = await place.open()
    await again.append([note(3)])
    await again.close()
    const last = await place.open()
    expect(last.head().seq).toBe(5)
  })
})
