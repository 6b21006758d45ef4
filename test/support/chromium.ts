import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A browser that is installed here, or null: suites that need one then say that they did not run. */
export function chromiumPath(env: NodeJS.ProcessEnv = process.env): string | null {
  const folders = (env.PATH ?? '').split(delimiter)
  const candidates = ['chromium', 'chromium-browser', 'google-chrome']
  for (const name of candidates) {
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name)
  }
  return null
}
