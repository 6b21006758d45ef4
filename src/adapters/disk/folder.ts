import { dirname, resolve } from 'node:path'
import { errnoOf } from './errno.js'
import { existsSync, fsyncSync, mkdirSync } from './files.js'
import { withFileSync } from './with-file.js'

/** A name is durable only when its folder is. */
export function syncFolder(folder: string): void {
  withFileSync(folder, 'r', fsyncSync)
}

/** A private folder that a power loss does not take: each new name on the way to it is synced where it stands. */
export function makeFolder(folder: string): void {
  const path = resolve(folder)
  const above = dirname(path)
  // One after the other, the outermost first: a process that is killed leaves one unsynced name, the innermost there.
  if (!existsSync(path)) {
    if (existsSync(above)) syncName(above)
    else makeFolder(above)
  }
  mkdirSync(path, { recursive: true, mode: 0o700 })
  // Its own name is synced even where it was there: the process that made it may have been killed before it did.
  syncFolder(above)
}

/** The name of a file or folder that was there; not where this process could not have made it. */
export function syncName(path: string): void {
  try {
    syncFolder(dirname(path))
  } catch (error) {
    if (!NOT_OURS.includes(errnoOf(error) ?? '')) throw error
  }
}
const NOT_OURS = ['EACCES', 'EINVAL', 'EROFS']
