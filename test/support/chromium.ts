import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Missing } from './needs.js'

/** A browser that is installed here, or null. */
export function chromiumPath(env: NodeJS.ProcessEnv = process.env): string | null {
  const folders = (env.PATH ?? '').split(delimiter)
  const candidates = ['chromium', 'chromium-browser', 'google-chrome']
  for (const name of candidates) {
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name)
  }
  return null
}

export const missingChromium = (): Missing =>
  chromiumPath() === null ? 'chromium is missing' : null
