import { hashToken, readTokens } from '../../adapters/identity/tokens.js'
import { watchTokenFile } from '../../adapters/identity/watch-tokens.js'
import type { Principal } from './route.js'

/** SHA-256 of a token, hex → whom it was given to; null for an agent's, which works elsewhere only. */
export type AdminTokens = () => ReadonlyMap<string, Principal | null>

export type Authenticated =
  | { readonly kind: 'principal'; readonly principal: Principal; readonly token: string }
  | { readonly kind: 'agent' }
  | { readonly kind: 'nobody' }

/** The tokens of a data folder; a revoked one stops working at the next look. */
export const adminTokens = (dir: string, failed: (error: unknown) => void): AdminTokens =>
  watchTokenFile(
    dir,
    (folder) =>
      new Map(
        readTokens(folder).map(({ sha256, role, name, groups, machine }) => [
          sha256,
          role === 'agent' ? null : { name, role, groups, machine: machine === true },
        ]),
      ),
    failed,
  )

const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i

/** Looked up by hash: comparing hashes gives away nothing of the token. */
export function authenticate(header: string | undefined, tokens: AdminTokens): Authenticated {
  const bearer = BEARER.exec(header ?? '')?.[1]
  if (bearer === undefined) return { kind: 'nobody' }
  const token = hashToken(bearer)
  const found = tokens().get(token)
  if (found === undefined) return { kind: 'nobody' }
  return found === null ? { kind: 'agent' } : { kind: 'principal', principal: found, token }
}
