import { dirname } from 'node:path'
import {
  closeSync,
  fsyncSync,
  open,
  openSync,
  rename,
  renameSync,
  rmSync,
  unlink,
  unlinkSync,
  writeFileSync,
} from './files.js'
import { syncFolder } from './folder.js'

export const TEMPORARY = '.tmp'

/** All of the new content or all of the old, whatever happens in between. */
export async function replaceFile(
  path: string,
  content: Uint8Array | string,
  beforeRename?: () => void,
): Promise<void> {
  const temporary = `${path}${TEMPORARY}`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    beforeRename?.()
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  syncFolder(dirname(path))
}

/** The same at once. The temporary file is made anew, so that the mode is the one asked for. */
export function replaceFileSync(
  path: string,
  content: Uint8Array | string,
  mode = 0o600,
  beforeRename?: () => void,
): void {
  const temporary = `${path}${TEMPORARY}`
  rmSync(temporary, { force: true })
  const fd = openSync(temporary, 'wx', mode)
  try {
    writeFileSync(fd, content)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  beforeRename?.()
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

export function removeFileSync(path: string): void {
  unlinkSync(path)
  syncFolder(dirname(path))
}
