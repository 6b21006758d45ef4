import { randomFillSync } from 'node:crypto'
import { join } from 'node:path'
import { ftruncateSync, open } from './files.js'

/**
 * Disk space set aside, so that what was already dispatched can still be concluded when the disk is
 * full (DESIGN §2, promise 1). It holds random bytes: zeros would be stored as nothing by file systems
 * that compress.
 */
export type Reserve = {
  whole(): boolean
  /** Gives at least `bytes` back to the file system, all of it with Infinity; false when it has nothing left. */
  release(bytes: number): boolean
  /** Makes it whole again and proves that there is room beyond it; rejects with the disk's error. */
  restore(): Promise<void>
  close(): Promise<void>
}

const STEP = 64 * 1024

/** `headroom` bytes must be free besides the reserve before ordinary work is taken again. */
export async function openReserve(dir: string, bytes: number, headroom: number): Promise<Reserve> {
  const handle = await open(join(dir, 'reserve'), 'a+', 0o600)
  // More than asked: a smaller setting than last time, or a crash while proving headroom.
  if ((await handle.stat()).size > bytes) await handle.truncate(bytes)
  let held = (await handle.stat()).size
  const filler = Buffer.allocUnsafe(STEP)
  const grow = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; ) {
      randomFillSync(filler)
      at += (await handle.write(filler, 0, Math.min(STEP, to - at))).bytesWritten
    }
    await handle.datasync()
  }
  return {
    whole: () => held === bytes,
    release(wanted) {
      if (held === 0) return false
      const keep = Math.max(0, held - Math.ceil((2 * wanted) / STEP) * STEP - STEP)
      ftruncateSync(handle.fd, keep)
      held = keep
      return true
    },
    async restore() {
      const from = held
      try {
        await grow(from, bytes + headroom)
      } catch (error) {
        await handle.truncate(from)
        throw error
      }
      await handle.truncate(bytes)
      await handle.datasync()
      held = bytes
    },
    close: () => handle.close(),
  }
}
