import type { AdminTokens, Principal } from '../../ports/admin.js'
import type { Clock, Ids } from '../../ports/clock.js'

/**
 * A browser's session. Browsers send cookies to every port of a host, so to an agent's server on the
 * same machine too: the cookie is bound to a path that cannot be guessed (`pathId`), and the path alone
 * opens nothing (promise 4).
 */
export type Session = {
  readonly pathId: string
  readonly principal: Principal
  readonly token: string
  /** Goes into every form; the cookie alone changes nothing. */
  readonly csrf: string
  /** The browser came over TLS. */
  readonly secure: boolean
}

/** From sign-in, whatever happens meanwhile: pages that refresh themselves must not keep it open. */
export const SESSION_SECONDS = 3600
const RENEW_MS = 5 * 60_000
/** What was asked with the old value may still be under way. */
const GRACE_MS = 10_000
const MOST_PER_TOKEN = 16

type Held = {
  readonly session: Session
  readonly until: number
  hash: string
  renewedAt: number
  previous: { readonly hash: string; readonly until: number } | null
}

export function createSessions(
  tokens: AdminTokens,
  clock: Pick<Clock, 'monotonic'>,
  ids: Pick<Ids, 'random'>,
) {
  const held = new Map<string, Held>()
  const random = (): string => Buffer.from(ids.random(32)).toString('base64url')

  function makeRoom(token: string, now: number): void {
    for (const [pathId, { until }] of held) if (until <= now) held.delete(pathId)
    const own = [...held.values()].filter(({ session }) => session.token === token)
    for (const { session } of own.slice(0, Math.max(0, own.length - MOST_PER_TOKEN + 1))) {
      held.delete(session.pathId)
    }
  }

  return {
    /** Null for anything but a person's approver token. The secret is the cookie's value. */
    open(bearer: string, secure: boolean): { session: Session; secret: string } | null {
      const token = tokens.hash(bearer)
      const principal = tokens.held().get(token) ?? null
      if (principal === null || principal.role !== 'approver' || principal.machine) return null
      const now = clock.monotonic()
      makeRoom(token, now)
      const [pathId, value] = [random(), random()]
      const session = { pathId, principal, token, csrf: random(), secure }
      held.set(pathId, {
        session,
        until: now + SESSION_SECONDS * 1000,
        hash: tokens.hash(value),
        renewedAt: now,
        previous: null,
      })
      return { session, secret: value }
    },
    /** `renewed` is the cookie's next value, when it is time for one. */
    find(
      pathId: string,
      value: string | null,
    ): { session: Session; renewed: string | null } | null {
      const entry = held.get(pathId)
      if (entry === undefined || value === null) return null
      const now = clock.monotonic()
      // A token revoked, or made another's, ends its sessions at the next look.
      const holder = tokens.held().get(entry.session.token) ?? null
      if (entry.until <= now || holder?.role !== 'approver' || holder.machine) {
        held.delete(pathId)
        return null
      }
      const session = { ...entry.session, principal: holder }
      const hash = tokens.hash(value)
      if (hash !== entry.hash) {
        const { previous } = entry
        const late = previous !== null && previous.hash === hash && now < previous.until
        return late ? { session, renewed: null } : null
      }
      if (now - entry.renewedAt < RENEW_MS) return { session, renewed: null }
      const renewed = random()
      entry.previous = { hash, until: now + GRACE_MS }
      entry.hash = tokens.hash(renewed)
      entry.renewedAt = now
      return { session, renewed }
    },
    close(pathId: string): void {
      held.delete(pathId)
    },
  }
}

export const COOKIE = 'gate_session'
const VALUE = /(?:^|; )gate_session=([A-Za-z0-9_-]{43})(?:;|$)/

export const cookieIn = (header: string | undefined): string | null =>
  VALUE.exec(header ?? '')?.[1] ?? null

export const cookieFor = (path: string, value: string, seconds: number, secure: boolean): string =>
  `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
