import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const EMITTED = /\.(?:js|js\.map|d\.ts)$/

/** Removes what lies in dist without a source, such as files that moved; what has a source is never absent. */
export function removeStale(dist, src) {
  if (!existsSync(dist)) return
  for (const entry of readdirSync(dist, { withFileTypes: true })) {
    const path = join(dist, entry.name)
    if (entry.isDirectory()) {
      removeStale(path, join(src, entry.name))
      if (readdirSync(path).length === 0) rmdirSync(path)
    } else if (!existsSync(join(src, entry.name.replace(EMITTED, '.ts')))) rmSync(path)
  }
}
