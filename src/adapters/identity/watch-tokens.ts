import { statSync } from 'node:fs'
import type { AgentRecord } from './identity.js'
import { readTokens, tokensFile } from './tokens.js'

/** How long a token may still work after it was revoked in another process. */
const LOOK_EVERY_MS = 1_000

/**
 * The token file by hash, read again when it changes. A file that cannot be read leaves nobody
 * known: a revocation must not be undone by damage.
 */
export function watchTokenFile<T>(
  dir: string,
  read: (dir: string) => ReadonlyMap<string, T>,
  failed: (error: unknown) => void,
): () => ReadonlyMap<string, T> {
  let known: ReadonlyMap<string, T> = new Map()
  let version = ''
  let looked = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - looked < LOOK_EVERY_MS) return known
    looked = now
    const found = versionOf(tokensFile(dir))
    if (found === version) return known
    version = found
    try {
      known = read(dir)
    } catch (error) {
      known = new Map()
      failed(error)
    }
    return known
  }
}

function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 'absent' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
}

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
