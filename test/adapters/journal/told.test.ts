import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { DriverEntry } from '../../../src/adapters/journal/model.js'
import { makePlace, note, type Place } from './harness.js'

/** What someone without the keys can do to the files beside the lines: a start tells of it, or refuses. */
let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const SLOT = 1024
const dispatch = (n: number): DriverEntry => ({
  type: 'ACTION_DISPATCHED',
  json: JSON.stringify({ action_id: `act-${n}`, agent: 'bot', tool: 'create_refund' }),
})
async function fill(lines = 4): Promise<void> {
  const journal = await place.open({ segmentBytes: 600 })
  for (let n = 1; n <= lines; n++) await journal.append([note(n)])
  await journal.close()
}
/** Opens, closes, and answers with what was told. */
async function told(): Promise<readonly string[]> {
  place.reports.length = 0
  const journal = await place.open()
  await journal.verified
  await journal.close()
  return place.reports.map(({ kind }) => kind)
}
const slots = (): readonly [Buffer, Buffer] => {
  const bytes = readFileSync(place.headFile)
  return [bytes.subarray(0, SLOT), bytes.subarray(SLOT)]
}
const changed = (slot: Buffer): Buffer => {
  const out = Buffer.from(slot)
  out.write('#', 20)
  return out
}

describe('the second head', () => {
  it('is silent as it was left, at the first start and at later ones', async () => {
    const first = await place.open()
    await first.close()
    await fill()
    expect(await told()).toEqual([])
    expect(await told()).toEqual([])
  })

  it.each<[string, (one: Buffer, other: Buffer) => Buffer]>([
    ['a broken first slot', (one, other) => Buffer.concat([changed(one), other])],
    ['a broken second slot', (one, other) => Buffer.concat([one, changed(other)])],
    ['a slot of zeros', (_, other) => Buffer.concat([Buffer.alloc(SLOT), other])],
    ['one slot alone', (one) => one],
    ['octets behind it', (one, other) => Buffer.concat([one, other, Buffer.from('more')])],
  ])('with %s is told', async (_, change) => {
    await fill()
    await told()
    writeFileSync(place.headFile, change(...slots()))
    expect(await told()).toContain('head_file_damaged')
    // It is made whole by the start itself, or by the next head.
    const journal = await place.open()
    for (let n = 1; n <= 2; n++) await journal.append([note(n)])
    await journal.close()
    expect(await told()).toEqual([])
  })

  it('that is an older one than the journal reaches is told', async () => {
    await fill()
    const older = readFileSync(place.headFile)
    await fill()
    writeFileSync(place.headFile, older)
    expect(await told()).toEqual(['head_file_behind'])
  })

  it('refuses the start where the older slot is signed by somebody else', async () => {
    await fill()
    const [one, other] = slots()
    const texts = [one, other].map((slot) => JSON.parse(slot.toString().split(' ')[0] ?? ''))
    const older = texts[0].upto < texts[1].upto ? 0 : 1
    const text = JSON.stringify({ ...texts[older], lines: 0 })
    const sum = createHash('sha256').update(text).digest('hex')
    const slot = Buffer.from(`${`${text} ${sum}`.padEnd(SLOT - 1)}\n`)
    writeFileSync(place.headFile, Buffer.concat(older === 0 ? [slot, other] : [one, slot]))
    await expect(place.open()).rejects.toMatchObject({ code: 'head_file' })
  })
})

describe('the index of a closed segment', () => {
  const index = (): string => join(place.dir, '00000002.idx')
  /** With a checksum that fits, as anyone can make it. */
  function rewrite(change: (header: { [name: string]: unknown }, body: Buffer) => Buffer): void {
    const bytes = readFileSync(index())
    const end = bytes.indexOf(10)
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const body = change(header, bytes.subarray(end + 1))
    header.sha256 = createHash('sha256').update(body).digest('hex')
    writeFileSync(index(), Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]))
  }

  it.each<[string, Parameters<typeof rewrite>[0]]>([
    [
      'ids left out',
      (header, body) => {
        header.entries = Number(header.entries) - 1
        return body.subarray(12)
      },
    ],
    [
      'another seal',
      (header, body) => {
        header.seal = String(header.seal).replace('"lines":', '"lines":1')
        return body
      },
    ],
    [
      'an id that points elsewhere',
      (_, body) => {
        const out = Buffer.from(body)
        out.writeUInt32BE(1, 8)
        return out
      },
    ],
  ])('with %s and a checksum that fits is told and made anew', async (_, change) => {
    const journal = await place.open({ segmentBytes: 600 })
    for (let n = 1; n <= 8; n++) await journal.append([dispatch(n)])
    await journal.close()
    expect(await told()).toEqual([])
    const before = readFileSync(index())
    rewrite(change)
    expect(readFileSync(index()).equals(before)).toBe(false)
    expect(await told()).toEqual(['index_rebuilt'])
    expect(readFileSync(index()).equals(before)).toBe(true)
    expect(await told()).toEqual([])
  })
})

describe('segments', () => {
  it('of which only the indexes are here are told at each start', async () => {
    await fill(6)
    renameSync(join(place.dir, '00000001.jsonl'), join(place.root, 'elsewhere.jsonl'))
    expect(await told()).toEqual(['segments_archived'])
    expect(place.reports[0]).toMatchObject({ segments: 1, upto: expect.any(Number) })
    expect(await told()).toEqual(['segments_archived'])
  })

  it('that are all gone refuse the start, and no file is put in their place', async () => {
    await fill(1)
    rmSync(join(place.dir, '00000001.jsonl'))
    await expect(place.open()).rejects.toMatchObject({ code: 'behind' })
    expect(existsSync(join(place.dir, '00000001.jsonl'))).toBe(false)
  })
})
