import { statSync } from '../disk/files.js'
import type { AgentRecord } from './identity.js'
import { readTokens, tokensFile } from './tokens.js'

/** How long a token or key may still work after it was taken away in another process. */
const CHECK_EVERY_MS = 1_000

/** What a file says about who is known, read again when it changes. */
export function watchFile<T>(
  path: string,
  read: () => T,
  /** What holds while it cannot be read: a revocation must not be undone by damage. */
  none: T,
  failed: (error: unknown) => void,
): () => T {
  let known = none
  let version = ''
  let checked = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - checked < CHECK_EVERY_MS) return known
    checked = now
    const found = versionOf(path)
    if (found === version) return known
    version = found
    try {
      known = read()
    } catch (error) {
      known = none
      failed(error)
    }
    return known
  }
}

function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 'absent' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
}

export const watchTokenFile = <T>(
  dir: string,
  read: (dir: string) => ReadonlyMap<string, T>,
  failed: (error: unknown) => void,
): (() => ReadonlyMap<string, T>) => watchFile(tokensFile(dir), () => read(dir), new Map(), failed)

/** The agents' own tokens. */
export const watchTokens = (
  dir: string,
  failed: (error: unknown) => void,
): (() => ReadonlyMap<string, AgentRecord>) => watchTokenFile(dir, agentsOf, failed)

const agentsOf = (dir: string): ReadonlyMap<string, AgentRecord> =>
  new Map(
    readTokens(dir)
      .filter(({ role }) => role === 'agent')
      .map(({ sha256, name, groups, developer }) => [
        sha256,
        { agent: name, roles: groups, developer: developer ?? name },
      ]),
  )
