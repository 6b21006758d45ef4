import { copyFile, cp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { GateError } from '../../../src/core/error.js'
import { isHeadType } from '../../../src/core/journal/vocabulary.js'
import type { JournalLine } from '../../../src/ports/journal.js'
import { allLines, eventKeys, KEYS, makePlace, note, type Place, rawLines } from './harness.js'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const SEGMENT = 1200
const file = (number: number, ext = 'jsonl'): string => join(place.dir, `0000000${number}.${ext}`)

/** Three lines with their heads fill a segment; the last one is open. */
async function fill(lines = 14): Promise<void> {
  const journal = await place.open({ segmentBytes: SEGMENT })
  for (let n = 1; n <= lines; n++) {
    const json = JSON.stringify({ action_id: `act-${n}`, pad: 'x'.repeat(60) })
    await journal.append([{ type: 'ACTION_DISPATCHED', json }])
  }
  await journal.close()
  place.reports.length = 0
}
const refusal = async (changes = {}): Promise<GateError> => {
  try {
    await place.open({ segmentBytes: SEGMENT, ...changes })
  } catch (error) {
    return error as GateError
  }
  throw new Error('the journal opened')
}
async function edit(path: string, change: (bytes: Buffer) => Buffer): Promise<void> {
  await writeFile(path, change(await readFile(path)))
}

describe('a changed byte', () => {
  it('anywhere in the lines is noticed at boot, with file and line', async () => {
    await fill()
    const names = (await readdir(place.dir)).filter((name) => name.endsWith('.jsonl')).sort()
    const texts = await Promise.all(names.map((name) => readFile(join(place.dir, name))))
    const spot = fc
      .nat({ max: names.length - 1 })
      .chain((i) => fc.tuple(fc.constant(i), fc.nat({ max: (texts[i] as Buffer).length - 1 })))
    await fc.assert(
      fc.asyncProperty(spot, fc.integer({ min: 1, max: 255 }), async ([i, at], flip) => {
        const path = join(place.dir, names[i] as string)
        await edit(path, (bytes) => {
          bytes[at] = (bytes[at] as number) ^ flip
          return bytes
        })
        const error = await refusal()
        await writeFile(path, texts[i] as Buffer)
        expect(['damaged', 'foreign_origin', 'forked', 'behind']).toContain(error.code)
        if (error.code === 'damaged') {
          expect(error.file).toMatch(/\.jsonl$/)
          expect(error.message).toMatch(/line \d+/)
        }
      }),
      { numRuns: 60 },
    )
    const journal = await place.open({ segmentBytes: SEGMENT })
    expect(journal.head().seq).toBeGreaterThan(14)
  }, 120_000)

  it('in the middle names the line, what was expected and what was found', async () => {
    await fill()
    await edit(file(1), (bytes) => Buffer.from(bytes.toString().replace('act-2', 'act-9')))
    const error = await refusal()
    expect(error).toMatchObject({ code: 'damaged', file: file(1), line: 4 })
    expect(error.message).toMatch(/expected prev [0-9a-f]{64}; found prev [0-9a-f]{64}/)
  })
})

describe('a journal that was rearranged', () => {
  it.each<[string, () => Promise<void>, string]>([
    ['a line removed', () => edit(file(1), (b) => b.subarray(b.indexOf(10) + 1)), 'damaged'],
    [
      'a line doubled',
      () => edit(file(1), (b) => Buffer.concat([b.subarray(0, b.indexOf(10) + 1), b])),
      'damaged',
    ],
    [
      'a line end removed in the middle',
      () => edit(file(1), (b) => Buffer.from(b.toString().replace('}\n{', '}{'))),
      'damaged',
    ],
    ['an empty line', () => edit(file(2), (b) => Buffer.concat([Buffer.from('\n'), b])), 'damaged'],
    ['a closed segment cut short', () => truncate(file(2), 700), 'damaged'],
    ['a closed segment emptied', () => truncate(file(2), 0), 'damaged'],
    [
      'the seal removed',
      () => edit(file(2), (b) => b.subarray(0, b.lastIndexOf(10, b.length - 2) + 1)),
      'damaged',
    ],
    [
      'a line after the seal',
      () => edit(file(2), (b) => Buffer.concat([b, b.subarray(0, b.indexOf(10) + 1)])),
      'forked',
    ],
    ['a middle segment deleted', () => rm(file(2)), 'damaged'],
    [
      'the first segment deleted with its index',
      async () => {
        await rm(file(1))
        await rm(file(1, 'idx'))
      },
      'damaged',
    ],
    [
      'two segments swapped',
      async () => {
        await rename(file(1), file(9))
        await rename(file(2), file(1))
        await rename(file(9), file(2))
      },
      'damaged',
    ],
    [
      'the last segment deleted',
      async () => {
        const names = (await readdir(place.dir)).filter((name) => name.endsWith('.jsonl')).sort()
        await rm(join(place.dir, names.at(-1) as string))
      },
      'behind',
    ],
  ])('with %s refuses to open', async (_, damage, code) => {
    await fill()
    await damage()
    expect((await refusal()).code).toBe(code)
    // A refusal repairs nothing: asked again, it refuses again.
    expect((await refusal()).code).toBe(code)
  })

  it('of another origin refuses to open', async () => {
    await fill()
    const error = await refusal({ origin: 'gate-2', headFile: null })
    expect(error).toMatchObject({ code: 'foreign_origin' })
    expect(error.message).toContain('expected origin gate-2; found origin gate-1')
  })

  it('whose seals were made with a key nobody vouches for refuses to open', async () => {
    await fill()
    const keys = eventKeys().records
    const error = await refusal({ keys, headFile: null })
    expect(error.message).toContain('seal: its signature: kid_unknown')
    expect((await refusal({ keys })).message).toContain(
      'the second head was not written by this gate (its signature: kid_unknown)',
    )
  })
})

describe('an older copy', () => {
  it('put back refuses to open and says what is missing', async () => {
    await fill(3)
    const copy = join(place.root, 'copy')
    await cp(place.dir, copy, { recursive: true })
    await fill(2)
    await rm(place.dir, { recursive: true })
    await rename(copy, place.dir)
    const error = await refusal()
    expect(error.code).toBe('behind')
    expect(error.message).toContain('Put the newest copy back')
  })

  it('that was continued elsewhere is a fork, not the same journal', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await journal.close()
    const copy = join(place.root, 'copy')
    await cp(place.dir, copy, { recursive: true })
    const here = await place.open()
    await here.append([note(2)])
    await here.close()
    const there = await place.open({ dir: copy, headFile: null })
    await there.append([note(3)])
    await there.close()
    await rm(place.dir, { recursive: true })
    await rename(copy, place.dir)
    expect((await refusal()).code).toBe('forked')
  })

  it('behind a signed snapshot refuses even without a second head', async () => {
    const journal = await place.open({ headFile: null })
    await journal.append([note(1)])
    await journal.append([note(2)])
    await journal.writeSnapshot({})
    await journal.close()
    // Back to the first head, as a crash could not have left it.
    await edit(file(1), (bytes) => bytes.subarray(0, bytes.indexOf(10, bytes.indexOf(10) + 1) + 1))
    expect((await refusal({ headFile: null })).code).toBe('behind')
  })
})

