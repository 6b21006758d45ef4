import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { isHex64 } from '../../core/hex.js'
import { errnoOf } from './error.js'
import { type IdKey, type IdTable, newIdTable } from './ids.js'
import { replaceFile } from './replace-file.js'

/**
 * The sidecar of a sealed segment: one JSON line, then sorted records {high u32, low u32, offset u32},
 * big-endian. It repeats the signed seal line, so that an archived segment still has its place in the chain.
 */
export type IndexHeader = {
  /** 1 holds no ids of superseded capsules; such an index is written anew while its segment is here. */
  readonly v: 1 | 2
  readonly segment: number
  /** Size of the segment file; another size means the index is stale. */
  readonly bytes: number
  readonly entries: number
  /** SHA-256 of the records. */
  readonly sha256: string
  /** The segment's last line, exactly. */
  readonly seal: string
}

const RECORD = 12
const LF = 10
const MAX_HEADER = 4096

export async function writeIndex(
  path: string,
  segment: { number: number; bytes: number; seal: string },
  table: IdTable,
): Promise<void> {
  const records = sortedRecords(table)
  const header: IndexHeader = {
    v: 2,
    segment: segment.number,
    bytes: segment.bytes,
    entries: table.count,
    sha256: createHash('sha256').update(records).digest('hex'),
    seal: segment.seal,
  }
  await replaceFile(path, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), records]))
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
  const { v, segment, bytes, entries, sha256, seal } = value as Record<string, unknown>
  const whole = [segment, bytes, entries].every((n) => Number.isSafeInteger(n) && Number(n) >= 0)
  if ((v !== 1 && v !== 2) || !whole || !isHex64(sha256) || typeof seal !== 'string') return null
  return value as IndexHeader
}

/** Whether the records are the ones that were written; the header must have been read before. */
export async function indexIsIntact(path: string, header: IndexHeader): Promise<boolean> {
  const bytes = await readFile(path)
  const records = bytes.subarray(bytes.indexOf(LF) + 1)
  return (
    records.length === header.entries * RECORD &&
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

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}
