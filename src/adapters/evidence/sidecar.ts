import { crc32 } from 'node:zlib'
import { errnoOf } from '../disk/errno.js'
import { type FileHandle, open, readFileSync } from '../disk/files.js'
import { replaceFile } from '../disk/replace-file.js'
import { type MemoryIndex, type Place, PREFIX_BYTES } from './memory-index.js'
import type { Seams } from './seams.js'

/**
 * The index of a closed segment, searched on disk so that memory does not grow with history: head,
 * entries (digest prefix, key slot, offset) sorted by prefix, then records per key slot.
 */
const MAGIC = Buffer.from('CGEI0001')
const HEAD = 32
const ENTRY = PREFIX_BYTES + 4 + 4
const PER_KEY = 8
/** Narrowed down to this many entries, the rest is one read. */
const ONE_READ = 256

/** Which segment an index is of: another one's would deny what is there. */
export type Indexed = { readonly number: number; readonly bytes: number }
type Layout = { readonly entries: number; readonly keys: number; readonly bodyCrc: number }

export async function writeSidecar(
  path: string,
  segment: Indexed,
  index: MemoryIndex,
  seams: Seams,
): Promise<void> {
  const sorted = index.sorted()
  const keys = [...index.perKey].sort(([a], [b]) => a - b)
  const bytes = Buffer.alloc(HEAD + sorted.length * ENTRY + keys.length * PER_KEY)
  let at = HEAD
  for (const [prefix, { keySlot, offset }] of sorted) {
    bytes.write(prefix, at, 'latin1')
    bytes.writeUInt32BE(keySlot, at + PREFIX_BYTES)
    bytes.writeUInt32BE(offset, at + PREFIX_BYTES + 4)
    at += ENTRY
  }
  for (const [slot, count] of keys) {
    bytes.writeUInt32BE(slot, at)
    bytes.writeUInt32BE(count, at + 4)
    at += PER_KEY
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
export function isSidecarSound(path: string, segment: Indexed): boolean {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw error
  }
  const layout = layoutOf(bytes, segment)
  if (layout === null) return false
  const size = HEAD + layout.entries * ENTRY + layout.keys * PER_KEY
  return bytes.length === size && crc32(bytes.subarray(HEAD)) === layout.bodyCrc
}

function layoutOf(head: Buffer, segment: Indexed): Layout | null {
  if (head.length < HEAD || !head.subarray(0, MAGIC.length).equals(MAGIC)) return null
  if (crc32(head.subarray(0, 28)) !== head.readUInt32BE(28)) return null
  if (head.readUInt32BE(8) !== segment.bytes) return null
  if (head.readUInt32BE(24) !== segment.number) return null
  return {
    entries: head.readUInt32BE(12),
    keys: head.readUInt32BE(16),
    bodyCrc: head.readUInt32BE(20),
  }
}

async function within<T>(
  path: string,
  use: (file: FileHandle, layout: Omit<Layout, 'bodyCrc'>) => Promise<T>,
): Promise<T> {
  const file = await open(path, 'r')
  try {
    const head = await readAt(file, 0, HEAD)
    return await use(file, { entries: head.readUInt32BE(12), keys: head.readUInt32BE(16) })
  } finally {
    await file.close()
  }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

export async function findInSidecar(path: string, digest: Buffer): Promise<Place[]> {
  const prefix = digest.subarray(0, PREFIX_BYTES)
  const prefixAt = (entries: Buffer, i: number): Buffer =>
    entries.subarray(i * ENTRY, i * ENTRY + PREFIX_BYTES)
  return within(path, async (file, { entries }) => {
    let low = 0
    let high = entries
    while (high - low > ONE_READ) {
      const middle = (low + high) >>> 1
      const found = await readAt(file, HEAD + middle * ENTRY, PREFIX_BYTES)
      if (found.compare(prefix) < 0) low = middle + 1
      else high = middle
    }
    const places: Place[] = []
    // From the first entry that is not smaller on; a common digest may run past one read.
    for (let from = low; from < entries; from += ONE_READ) {
      const count = Math.min(ONE_READ, entries - from)
      const read = await readAt(file, HEAD + from * ENTRY, count * ENTRY)
      for (let i = 0; i < count; i++) {
        const order = prefixAt(read, i).compare(prefix)
        if (order > 0) return places
        if (order < 0) continue
        const keySlot = read.readUInt32BE(i * ENTRY + PREFIX_BYTES)
        places.push({ keySlot, offset: read.readUInt32BE(i * ENTRY + PREFIX_BYTES + 4) })
      }
    }
    return places
  })
}

export type Finder = (digest: Buffer) => readonly Place[]

/** The entries of a sidecar in memory: a few hundred kilobytes. */
export async function loadSidecar(path: string): Promise<Finder> {
  const entries = await within(path, (file, layout) => readAt(file, HEAD, layout.entries * ENTRY))
  const count = Math.floor(entries.length / ENTRY)
  return (digest) => {
    const prefix = digest.subarray(0, PREFIX_BYTES)
    const order = (i: number): number =>
      entries.compare(prefix, 0, PREFIX_BYTES, i * ENTRY, i * ENTRY + PREFIX_BYTES)
    let low = 0
    let high = count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (order(middle) < 0) low = middle + 1
      else high = middle
    }
    const places: Place[] = []
    for (let i = low; i < count && order(i) === 0; i++) {
      const at = i * ENTRY + PREFIX_BYTES
      places.push({ keySlot: entries.readUInt32BE(at), offset: entries.readUInt32BE(at + 4) })
    }
    return places
  }
}

/** How many of the segment's records are sealed under that key. */
export async function countInSidecar(path: string, keySlot: number): Promise<number> {
  return within(path, async (file, { entries, keys }) => {
    const table = await readAt(file, HEAD + entries * ENTRY, keys * PER_KEY)
    for (let at = 0; at < table.length; at += PER_KEY) {
      if (table.readUInt32BE(at) === keySlot) return table.readUInt32BE(at + 4)
    }
    return 0
  })
}

export async function namesInSidecar(path: string, keySlot: number): Promise<readonly string[]> {
  const entries = await within(path, (file, layout) => readAt(file, HEAD, layout.entries * ENTRY))
  const names: string[] = []
  for (let at = 0; at + ENTRY <= entries.length; at += ENTRY) {
    const end = at + PREFIX_BYTES
    if (entries.readUInt32BE(end) === keySlot) names.push(entries.toString('hex', at, end))
  }
  return names
}
