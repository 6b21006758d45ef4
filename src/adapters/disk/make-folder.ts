import { dirname, resolve } from 'node:path'
import { closeSync, fsyncSync, mkdirSync, openSync } from './files.js'

/** A private folder that a power loss does not take: each new name on the way to it is synced where it stands. */
export function makeFolder(folder: string): void {
  const path = resolve(folder)
  // Its own name is synced even where it was there: the process that made it may have been killed before it did.
  const first = mkdirSync(path, { recursive: true, mode: 0o700 }) ?? path
  for (let made = path; ; made = dirname(made)) {
    syncFolder(dirname(made))
    if (made === first) return
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
