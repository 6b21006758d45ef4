import { dirname } from 'node:path'
import {
  fsyncSync,
  rename,
  renameSync,
  rmSync,
  unlink,
  unlinkSync,
  writeFileSync,
} from './files.js'
import { syncFolder } from './folder.js'
import { withFile, withFileSync } from './with-file.js'

export const TEMPORARY = '.tmp'

/** All of the new content or all of the old, whatever happens in between. */
export async function replaceFile(
  path: string,
  content: Uint8Array | string,
  beforeRename?: () => void,
): Promise<void> {
  const temporary = `${path}${TEMPORARY}`
  try {
    await withFile(temporary, 'w', async (file) => {
      await file.writeFile(content)
      await file.sync()
    })
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
  const write = (fd: number): void => {
    writeFileSync(fd, content)
    fsyncSync(fd)
  }
  withFileSync(temporary, 'wx', write, mode)
  beforeRename?.()
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

export function removeFileSync(path: string): void {
  unlinkSync(path)
  syncFolder(dirname(path))
}
