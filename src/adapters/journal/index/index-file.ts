import { createHash } from 'node:crypto'
import { isHex64 } from '../../../core/bytes/hex.js'
import { GateError } from '../../../core/error.js'
import { errnoOf } from '../../disk/errno.js'
import { type FileHandle, open, readFile } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'
import { type IdKey, type IdTable, newIdTable } from './ids.js'
import { keepUnknown, ROW, type Rows } from './rows.js'

/**
 * The sidecar of a sealed segment: one JSON line, then sorted records {high u32, low u32, offset u32},
 * big-endian, then the rows of the capsule list (rows.ts). It repeats the signed seal line, so that an archived segment still has its place in the chain.
 */
export type IndexHeader = {
  /**
   * 1 holds no ids of superseded capsules, 2 no capsule list; such an index is written anew while its
   * segment is here.
   */
  readonly v: 1 | 2 | typeof VERSION
  readonly segment: number
  /** Size of the segment file; another size means the index is stale. */
  readonly bytes: number
  readonly entries: number
  /** Rows of the capsule list. */
  readonly capsules: number
  /** SHA-256 of the records and rows. */
  readonly sha256: string
  /** The segment's last line, exactly. */
  readonly seal: string
}

export const VERSION = 3
const RECORD = 12
const LF = 10
const MAX_HEADER = 4096

/** The closed segment that an index is of. */
export type Indexed = { readonly number: number; readonly bytes: number; readonly seal: string }

export async function writeIndex(
  path: string,
  segment: Indexed,
  table: IdTable,
  rows: Rows,
): Promise<void> {
  await replaceFile(path, indexBytes(segment, table, rows))
}

/** Whether the file says exactly what the lines of its segment give: anyone can make a checksum fit. */
export async function indexSays(
  path: string,
  segment: Indexed,
  table: IdTable,
  { buffer, count }: Rows,
): Promise<boolean> {
  const found = await readFile(path)
  const rows = Buffer.from(buffer.subarray(0, count * ROW))
  const there = found.subarray(Math.max(0, found.length - rows.length))
  // Where the dispatch is in a segment that was archived since, only the index still knows its place.
  if (there.length === rows.length) keepUnknown(rows, there)
  return found.equals(indexBytes(segment, table, { buffer: rows, count }))
}

function indexBytes(segment: Indexed, table: IdTable, { buffer, count }: Rows): Buffer {
  const records = sortedRecords(table)
  const rows = buffer.subarray(0, count * ROW)
  const header: IndexHeader = {
    v: VERSION,
    segment: segment.number,
    bytes: segment.bytes,
    entries: table.count,
    capsules: count,
    sha256: createHash('sha256').update(records).update(rows).digest('hex'),
    seal: segment.seal,
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), records, rows])
}

/** Sorted by the high word's first 29 bits: with 24 bits of entry number that is one exact double each. */
function sortedRecords(table: IdTable): Buffer {
  const order = new Float64Array(table.count)
  for (let entry = 0; entry < table.count; entry++) {
    order[entry] = (table.high(entry) >>> 3) * 2 ** 24 + entry
  }
  order.sort()
  const records = Buffer.allocUnsafe(table.count * RECORD)
  order.forEach((value, at) => {
    const entry = value % 2 ** 24
    records.writeUInt32BE(table.high(entry), at * RECORD)
    records.writeUInt32BE(table.low(entry), at * RECORD + 4)
    records.writeUInt32BE(table.offset(entry), at * RECORD + 8)
  })
  return records
}

/** Null when there is none, or none that can be trusted. */
export async function readIndexHeader(path: string): Promise<IndexHeader | null> {
  const handle = await openOrNull(path)
  if (handle === null) return null
  try {
    return (await headerOf(handle))?.header ?? null
  } finally {
    await handle.close()
  }
}

async function headerOf(handle: FileHandle): Promise<{ header: IndexHeader; end: number } | null> {
  const buffer = Buffer.alloc(MAX_HEADER)
  const { bytesRead } = await handle.read(buffer, 0, MAX_HEADER, 0)
  const end = buffer.subarray(0, bytesRead).indexOf(LF)
  if (end < 0) return null
  const header = parseHeader(buffer.toString('utf8', 0, end))
  return header === null ? null : { header, end: end + 1 }
}

function parseHeader(text: string): IndexHeader | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { v, segment, bytes, entries, capsules = 0, sha256, seal } = { ...NO_HEADER, ...value }
  if (v !== 1 && v !== 2 && v !== VERSION) return null
  if (!isCount(segment) || !isCount(bytes) || !isCount(entries) || !isCount(capsules)) return null
  if (!isHex64(sha256) || typeof seal !== 'string') return null
  return { v, segment, bytes, entries, capsules, sha256, seal }
}

const NO_HEADER: { readonly [name in keyof IndexHeader]?: unknown } = {}
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Whether the records are the ones that were written; the header must have been read before. */
export async function indexIsIntact(path: string, header: IndexHeader): Promise<boolean> {
  const bytes = await readFile(path)
  const records = bytes.subarray(bytes.indexOf(LF) + 1)
  return (
    records.length === header.entries * RECORD + header.capsules * ROW &&
    createHash('sha256').update(records).digest('hex') === header.sha256
  )
}

/** Offsets of lines that may name the id, newest first. */
export async function lookUp(path: string, key: IdKey): Promise<readonly number[]> {
  const handle = await openOrNull(path)
  if (handle === null) return []
  try {
    const found = await headerOf(handle)
    if (found === null) return []
    const record = Buffer.alloc(RECORD)
    const at = async (entry: number): Promise<number> => {
      await handle.read(record, 0, RECORD, found.end + entry * RECORD)
      return record.readUInt32BE(0) >>> 3
    }
    const wanted = key.high >>> 3
    let low = 0
    for (let high = found.header.entries; low < high; ) {
      const middle = Math.floor((low + high) / 2)
      if ((await at(middle)) < wanted) low = middle + 1
      else high = middle
    }
    const table = newIdTable()
    for (; low < found.header.entries && (await at(low)) === wanted; low++) {
      table.add(
        { high: record.readUInt32BE(0), low: record.readUInt32BE(4) },
        record.readUInt32BE(8),
      )
    }
    return table.offsets(key).sort((a, b) => b - a)
  } finally {
    await handle.close()
  }
}

const BLOCK_ROWS = 4096

/** The rows of the capsule list, block by block, the blocks and not the rows in them in that order. */
export async function* rowBlocks(
  path: string,
  { oldestFirst }: { readonly oldestFirst: boolean },
): AsyncGenerator<Rows> {
  const handle = await openOrNull(path)
  if (handle === null) throw new GateError('damaged', 'the index is gone', { file: path })
  try {
    const found = await headerOf(handle)
    if (found === null) throw new GateError('damaged', 'the index is broken', { file: path })
    const { v, segment, entries, capsules } = found.header
    if (v !== VERSION) {
      const why = `segment ${segment} was archived before its capsules were listed: copy it back to read it`
      throw new GateError('archived', why, { file: path })
    }
    const start = found.end + entries * RECORD
    const blocks = Math.ceil(capsules / BLOCK_ROWS)
    for (let i = 0; i < blocks; i++) {
      const first = (oldestFirst ? i : blocks - 1 - i) * BLOCK_ROWS
      const count = Math.min(BLOCK_ROWS, capsules - first)
      const buffer = Buffer.allocUnsafe(count * ROW)
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, start + first * ROW)
      if (bytesRead < buffer.length) {
        throw new GateError('damaged', 'the index is cut short', { file: path })
      }
      yield { buffer, count }
    }
  } finally {
    await handle.close()
  }
}

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}
