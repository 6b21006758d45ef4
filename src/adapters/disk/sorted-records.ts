import { GateError } from '../../core/error.js'
import type { FileHandle } from './files.js'
import { readFully } from './with-file.js'

/** Records of one size, sorted, in a file. */
export type SortedRecords = {
  readonly file: string
  /** Position of the first one. */
  readonly start: number
  readonly count: number
  readonly size: number
}

/** Narrowed down to this many records, the rest is one read. */
const ONE_READ = 256

/** The records for which `order` is 0; it is below 0 for those before them, above 0 for those behind. */
export async function findRecords(
  handle: FileHandle,
  { file, start, count, size }: SortedRecords,
  order: (record: Buffer) => number,
): Promise<readonly Buffer[]> {
  const read = async (first: number, records: number): Promise<Buffer> => {
    const bytes = Buffer.allocUnsafe(records * size)
    if ((await readFully(handle, bytes, start + first * size)) < bytes.length) {
      throw new GateError('damaged', 'the index is cut short', { file })
    }
    return bytes
  }
  let low = 0
  for (let high = count; high - low > ONE_READ; ) {
    const middle = Math.floor((low + high) / 2)
    if (order(await read(middle, 1)) < 0) low = middle + 1
    else high = middle
  }
  const found: Buffer[] = []
  // Equal records may run past one read.
  for (let first = low; first < count; first += ONE_READ) {
    const bytes = await read(first, Math.min(ONE_READ, count - first))
    for (let at = 0; at < bytes.length; at += size) {
      const record = bytes.subarray(at, at + size)
      const sign = order(record)
      if (sign > 0) return found
      if (sign === 0) found.push(record)
    }
  }
  return found
}