describe('a snapshot', () => {
  const state = { open: ['a'], n: 5 }
  const path = (): string => join(place.dir, 'snapshot')
  const snapshotted = async (): Promise<void> => {
    const journal = await place.open({ segmentBytes: SEGMENT })
    for (let n = 1; n <= 8; n++) await journal.append([note(n, 80)])
    await journal.writeSnapshot(state)
    for (let n = 9; n <= 14; n++) await journal.append([note(n, 80)])
    await journal.close()
    place.reports.length = 0
  }

  it('is handed back with its line, and what follows it can be folded', async () => {
    await snapshotted()
    const journal = await place.open()
    expect(journal.snapshot?.state).toEqual(state)
    const rest = await allLines(journal, (journal.snapshot?.seq ?? 0) + 1)
    expect(rest.filter(({ type }) => type === 'NOTE').map(({ n }) => n)).toEqual([
      9, 10, 11, 12, 13, 14,
    ])
  })

  it.each<[string, (bytes: Buffer) => Buffer | string]>([
    ['a changed state', (b) => b.toString().replace('"n":5', '"n":6')],
    ['a changed line number', (b) => b.toString().replace(/"seq":\d+/, '"seq":2')],
    ['another origin', (b) => b.toString().replace('gate-1', 'gate-2')],
    ['half of it', (b) => b.subarray(0, b.length / 2)],
    ['nothing in it', () => ''],
    ['bytes that are not text', () => Buffer.from([0xff, 0xfe, 10, 0xff])],
  ])(
    'with %s is ignored and reported; the journal opens and is checked whole',
    async (_, change) => {
      await snapshotted()
      await writeFile(path(), change(await readFile(path())))
      const journal = await place.open()
      expect(journal.snapshot).toBeNull()
      expect(place.reports).toMatchObject([{ kind: 'snapshot_ignored' }])
      expect(await journal.verified).toMatchObject({ damage: null })
    },
  )

  it('signed, but of a line the journal does not have, is ignored and everything is read', async () => {
    await snapshotted()
    const other = await makePlace()
    const foreign = await other.open()
    for (let n = 1; n <= 3; n++) await foreign.append([note(n)])
    await foreign.writeSnapshot({ forged: true })
    await foreign.close()
    await copyFile(join(other.dir, 'snapshot'), path())
    await other.clean()
    const journal = await place.open()
    expect(journal.snapshot).toBeNull()
    expect(place.reports).toEqual([
      { kind: 'snapshot_ignored', why: 'line 6 is not the head it names' },
    ])
  })

  it('signed, but of another origin, is ignored', async () => {
    await snapshotted()
    const other = await makePlace()
    const foreign = await other.open({ origin: 'gate-2' })
    await foreign.append([note(1)])
    await foreign.writeSnapshot({ forged: true })
    await foreign.close()
    await copyFile(join(other.dir, 'snapshot'), path())
    await other.clean()
    expect((await place.open()).snapshot).toBeNull()
    expect(place.reports).toEqual([{ kind: 'snapshot_ignored', why: 'it is of origin gate-2' }])
  })

  it.each<[string, (lines: readonly JournalLine[]) => { seq: number; hash: string }]>([
    ['a head with another hash', (lines) => ({ seq: lines.length, hash: 'a'.repeat(64) })],
    [
      'a line that is no head',
      (lines) => {
        const index = lines.findIndex(({ type }) => type === 'NOTE')
        return { seq: index + 1, hash: String(lines[index + 1]?.prev) }
      },
    ],
  ])('signed, but standing on %s, is ignored', async (_, on) => {
    let journal = await place.open()
    for (let n = 1; n <= 3; n++) await journal.append([note(n)])
    const wrong = on(await allLines(journal))
    await journal.writeSnapshot(state, wrong)
    await journal.close()
    journal = await place.open()
    expect(journal.snapshot).toBeNull()
    expect(place.reports).toEqual([
      { kind: 'snapshot_ignored', why: `line ${wrong.seq} is not the head it names` },
    ])
  })

  it('signed, but with another hash for the seal of the last archived segment, is ignored', async () => {
    await fill()
    let journal = await place.open({ segmentBytes: SEGMENT })
    const seal = (await allLines(journal)).find(({ type }) => type === 'SEGMENT_SEALED')
    await journal.writeSnapshot(state, { seq: seal?.seq ?? 0, hash: 'a'.repeat(64) })
    await journal.close()
    await rename(file(1), join(place.root, 'archived.jsonl'))
    journal = await place.open({ segmentBytes: SEGMENT })
    expect(journal.snapshot).toBeNull()
    expect(place.reports.map(({ kind }) => kind)).toEqual(['snapshot_ignored', 'segments_archived'])
  })

  it('signed with a key of another purpose is ignored', async () => {
    await snapshotted()
    const wrong = eventKeys('statement')
    const keys = [...KEYS.records, ...wrong.records]
    const journal = await place.open({ signer: wrong.signer, keys })
    await journal.writeSnapshot({})
    await journal.close()
    expect((await place.open({ keys })).snapshot).toBeNull()
    expect(place.reports).toEqual([{ kind: 'snapshot_ignored', why: 'its signature: key_purpose' }])
  })

  it('does not hide damage before it: readiness goes off with file and line', async () => {
    await snapshotted()
    await edit(file(1), (bytes) => Buffer.from(bytes.toString().replace('"n":2', '"n":7')))
    const journal = await place.open()
    expect(journal.snapshot?.state).toEqual(state)
    const { damage } = await journal.verified
    expect(damage).toContain(`${file(1)}, line 4`)
    expect(journal.health()).toEqual({ ok: false, reason: damage })
    expect(place.reports).toMatchObject([{ kind: 'damaged' }])
  })

  it('does not hide that older segments were exchanged for another history', async () => {
    await snapshotted()
    const other = await makePlace()
    const foreign = await other.open({ segmentBytes: SEGMENT })
    for (let n = 1; n <= 14; n++) await foreign.append([note(n, 80)])
    await foreign.close()
    await copyFile(join(other.dir, '00000001.jsonl'), file(1))
    await other.clean()
    const journal = await place.open()
    expect((await journal.verified).damage).toContain('line')
    expect(journal.health().ok).toBe(false)
  })

  it('does not hide that every older segment was exchanged, signed as it is', async () => {
    const notes = Array.from({ length: 13 }, (_, n) => note(n + 1, 80))
    const write = async (where: Place, first: number): Promise<void> => {
      const journal = await where.open({ segmentBytes: SEGMENT, clock: { now: () => first } })
      for (const entry of notes) await journal.append([entry])
      await journal.writeSnapshot(state)
      await journal.close()
    }
    await write(place, 1000)
    const other = await makePlace()
    await write(other, 2000)
    const names = (await readdir(place.dir)).filter((name) => /jsonl|idx/.test(name)).sort()
    const closed = names.filter((name) => names.includes(name.replace('jsonl', 'idx')))
    for (const name of closed) await copyFile(join(other.dir, name), join(place.dir, name))
    await other.clean()
    const journal = await place.open()
    expect(journal.snapshot?.state).toEqual(state)
    expect((await journal.verified).damage).toContain(
      'the older segments do not lead to the newer ones',
    )
    expect(journal.health().ok).toBe(false)
  })

  it('asked for many times at once is written whole, the last one last', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    const sizes = Array.from({ length: 8 }, (_, n) => n)
    await Promise.all(
      sizes.map((n) => journal.writeSnapshot({ n, pad: 'x'.repeat(50_000 * (8 - n)) })),
    )
    await journal.close()
    expect((await place.open()).snapshot?.state).toMatchObject({ n: 7 })
  })

  it('of a line that is not durable is refused', async () => {
    const journal = await place.open()
    await expect(journal.writeSnapshot({}, { seq: 1, hash: 'a'.repeat(64) })).rejects.toThrow(
      TypeError,
    )
  })
})

