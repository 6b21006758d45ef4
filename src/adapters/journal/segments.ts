import { join } from 'node:path'
import { GateError } from '../../core/error.js'
import { readdir } from '../disk/files.js'
import { readFully, withFile } from '../disk/with-file.js'

/** Segment files count from 1 without gaps; the number is also in the signed seal. */
const NAME = /^(\d{8})\.(jsonl|idx)$/

export const segmentName = (number: number): string => `${String(number).padStart(8, '0')}.jsonl`
export const segmentPath = (dir: string, number: number): string => join(dir, segmentName(number))
export const indexPath = (dir: string, number: number): string =>
  join(dir, `${String(number).padStart(8, '0')}.idx`)

/** A segment and the sequence number of its first line (of the line to come, while it is empty). */
export type Stretch = { readonly number: number; readonly first: number }

/**
 * `present`: numbers whose lines are here, ascending. `archived`: those before them, of which only the index with the
 * signed seal is here. Segments are archived oldest first: a hole between lines that are here is damage.
 */
export async function listSegments(dir: string) {
  const lines: number[] = []
  const indexes = new Set<number>()
  for (const name of await readdir(dir)) {
    const match = NAME.exec(name)
    if (match === null) continue
    if (match[2] === 'jsonl') lines.push(Number(match[1]))
    else indexes.add(Number(match[1]))
  }
  lines.sort((a, b) => a - b)
  const first = lines[0] ?? Math.max(0, ...indexes) + 1
  const archived = Array.from({ length: first - 1 }, (_, i) => i + 1)
  const lost =
    archived.find((number) => !indexes.has(number)) ??
    lines.map((_, i) => first + i).find((number, i) => lines[i] !== number)
  if (lost !== undefined) {
    throw new GateError(
      'damaged',
      `segment ${lost} is missing: put the file back (only the oldest segments may be archived, and their .idx files stay)`,
      { file: segmentPath(dir, lost), expected: 'a segment', found: 'no file' },
    )
  }
  return { present: lines, archived }
}

/** The seq of the oldest line that is here. */
export async function firstLine(dir: string): Promise<number> {
  const [oldest] = (await listSegments(dir)).present
  const line = oldest === undefined ? null : await readFirstLine(segmentPath(dir, oldest))
  return line?.seq ?? 1
}

const FIRST =
  /^\{"v":[12],"origin":"([^"\\]+)","seq":([1-9]\d{0,15}),"prev":"([0-9a-f]{64})","at":"/

/** What the first line says of its position in the chain; null for a segment without a whole first line. */
export async function readFirstLine(file: string) {
  const buffer = Buffer.alloc(512)
  const length = await withFile(file, 'r', (handle) => readFully(handle, buffer, 0))
  const match = FIRST.exec(buffer.toString('latin1', 0, length))
  if (match === null) return null
  return { origin: match[1] as string, seq: Number(match[2]), prev: match[3] as string }
}
