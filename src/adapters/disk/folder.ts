import { dirname } from 'node:path'
import { fsyncSync, mkdirSync } from './files.js'
import { withFileSync } from './with-file.js'

/** A name is durable only when its folder is. */
export function syncFolder(folder: string): void {
  withFileSync(folder, 'r', fsyncSync)
}

/** A private folder that a power loss does not take: each new name on the way to it is synced where it stands. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; ; made = dirname(made)) {
    syncFolder(dirname(made))
    if (made === first) return
  }
}
