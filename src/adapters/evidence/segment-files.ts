import { join } from 'node:path'
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from '../disk/files.js'
import { syncFolder } from '../disk/folder.js'
import { replaceFileSync } from '../disk/replace-file.js'
import { scanSegment } from './frame.js'
import { createMemoryIndex, type MemoryIndex, type Place } from './memory-index.js'
import type { Seams } from './seams.js'
import {
  countInSidecar,
  type Finder,
  findInSidecar,
  isSidecarSound,
  loadSidecar,
  namesInSidecar,
  writeSidecar,
} from './sidecar.js'

/** The segment that is written to, or one whose index is not on disk yet. */
export type Segment = {
  readonly number: number
  readonly fd: number
  size: number
  /** Up to here everything was synced. */
  durable: number
  readonly index: MemoryIndex
}
export type SegmentIndex = {
  find(digest: Buffer): Promise<readonly Place[]>
  /** The whole of it in memory, for many look-ups at once. */
  load(): Promise<Finder>
  count(keySlot: number): Promise<number>
  /** The prefixes of all entries under that key, hex. */
  names(keySlot: number): Promise<readonly string[]>
}

export const inMemory = (index: MemoryIndex): SegmentIndex => ({
  find: async (digest) => index.find(digest),
  load: async () => index.find,
  count: async (keySlot) => index.perKey.get(keySlot) ?? 0,
  names: async (keySlot) =>
    index
      .sorted()
      .filter(([, place]) => place.keySlot === keySlot)
      .map(([prefix]) => Buffer.from(prefix, 'latin1').toString('hex')),
})

export type SegmentFiles = ReturnType<typeof segmentFiles>

export function segmentFiles(folder: string, seams: Seams, report: (finding: string) => void) {
  const path = (number: number): string => join(folder, `${String(number).padStart(10, '0')}.seg`)
  const sidecar = (number: number): string => path(number).replace(/seg$/, 'idx')
  /** Sidecars read whole and found good since the start. */
  const sound = new Set<number>()

  function indexed(bytes: Buffer, file: string) {
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
      const { index, end } = indexed(bytes, file)
      const fd = openSync(file, 'r+')
      if (end < bytes.length) {
        const aside = `${file}.torn-${end}`
        replaceFileSync(aside, bytes.subarray(end))
        ftruncateSync(fd, end)
        report(`${file}: ${bytes.length - end} torn bytes at ${end} were cut and kept in ${aside}`)
      }
      // A kill leaves pages that no sync confirmed; from here on they are relied upon.
      fsyncSync(fd)
      return { number, fd, size: end, durable: end, index }
    },

    async close(segment: Segment): Promise<void> {
      const { number, size: bytes, index } = segment
      await writeSidecar(sidecar(number), { number, bytes }, index, seams)
      sound.add(number)
      closeSync(segment.fd)
    },

    /** The index of a closed segment, made again from the segment when it is missing or does not hold. */
    async index(number: number): Promise<SegmentIndex> {
      const file = path(number)
      const side = sidecar(number)
      if (!sound.has(number)) {
        if (!isSidecarSound(side, { number, bytes: statSync(file).size })) {
          report(`${side}: missing or not that of its segment; made again`)
          const bytes = readFileSync(file)
          const { index } = indexed(bytes, file)
          try {
            await writeSidecar(side, { number, bytes: bytes.length }, index, seams)
          } catch {
            // No room to write it: the segment itself still answers, only slower.
            return inMemory(index)
          }
        }
        sound.add(number)
      }
      return {
        find: (digest) => findInSidecar(side, digest),
        load: () => loadSidecar(side),
        count: (keySlot) => countInSidecar(side, keySlot),
        names: (keySlot) => namesInSidecar(side, keySlot),
      }
    },
  }
}
