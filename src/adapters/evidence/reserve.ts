import { randomBytes } from 'node:crypto'
import { isFull } from '../disk/errno.js'
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from '../disk/files.js'
import { TEMPORARY } from '../disk/replace-file.js'

/**
 * Space kept for the conclusions of calls already dispatched (DESIGN §8): given up when one of them
 * finds the disk full, and while it is not whole nothing else is accepted.
 */
export type Reserve = {
  isWhole(): boolean
  /** Frees the space; false when it was free already. */
  giveUp(): boolean
  /** True when it is whole again. */
  rebuild(): boolean
  /** True when as much again fits beside it: tried for real, not read off a counter. */
  hasRoomBeside(): boolean
}

const BLOCK = 64 * 1024

export function openReserve(path: string, bytes: number): Reserve {
  let whole = false
  const reserve: Reserve = {
    isWhole: () => whole,
    giveUp() {
      if (!whole) return false
      whole = false
      truncate(path)
      return true
    },
    rebuild() {
      if (whole) return true
      try {
        fill(path, bytes)
        whole = true
      } catch (error) {
        truncate(path)
        if (!isFull(error)) throw error
      }
      return whole
    },
    hasRoomBeside() {
      const probe = `${path}${TEMPORARY}`
      try {
        fill(probe, bytes)
        return true
      } catch (error) {
        if (!isFull(error)) throw error
        return false
      } finally {
        rmSync(probe, { force: true })
      }
    },
  }
  whole = sizeOf(path) === bytes
  reserve.rebuild()
  return reserve
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1

function truncate(path: string): void {
  const fd = openSync(path, 'a', 0o600)
  try {
    ftruncateSync(fd, 0)
    // Until the freed blocks are committed some file systems do not hand them out again.
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function fill(path: string, bytes: number): void {
  const fd = openSync(path, 'w', 0o600)
  try {
    // Random, so that a compressing file system sets the space aside for real.
    const block = randomBytes(BLOCK)
    for (let at = 0; at < bytes; ) at += writeSync(fd, block, 0, Math.min(BLOCK, bytes - at))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
