import { type Files, indexFile, segmentFile, segments, withFile, withoutFile } from '../folder.js'
import type { Random } from '../random.js'
import type { Operation } from './operation.js'

/** Segment files: dropped, renamed, doubled, exchanged, cut, emptied; with and without their indexes. */
const PLACES = [
  'the first',
  'the second',
  'one in the middle',
  'the last closed',
  'the open one',
] as const

/** The number of the segment at that place. */
function numberAt(files: Files, place: string): number | null {
  const all = segments(files)
  const at = {
    'the first': 0,
    'the second': 1,
    'one in the middle': Math.floor(all.length / 2),
    'the last closed': all.length - 2,
    'the open one': all.length - 1,
  }[place]
  return all[at ?? -1] ?? null
}

const onSegment = (
  name: string,
  adversary: string,
  change: (files: Files, number: number, bytes: Buffer, random: Random) => Files | null,
): Operation => ({
  name,
  adversary,
  targets: () => PLACES,
  apply(files, target, random) {
    const number = numberAt(files, target)
    const bytes = number === null ? undefined : files.get(segmentFile(number))
    return number === null || bytes === undefined ? null : change(files, number, bytes, random)
  },
})

export const SEGMENTS_CHANGED: readonly Operation[] = [
  onSegment('segment-dropped', 'Someone deletes a segment.', (files, number) =>
    withoutFile(files, segmentFile(number)),
  ),
  onSegment(
    'segment-and-index-dropped',
    'Someone deletes a segment and its index.',
    (files, number) => withoutFile(files, segmentFile(number), indexFile(number)),
  ),
  onSegment(
    'segments-up-to-dropped',
    'Someone deletes a segment and all before it, as if they had been archived.',
    (files, number) =>
      withoutFile(
        files,
        ...segments(files)
          .filter((each) => each <= number)
          .map(segmentFile),
      ),
  ),
  onSegment(
    'segments-from-dropped',
    'Someone deletes a segment and all behind it.',
    (files, number) => {
      const gone = segments(files).filter((each) => each >= number)
      return withoutFile(files, ...gone.flatMap((each) => [segmentFile(each), indexFile(each)]))
    },
  ),
  onSegment(
    'segment-renamed',
    'Someone moves a segment out of the numbers.',
    (files, number, bytes) =>
      withFile(withoutFile(files, segmentFile(number)), `${segmentFile(number)}.bak`, bytes),
  ),
  onSegment(
    'segment-appended',
    'Someone puts a copy of a segment behind the last.',
    (files, _, bytes) => withFile(files, segmentFile((segments(files).at(-1) ?? 0) + 1), bytes),
  ),
  onSegment(
    'segment-replaces-last',
    'Someone puts an older segment in place of the open one.',
    (files, _, bytes) => {
      const last = segmentFile(segments(files).at(-1) ?? 1)
      return files.get(last)?.equals(bytes) ? null : withFile(files, last, bytes)
    },
  ),
  onSegment('segments-exchanged', 'Someone exchanges two segments.', (files, number, bytes) => {
    const next = segmentFile(number + 1)
    const other = files.get(next) ?? files.get(segmentFile(number - 1))
    if (other === undefined) return null
    const second = files.has(next) ? next : segmentFile(number - 1)
    return withFile(withFile(files, segmentFile(number), other), second, bytes)
  }),
  onSegment('segment-emptied', 'Someone empties a segment.', (files, number, bytes) =>
    bytes.length === 0 ? null : withFile(files, segmentFile(number), Buffer.alloc(0)),
  ),
  onSegment('segment-cut', 'Someone cuts a segment short.', (files, number, bytes, random) =>
    withFile(files, segmentFile(number), bytes.subarray(0, random.int(bytes.length))),
  ),
  onSegment(
    'segment-cut-in-front',
    'Someone cuts the beginning of a segment off.',
    (files, number, bytes, random) =>
      bytes.length === 0
        ? null
        : withFile(files, segmentFile(number), bytes.subarray(1 + random.int(bytes.length))),
  ),
  onSegment(
    'segments-joined',
    'Someone puts a segment and the next into one file.',
    (files, number, bytes) => {
      const next = segmentFile(number + 1)
      const other = files.get(next)
      if (other === undefined) return null
      return withFile(withoutFile(files, next), segmentFile(number), Buffer.concat([bytes, other]))
    },
  ),
  onSegment(
    'segment-line-feed-removed',
    'Someone takes the last line feed off.',
    (files, number, bytes) =>
      bytes.length === 0 ? null : withFile(files, segmentFile(number), bytes.subarray(0, -1)),
  ),
  onSegment(
    'segment-zeroed',
    'A file system gives zeros for a stretch of a segment.',
    (files, number, bytes, random) => {
      if (bytes.length < 2) return null
      const out = Buffer.from(bytes)
      const from = random.int(bytes.length - 1)
      const to = Math.min(bytes.length, from + 1 + random.int(512))
      return withFile(files, segmentFile(number), out.fill(0, from, to))
    },
  ),
]
