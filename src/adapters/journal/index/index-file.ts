import { createHash } from 'node:crypto'
import { GateError } from '../../../core/error.js'
import { looselyRead } from '../../../core/journal/head.js'
import { anyText, count, digest, type Of, optional, record } from '../../../core/json/shape.js'
import { ifThere } from '../../disk/errno.js'
import { type FileHandle, open, readFile } from '../../disk/files.js'
import { findRecords } from '../../disk/sorted-records.js'
import { withFile } from '../../disk/with-file.js'
import { ID_RECORD, type IdKey, type IdTable, idOrder, offsetFor } from './ids.js'
import { keepUnknown, ROW, type Rows } from './rows.js'

/**
 * The sidecar of a sealed segment: one JSON line, then sorted id records (ids.ts), then the rows of the capsule list
 * (rows.ts). It repeats the signed seal line, so that an archived segment still has its position in the chain.
 */
const headerShape = record({
  segment: count,
  /** Size of the segment file; another size means the index is stale. */
  bytes: count,
  entries: count,
  /** Rows of the capsule list. */
  capsules: optional(count),
  /** SHA-256 of the records and rows. */
  sha256: digest,
  /** The segment's last line, exactly. */
  seal: anyText,
})
/**
 * Version 1 holds no ids of superseded capsules, 2 no capsule list; such an index is written anew while its segment
 * is here.
 */
export const VERSION = 3
export type IndexHeader = Required<Of<typeof headerShape>> & { readonly v: 1 | 2 | typeof VERSION }

const LF = 10
const MAX_HEADER = 4096

/** The closed segment that an index is of. */
export type Indexed = { readonly number: number; readonly bytes: number; readonly seal: string }

const rowBytes = ({ buffer, count }: Rows): Buffer => buffer.subarray(0, count * ROW)

/** Whether the file holds exactly what the lines of its segment give: anyone can make a checksum fit. */
export async function indexMatches(
  path: string,
  segment: Indexed,
  table: IdTable,
  given: Rows,
): Promise<boolean> {
  const found = await readFile(path)
  const rows = Buffer.from(rowBytes(given))
  const there = found.subarray(Math.max(0, found.length - rows.length))
  // Where the dispatch is in a segment that was archived since, only the index still has its position.
  if (there.length === rows.length) keepUnknown(rows, there)
  return found.equals(indexBytes(segment, table, { buffer: rows, count: given.count }))
}

export function indexBytes(segment: Indexed, table: IdTable, given: Rows): Buffer {
  const records = table.records()
  const rows = rowBytes(given)
  const header: IndexHeader = {
    v: VERSION,
    segment: segment.number,
    bytes: segment.bytes,
    entries: table.count,
    capsules: given.count,
    sha256: createHash('sha256').update(records).update(rows).digest('hex'),
    seal: segment.seal,
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), records, rows])
}

/** Null when there is none, or none that can be trusted. */
export const readIndexHeader = (path: string): Promise<IndexHeader | null> =>
  ifThere(withFile(path, 'r', async (handle) => (await headerOf(handle))?.header ?? null))

async function headerOf(handle: FileHandle): Promise<{ header: IndexHeader; end: number } | null> {
  const buffer = Buffer.alloc(MAX_HEADER)
  const { bytesRead } = await handle.read(buffer, 0, MAX_HEADER, 0)
  const end = buffer.subarray(0, bytesRead).indexOf(LF)
  if (end < 0) return null
  const value = looselyRead(buffer.toString('utf8', 0, end))
  const known = value.v === 1 || value.v === 2 || value.v === VERSION
  if (!known || headerShape.fault(value) !== null) return null
  return { header: { capsules: 0, ...value } as IndexHeader, end: end + 1 }
}

/** Whether the records are the ones that were written; the header must have been read before. */
export async function indexIsIntact(path: string, header: IndexHeader): Promise<boolean> {
  const bytes = await readFile(path)
  const records = bytes.subarray(bytes.indexOf(LF) + 1)
  return (
    records.length === header.entries * ID_RECORD + header.capsules * ROW &&
    createHash('sha256').update(records).digest('hex') === header.sha256
  )
}

/** Offsets of lines that may name the id, newest first. */
export async function lookUp(path: string, key: IdKey): Promise<readonly number[]> {
  const search = async (handle: FileHandle): Promise<readonly Buffer[]> => {
    const found = await headerOf(handle)
    if (found === null) return []
    const { entries } = found.header
    const ids = { file: path, start: found.end, count: entries, size: ID_RECORD }
    return findRecords(handle, ids, (record) => idOrder(record, key))
  }
  const records = (await ifThere(withFile(path, 'r', search))) ?? []
  const offsets = records.flatMap((record) => offsetFor(record, key) ?? [])
  return [...new Set(offsets)].sort((a, b) => b - a)
}

const BLOCK_ROWS = 4096

/** The rows of the capsule list, block by block, the blocks and not the rows in them in that order. */
export async function* rowBlocks(
  path: string,
  { oldestFirst }: { readonly oldestFirst: boolean },
): AsyncGenerator<Rows> {
  const handle = await ifThere(open(path, 'r'))
  if (handle === null) throw new GateError('damaged', 'the index is gone', { file: path })
  try {
    const found = await headerOf(handle)
    if (found === null) throw new GateError('damaged', 'the index is broken', { file: path })
    const { v, segment, entries, capsules } = found.header
    if (v !== VERSION) {
      const why = `segment ${segment} was archived before its capsules were listed: copy it back to read it`
      throw new GateError('archived', why, { file: path })
    }
    const start = found.end + entries * ID_RECORD
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
