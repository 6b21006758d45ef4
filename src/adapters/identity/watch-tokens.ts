import { statSync } from 'node:fs'
import type { AgentRecord } from './identity.js'
import { readTokens, tokensFile } from './tokens.js'

/** How long a token may still work after it was revoked in another process. */
const LOOK_EVERY_MS = 1_000

/**
 * The agents' own tokens by hash, looked up again when the file changes. A file that cannot be read
 * leaves nobody known: a revocation must not be undone by damage.
 */
export function watchTokens(
  dir: string,
  failed: (error: unknown) => void,
): () => ReadonlyMap<string, AgentRecord> {
  let known: ReadonlyMap<string, AgentRecord> = new Map()
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
      known = agentsOf(dir)
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

const agentsOf = (dir: string): ReadonlyMap<string, AgentRecord> =>
  new Map(
    readTokens(dir)
      .filter(({ role }) => role === 'agent')
      .map(({ sha256, name, groups, developer }) => [
        sha256,
        { agent: name, roles: groups, developer: developer ?? name },
      ]),
  )
