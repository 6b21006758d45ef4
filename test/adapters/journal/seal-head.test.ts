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
