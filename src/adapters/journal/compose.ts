import { formatLine } from '../../core/journal/line.js'
import type { Cursor } from './chain.js'
import { leafHashAt } from './hash.js'
import { type IdKey, idKeysOf } from './ids.js'
import type { Listed } from './listed.js'
import type { ListedEntry } from './seal-entry.js'

/** One batch as it will stand in the file: `buffer[1 .. 1 + length]`. */
export type Composed = {
  readonly buffer: Buffer
  readonly length: number
  readonly lines: readonly ComposedLine[]
}
export type ComposedLine = {
  readonly seq: number
  readonly at: string
  readonly hash: string
  /** From the start of the batch. */
  readonly offset: number
  readonly ids: readonly IdKey[]
  readonly listed: Listed | null
}

const LF = 10
const ENVELOPE_ROOM = 512

/** The writer's one buffer: a batch is in the kernel's hands before the next is composed. */
export function createComposer(origin: string) {
  let scratch = Buffer.allocUnsafe(256 * 1024)
  return (entries: readonly ListedEntry[], from: Cursor, at: string): Composed => {
    const room = entries.reduce((sum, { json }) => sum + 3 * json.length + ENVELOPE_ROOM, 1)
    if (room > scratch.length) scratch = Buffer.allocUnsafe(room)
    const buffer = scratch
    const lines: ComposedLine[] = []
    let { seq, prev } = from
    let start = 1
    for (const { type, json, listed } of entries) {
      seq++
      const text = formatLine({ origin, seq, prev, at, type }, json)
      const stop = start + buffer.write(text, start)
      const hash = leafHashAt(buffer, start, stop)
      buffer[stop] = LF
      const ids = idKeysOf(type, () => text)
      lines.push({ seq, at, hash, offset: start - 1, ids, listed })
      prev = hash
      start = stop + 1
    }
    return { buffer, length: start - 1, lines }
  }
}
