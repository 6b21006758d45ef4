import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { FileHandle } from '../../../src/adapters/disk/files.js'
import { findRecords } from '../../../src/adapters/disk/sorted-records.js'
import { withFile } from '../../../src/adapters/disk/with-file.js'
import { draws } from '../../support/draws.js'

let dir: string
let file: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-sorted-'))
  file = join(dir, 'index')
})
afterAll(() => rmSync(dir, { recursive: true }))

/** A key of four octets and where the record stands, so that records of one key can be told apart. */
const KEY = 4
type Layout = { readonly size: number; readonly before: number; readonly behind: number }
const PLAIN: Layout = { size: KEY + 4, before: 0, behind: 0 }

/** The records of these keys, among octets that look like records of every key. */
function write(keys: readonly number[], { size, before, behind }: Layout): readonly Buffer[] {
  const records = [...keys]
    .sort((a, b) => a - b)
    .map((key, nth) => {
      const record = Buffer.alloc(size, nth & 0xff)
      record.writeUInt32BE(key, 0)
      record.writeUInt32BE(nth, KEY)
      return record
    })
  writeFileSync(file, Buffer.concat([Buffer.alloc(before), ...records, Buffer.alloc(behind)]))
  return records
}
const compare =
  (key: number) =>
  (record: Buffer): number =>
    record.readUInt32BE(0) - key
const find = (key: number, count: number, { size, before }: Layout): Promise<readonly Buffer[]> =>
  withFile(file, 'r', (handle) =>
    findRecords(handle, { file, start: before, count, size }, compare(key)),
  )
const linear = (records: readonly Buffer[], key: number): readonly Buffer[] =>
  records.filter((record) => record.readUInt32BE(0) === key)
const outcome = (found: Promise<readonly Buffer[]>) =>
  found.then(
    (records) => records.map((record) => Buffer.from(record).toString('hex')),
    ({ code }) => code,
  )
const hexOf = (records: readonly Buffer[]) => records.map((record) => record.toString('hex'))

/** Few different keys make long runs of equal ones, many make none. */
const keysOf = fc
  .tuple(fc.constantFrom(1, 3, 40, 1_000_000), fc.constantFrom(0, 5, 255, 256, 257, 513, 2000))
  .chain(([different, most]) =>
    fc.array(fc.nat({ max: different }), {
      minLength: Math.floor(most / 2),
      maxLength: most,
      size: 'max',
    }),
  )
const layoutOf = fc.record({
  size: fc.integer({ min: KEY + 4, max: 40 }),
  before: fc.nat({ max: 50 }),
  behind: fc.nat({ max: 50 }),
})

describe('finding sorted records', () => {
  it('finds what a linear search finds, in that order, in any layout', async () => {
    const key = fc.oneof(fc.nat({ max: 45 }), fc.nat({ max: 1_000_001 }))
    const property = fc.asyncProperty(
      ...[keysOf, layoutOf, fc.array(key, { maxLength: 5 }), fc.nat()],
      async (keys, layout, others, nth) => {
        const records = write(keys, layout)
        const there = keys.length === 0 ? [] : [keys[nth % keys.length] as number]
        for (const wanted of [...there, ...others, Math.min(...keys, 0), Math.max(...keys, 0)]) {
          const found = await find(wanted, records.length, layout)
          expect(hexOf(found)).toEqual(hexOf(linear(records, wanted)))
        }
      },
    )
    await fc.assert(property, { numRuns: draws(400, 60) })
  })

  it.each([1, 255, 256, 257, 511, 512, 513, 1025])(
    'finds each of %i different ones, and nothing between them',
    async (count) => {
      const records = write(
        Array.from({ length: count }, (_, nth) => 2 * nth + 1),
        PLAIN,
      )
      await withFile(file, 'r', async (handle) => {
        const at = { file, start: 0, count, size: PLAIN.size }
        for (let nth = 0; nth < count; nth++) {
          expect(await findRecords(handle, at, compare(2 * nth + 1))).toEqual([records[nth]])
          expect(await findRecords(handle, at, compare(2 * nth))).toEqual([])
        }
        expect(await findRecords(handle, at, compare(2 * count))).toEqual([])
      })
    },
  )

  it('finds all of a run that is longer than one read, wherever it begins', async () => {
    for (const ahead of [0, 1, 255, 256, 700]) {
      const keys = [...Array(ahead).fill(1), ...Array(600).fill(2), ...Array(300).fill(3)]
      const records = write(keys, PLAIN)
      const found = await find(2, records.length, PLAIN)
      expect(found.map((record) => record.readUInt32BE(KEY))).toEqual(
        Array.from({ length: 600 }, (_, nth) => ahead + nth),
      )
    }
  })

  it('finds nothing among no records, and reads nothing', async () => {
    write([], { ...PLAIN, behind: 64 })
    expect(await find(0, 0, PLAIN)).toEqual([])
    const unreadable = {
      read: () => Promise.reject(new Error('nothing to read')),
    } as unknown as FileHandle
    const at = { file, start: 0, count: 0, size: PLAIN.size }
    expect(await findRecords(unreadable, at, compare(0))).toEqual([])
  })

  it('reads a large index in few pieces', async () => {
    const records = write(
      Array.from({ length: 20_000 }, (_, nth) => nth),
      PLAIN,
    )
    let reads = 0
    const found = await withFile(file, 'r', (handle) => {
      const counting = {
        read: (...args: [Buffer, number, number, number]) => {
          reads += 1
          return handle.read(...args)
        },
      } as unknown as FileHandle
      const at = { file, start: 0, count: records.length, size: PLAIN.size }
      return findRecords(counting, at, compare(12_345))
    })
    expect(found).toEqual([records[12_345]])
    expect(reads).toBeLessThanOrEqual(9)
  })
})

describe('an index that is cut short', () => {
  it('is damaged, and the error names it', async () => {
    const records = write([1, 2, 3], PLAIN)
    truncateSync(file, 3 * PLAIN.size - 1)
    const damaged = expect(find(1, records.length, PLAIN)).rejects
    await damaged.toMatchObject({ code: 'damaged', file })
    truncateSync(file, 0)
    await expect(find(1, 3, PLAIN)).rejects.toMatchObject({ code: 'damaged' })
  })

  it('wherever it was cut, is told as damaged or answers as if it were whole, never less', async () => {
    const property = fc.asyncProperty(
      ...[keysOf, layoutOf, fc.nat(), fc.nat()],
      async (keys, layout, nth, cut) => {
        fc.pre(keys.length > 0)
        const records = write(keys, { ...layout, behind: 0 })
        truncateSync(file, layout.before + (cut % (records.length * layout.size)))
        const wanted = keys[nth % keys.length] as number
        const got = await outcome(find(wanted, records.length, layout))
        if (got !== 'damaged') expect(got).toEqual(hexOf(linear(records, wanted)))
      },
    )
    await fc.assert(property, { numRuns: draws(400, 60) })
  })

  it('is always told where the record asked for is among those that are gone', async () => {
    const count = 1000
    const keys = Array.from({ length: count }, (_, nth) => nth)
    for (const left of [0, 1, 255, 256, 500, 501, 998, 999]) {
      write(keys, PLAIN)
      truncateSync(file, left * PLAIN.size + 3)
      for (const wanted of [left, Math.floor((left + count) / 2), count - 1]) {
        expect(await outcome(find(wanted, count, PLAIN))).toBe('damaged')
      }
    }
  })
})