describe('an index', () => {
  it.each<[string, (path: string) => Promise<void>]>([
    ['missing', (path) => rm(path)],
    ['emptied', (path) => truncate(path, 0)],
    ['cut short', async (path) => truncate(path, (await readFile(path)).length - 6)],
    [
      'of another segment size',
      (path) =>
        edit(path, (b) =>
          Buffer.from(b.toString('latin1').replace(/"bytes":\d/, '"bytes":9'), 'latin1'),
        ),
    ],
    [
      'with changed records',
      (path) =>
        edit(path, (b) => {
          b.fill(0, b.indexOf(10) + 1)
          return b
        }),
    ],
  ])('%s is rebuilt, and finds the same', async (_, damage) => {
    await fill()
    const intact = await readFile(file(1, 'idx'))
    await damage(file(1, 'idx'))
    const journal = await place.open({ segmentBytes: SEGMENT })
    expect(await journal.find('act-1')).toMatchObject([{ action_id: 'act-1' }])
    await journal.verified
    expect(place.reports).toMatchObject([{ kind: 'index_rebuilt', file: file(1, 'idx') }])
    expect(await readFile(file(1, 'idx'))).toEqual(intact)
  })

  it('that points to a changed line does not give that line out', async () => {
    await fill()
    const journal = await place.open({ segmentBytes: SEGMENT })
    await journal.verified
    await edit(file(1), (bytes) => Buffer.from(bytes.toString().replace('act-1', 'act-X')))
    await expect(journal.find('act-1')).rejects.toMatchObject({ code: 'damaged' })
  })
})

