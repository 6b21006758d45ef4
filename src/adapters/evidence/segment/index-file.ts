import { crc32 } from 'node:zlib'
import { ifThereSync } from '../../disk/errno.js'
import { type FileHandle, readFileSync } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'
import { findRecords } from '../../disk/sorted-records.js'
import { readFully, withFile } from '../../disk/with-file.js'
import type { Seams } from '../seams.js'
import {
  type IndexEntry,
  type MemoryIndex,
  PREFIX_BYTES,
  type SegmentIndex,
} from './segment-index.js'

/**
 * The index of a closed segment, searched on disk so that memory does not grow with history: head,
 * entries (digest prefix, key slot, offset) sorted by prefix, then records per key slot.
 */
const MAGIC = Buffer.from('CGEI0001')
const HEAD = 32
const ENTRY = PREFIX_BYTES + 4 + 4
const PER_KEY = 8

/** The segment an index belongs to: that of another would hide records that are there. */
export type IndexedSegment = { readonly number: number; readonly bytes: number }

export async function writeIndexFile(
  path: string,
  segment: IndexedSegment,
  index: MemoryIndex,
  seams: Seams,
): Promise<void> {
  const sorted = index.sorted()
  const keys = [...index.perKey].sort(([a], [b]) => a - b)
  const bytes = Buffer.alloc(HEAD + sorted.length * ENTRY + keys.length * PER_KEY)
  let at = HEAD
  for (const [prefix, { keySlot, offset }] of sorted) {
    at += bytes.write(prefix, at, 'latin1')
    at = bytes.writeUInt32BE(keySlot, at)
    at = bytes.writeUInt32BE(offset, at)
  }
  for (const [slot, count] of keys) {
    at = bytes.writeUInt32BE(slot, at)
    at = bytes.writeUInt32BE(count, at)
  }
  MAGIC.copy(bytes)
  bytes.writeUInt32BE(segment.bytes, 8)
  bytes.writeUInt32BE(sorted.length, 12)
  bytes.writeUInt32BE(keys.length, 16)
  bytes.writeUInt32BE(crc32(bytes.subarray(HEAD)), 20)
  bytes.writeUInt32BE(segment.number, 24)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 28)), 28)
  await replaceFile(path, bytes, seams.before_index_swap)
  seams.after_index_swap?.()
}

/** True when the file is the whole index of that segment as it is now. Reads all of it. */
export function isIndexFileSound(path: string, segment: IndexedSegment): boolean {
  const bytes = ifThereSync(() => readFileSync(path))
  if (bytes === null || bytes.length < HEAD || !bytes.subarray(0, 8).equals(MAGIC)) return false
  if (crc32(bytes.subarray(0, 28)) !== bytes.readUInt32BE(28)) return false
  if (bytes.readUInt32BE(8) !== segment.bytes) return false
  if (bytes.readUInt32BE(24) !== segment.number) return false
  const { entries, keys } = countsOf(bytes)
  const size = HEAD + entries * ENTRY + keys * PER_KEY
  return bytes.length === size && crc32(bytes.subarray(HEAD)) === bytes.readUInt32BE(20)
}

type Counts = { readonly entries: number; readonly keys: number }
const countsOf = (head: Buffer): Counts => ({
  entries: head.readUInt32BE(12),
  keys: head.readUInt32BE(16),
})

/** Reads a file that was found sound. */
export function openIndexFile(path: string): SegmentIndex {
  const use = <T>(run: (file: FileHandle, counts: Counts) => Promise<T>): Promise<T> =>
    withFile(path, 'r', async (file) => run(file, countsOf(await readAt(file, 0, HEAD))))
  const readEntries = (): Promise<Buffer> =>
    use((file, { entries }) => readAt(file, HEAD, entries * ENTRY))
  return {
    find: (digest) =>
      use(async (file, { entries: count }) => {
        const records = { file: path, start: HEAD, count, size: ENTRY }
        const found = await findRecords(file, records, (entry) => compare(entry, 0, digest))
        return found.map((entry) => entryAt(entry, 0))
      }),
    async load() {
      const entries = await readEntries()
      const count = Math.floor(entries.length / ENTRY)
      return (digest) => {
        let low = 0
        for (let high = count; low < high; ) {
          const middle = (low + high) >>> 1
          if (compare(entries, middle * ENTRY, digest) < 0) low = middle + 1
          else high = middle
        }
        const found: IndexEntry[] = []
        for (let i = low; i < count && compare(entries, i * ENTRY, digest) === 0; i++) {
          found.push(entryAt(entries, i * ENTRY))
        }
        return found
      }
    },
    count: (keySlot) =>
      use(async (file, { entries, keys }) => {
        const table = await readAt(file, HEAD + entries * ENTRY, keys * PER_KEY)
        for (let at = 0; at < table.length; at += PER_KEY) {
          if (table.readUInt32BE(at) === keySlot) return table.readUInt32BE(at + 4)
        }
        return 0
      }),
    async names(keySlot) {
      const entries = await readEntries()
      const names: string[] = []
      for (let at = 0; at + ENTRY <= entries.length; at += ENTRY) {
        if (entryAt(entries, at).keySlot !== keySlot) continue
        names.push(entries.toString('hex', at, at + PREFIX_BYTES))
      }
      return names
    },
  }
}

const compare = (entries: Buffer, at: number, digest: Buffer): number =>
  entries.compare(digest, 0, PREFIX_BYTES, at, at + PREFIX_BYTES)

const entryAt = (entries: Buffer, at: number): IndexEntry => ({
  keySlot: entries.readUInt32BE(at + PREFIX_BYTES),
  offset: entries.readUInt32BE(at + PREFIX_BYTES + 4),
})

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, await readFully(file, buffer, position))
}
