import { dirname } from 'node:path'
import {
  closeSync,
  fsyncSync,
  open,
  openSync,
  rename,
  renameSync,
  unlink,
  unlinkSync,
  writeFileSync,
} from '../disk/files.js'

/** Whole or not at all, whatever happens in between: temporary file, fsync, rename, fsync of the folder. */
export const TEMPORARY = '.tmp'

export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  beforeSwap?: () => void,
): Promise<void> {
  const temporary = `${path}${TEMPORARY}`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    beforeSwap?.()
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  syncFolder(dirname(path))
}

export function replaceFileSync(path: string, bytes: Uint8Array): void {
  const temporary = `${path}${TEMPORARY}`
  const fd = openSync(temporary, 'w', 0o600)
  try {
    writeFileSync(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

export function removeFileSync(path: string): void {
  unlinkSync(path)
  syncFolder(dirname(path))
}

export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