describe('an archived segment', () => {
  it('lets the journal start, and readers are told what to copy back', async () => {
    await fill()
    const before = await rawLines(place.dir)
    const first = (await readFile(file(1), 'utf8')).split('\n').length - 1
    await rename(file(1), join(place.root, 'archived.jsonl'))
    let journal = await place.open({ segmentBytes: SEGMENT })
    expect(await journal.verified).toMatchObject({ archived: ['00000001.jsonl'], damage: null })
    await expect(allLines(journal)).rejects.toMatchObject({
      code: 'archived',
      file: file(1),
    })
    await expect(journal.find('act-1')).rejects.toThrow(/segment 1 .* was archived: copy it back/)
    expect(await journal.find('act-14')).toHaveLength(1)
    expect(await allLines(journal, first + 1)).toHaveLength(before.length - first)
    await journal.append([note(1)])
    await journal.close()
    await rename(join(place.root, 'archived.jsonl'), file(1))
    journal = await place.open({ segmentBytes: SEGMENT })
    const own = (await allLines(journal)).filter(({ type }) => !isHeadType(type))
    expect(own).toHaveLength(15)
    expect(await journal.find('act-1')).toHaveLength(1)
  })

  it('may be moved away while the gate runs', async () => {
    await fill()
    const journal = await place.open({ segmentBytes: SEGMENT })
    await journal.verified
    await rename(file(1), join(place.root, 'archived.jsonl'))
    await expect(allLines(journal)).rejects.toMatchObject({ code: 'archived' })
    await expect(journal.find('act-1')).rejects.toMatchObject({ code: 'archived' })
    await journal.append([note(1)])
  })

  it('whose index was changed is missing, not archived', async () => {
    await fill()
    await rm(file(1))
    await edit(file(1, 'idx'), (b) =>
      Buffer.from(b.toString('latin1').replace(/size\\":\d/, 'size\\":9'), 'latin1'),
    )
    const error = await refusal()
    expect(error.code).toBe('damaged')
    expect(error.message).toContain('signature_invalid')
  })

  it('may be every closed one, when the last was just sealed', async () => {
    await fill()
    const names = (await readdir(place.dir)).filter((name) => name.endsWith('.jsonl')).sort()
    for (const name of names.slice(0, -1)) await rm(join(place.dir, name))
    const journal = await place.open({ segmentBytes: SEGMENT })
    expect((await journal.verified).archived).toHaveLength(names.length - 1)
    await journal.append([note(1)])
    expect(journal.health().ok).toBe(true)
  })
})
