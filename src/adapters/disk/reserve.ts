import { randomFillSync } from 'node:crypto'
import { join } from 'node:path'
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  writeSync,
} from './files.js'

/**
 * Disk space set aside, so that what was already dispatched can still be concluded when the disk is
 * full (DESIGN §2, promise 1; §8). It holds random bytes: zeros would be stored as nothing by file systems
 * that compress.
 */
export type Reserve = {
  whole(): boolean
  /** Gives at least `bytes` back to the file system, all of it with Infinity; false when it has nothing left. */
  release(bytes: number): boolean
  /** Makes it whole again and proves that there is room beyond it, by writing there; throws the disk's error. */
  restore(): void
  close(): Promise<void>
}

const STEP = 64 * 1024

/** `headroom` bytes must be free besides the reserve before ordinary work is taken again. */
export function openReserve(dir: string, bytes: number, headroom: number): Reserve {
  const fd = openSync(join(dir, 'reserve'), 'a+', 0o600)
  // More than asked: a smaller setting than last time, or a crash while proving headroom.
  if (fstatSync(fd).size > bytes) ftruncateSync(fd, bytes)
  let held = fstatSync(fd).size
  const filler = Buffer.allocUnsafe(STEP)
  const grow = (from: number, to: number): void => {
    for (let at = from; at < to; ) {
      randomFillSync(filler)
      at += writeSync(fd, filler, 0, Math.min(STEP, to - at))
    }
    fdatasyncSync(fd)
  }
  return {
    whole: () => held === bytes,
    release(wanted) {
      if (held === 0) return false
      const keep = Math.max(0, held - Math.ceil((2 * wanted) / STEP) * STEP - STEP)
      ftruncateSync(fd, keep)
      // Some file systems hand out freed blocks only once that is committed.
      fsyncSync(fd)
      held = keep
      return true
    },
    restore() {
      const from = held
      try {
        grow(from, bytes + headroom)
      } catch (error) {
        ftruncateSync(fd, from)
        throw error
      }
      ftruncateSync(fd, bytes)
      fdatasyncSync(fd)
      held = bytes
    },
    close: async () => closeSync(fd),
  }
}
