import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import {
  fsyncSync,
  linkSync,
  rename,
  renameSync,
  rm,
  rmSync,
  unlink,
  unlinkSync,
  writeFileSync,
} from './files.js'
import { syncFolder } from './folder.js'
import { withFile, withFileSync } from './with-file.js'

export const TEMPORARY = '.tmp'

/**
 * All of the new content or all of the old, whatever happens in between; where it fails, nothing beside it. The
 * temporary file is made anew, so that its mode is ours and it is no link.
 */
export async function replaceFile(
  path: string,
  content: Uint8Array | string,
  beforeRename?: () => void,
): Promise<void> {
  const temporary = `${path}${TEMPORARY}`
  await rm(temporary, { force: true })
  try {
    await withFile(temporary, 'wx', async (file) => {
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

/** The same at once, with the mode asked for. */
export function replaceFileSync(
  path: string,
  content: Uint8Array | string,
  mode = 0o600,
  beforeRename?: () => void,
): void {
  const temporary = `${path}${TEMPORARY}`
  rmSync(temporary, { force: true })
  try {
    writeNew(temporary, content, mode)
    beforeRename?.()
    renameSync(temporary, path)
  } catch (error) {
    removeIfPossible(temporary)
    throw error
  }
  syncFolder(dirname(path))
}

/** A file that is made once. It has its name only when it is whole, and of two processes at once one is refused. */
export function createFileSync(path: string, content: Uint8Array | string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}${TEMPORARY}`
  try {
    writeNew(temporary, content, 0o600)
    linkSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  syncFolder(dirname(path))
}

function writeNew(path: string, content: Uint8Array | string, mode: number): void {
  const write = (fd: number): void => {
    writeFileSync(fd, content)
    fsyncSync(fd)
  }
  withFileSync(path, 'wx', write, mode)
}

/** On the way out of a failure, which is the one to tell. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {}
}

export function removeFileSync(path: string): void {
  unlinkSync(path)
  syncFolder(dirname(path))
}
