import type { AdminTokens, Principal } from '../../ports/admin.js'

export type Authenticated =
  | { readonly kind: 'principal'; readonly principal: Principal; readonly token: string }
  | { readonly kind: 'agent' | 'unknown' }

const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i

export function authenticate(header: string | undefined, tokens: AdminTokens): Authenticated {
  const bearer = BEARER.exec(header ?? '')?.[1]
  if (bearer === undefined) return { kind: 'unknown' }
  const token = tokens.hash(bearer)
  const principal = tokens.held().get(token)
  if (principal === undefined) return { kind: 'unknown' }
  return principal === null ? { kind: 'agent' } : { kind: 'principal', principal, token }
}
