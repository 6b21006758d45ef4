import { join } from 'node:path'
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from '../../disk/files.js'
import { syncFolder } from '../../disk/folder.js'
import { replaceFileSync } from '../../disk/replace-file.js'
import type { Seams } from '../seams.js'
import { scanSegment } from './frame.js'
import { isIndexFileSound, openIndexFile, writeIndexFile } from './index-file.js'
import { createMemoryIndex, type MemoryIndex, type SegmentIndex } from './segment-index.js'

/** The segment that is written to, or one whose index is not on disk yet. */
export type Segment = {
  readonly number: number
  readonly fd: number
  size: number
  /** Up to here everything was synced. */
  durable: number
  readonly index: MemoryIndex
}

export type SegmentFiles = ReturnType<typeof segmentFiles>

export function segmentFiles(folder: string, seams: Seams, report: (finding: string) => void) {
  const path = (number: number): string => join(folder, `${String(number).padStart(10, '0')}.seg`)
  const indexPath = (number: number): string => path(number).replace(/seg$/, 'idx')
  /** Segments whose index file was read whole and found good since the start. */
  const sound = new Set<number>()

  function indexOf(bytes: Buffer, file: string) {
    const index = createMemoryIndex()
    const scan = scanSegment(bytes)
    for (const { offset, head, isDamaged } of scan.records) index.add(offset, head, isDamaged)
    for (const { offset, bytes: length } of scan.damage) {
      report(`${file}: ${length} damaged bytes at ${offset}; the records after them are good`)
    }
    return { index, end: scan.end }
  }

  return {
    path,
    numbers: (): number[] =>
      readdirSync(folder)
        .flatMap((name) => /^(\d{10})\.seg$/.exec(name)?.[1] ?? [])
        .map(Number)
        .sort((a, b) => a - b),

    create(number: number): Segment {
      const fd = openSync(path(number), 'wx+', 0o600)
      syncFolder(folder)
      return { number, fd, size: 0, durable: 0, index: createMemoryIndex() }
    },

    /** The newest segment after a stop of any kind. A torn tail is cut off, and its bytes are kept aside. */
    resume(number: number): Segment {
      const file = path(number)
      const bytes = readFileSync(file)
      const { index, end } = indexOf(bytes, file)
      const fd = openSync(file, 'r+')
      if (end < bytes.length) {
        const aside = `${file}.torn-${end}`
        replaceFileSync(aside, bytes.subarray(end))
        ftruncateSync(fd, end)
        report(`${file}: ${bytes.length - end} torn bytes at ${end} were cut and kept in ${aside}`)
      }
      // A kill may leave pages that were never synced; from here on they are relied upon.
      fsyncSync(fd)
      return { number, fd, size: end, durable: end, index }
    },

    async close(segment: Segment): Promise<void> {
      const { number, size: bytes, index } = segment
      await writeIndexFile(indexPath(number), { number, bytes }, index, seams)
      sound.add(number)
      closeSync(segment.fd)
    },

    /** The index of a closed segment, made again from the segment when it is missing or damaged. */
    async index(number: number): Promise<SegmentIndex> {
      const file = path(number)
      const indexFile = indexPath(number)
      if (!sound.has(number)) {
        if (!isIndexFileSound(indexFile, { number, bytes: statSync(file).size })) {
          report(`${indexFile}: missing or not that of its segment; made again`)
          const bytes = readFileSync(file)
          const { index } = indexOf(bytes, file)
          try {
            await writeIndexFile(indexFile, { number, bytes: bytes.length }, index, seams)
          } catch {
            // No room to write it: it is made from the segment again each time.
            return index
          }
        }
        sound.add(number)
      }
      return openIndexFile(indexFile)
    },
  }
}
