import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { RequestId } from '../../../core/mcp/message.js'
import type { ClientEnd, Served } from '../options.js'
import type { Session } from '../session.js'
import type { EventStream } from './event-stream.js'

/** A session of a client over HTTP, and the streams on which messages reach it. */
export type HttpSession = {
  readonly id: string
  /** Whose it is: a request of anybody else does not find it. */
  readonly agent: string
  readonly server: string
  readonly session: Session
  /** The streams of requests that are not answered yet, by the request's key, oldest first. */
  readonly posts: Map<string, Post>
  /** Clients that do not know of each other share it: the era without sessions. */
  readonly shared: boolean
  /** A name for one request's ids. */
  nextScope(): number
  /** For what the server starts itself. */
  standing: EventStream | null
  usedAt: number
}
/** A request that is not answered yet. */
export type Post = {
  stream(): EventStream
  /** It asked for what the server logs meanwhile. */
  readonly wantsLogs: boolean
}
export type SessionLimits = { readonly perAgent: number; readonly idleMs: number }

const SWEEP_MS = 1_000
const DRAIN_LOOK_MS = 20
/** Messages that wait for a client to open its stream. */
const MOST_WAITING = 64

/** Sessions by id. A session id is no credential: who calls is known from the request itself. */
export function createSessions(
  open: (served: Served, client: ClientEnd) => Session,
  { perAgent, idleMs }: SessionLimits,
  failed: (error: unknown) => void,
) {
  const all = new Map<string, HttpSession>()
  const busy = ({ posts, standing }: HttpSession): boolean => posts.size > 0 || standing !== null
  const timer = setInterval(() => {
    const now = performance.now()
    for (const one of all.values()) {
      if (!busy(one) && now - one.usedAt > idleMs) end(one).catch(failed)
    }
  }, SWEEP_MS)
  timer.unref()

  async function end(one: HttpSession): Promise<void> {
    all.delete(one.id)
    one.standing?.end()
    await one.session.close()
  }

  function make(id: string, agent: string, served: Served, shared: boolean): HttpSession {
    const waiting: Uint8Array[] = []
    const made: HttpSession = {
      id,
      agent,
      server: served.name,
      session: open(served, {
        send(octets, about) {
          const ways = streamsFor(made, about)
          for (const way of ways) way.send(octets)
          if (ways.length === 0 && !shared && waiting.length < MOST_WAITING) waiting.push(octets)
        },
      }),
      posts: new Map(),
      shared,
      nextScope: () => ++scopes,
      get standing() {
        return standing
      },
      set standing(stream) {
        standing = stream
        if (stream !== null) for (const octets of waiting.splice(0)) stream.send(octets)
      },
      usedAt: performance.now(),
    }
    let standing: EventStream | null = null
    let scopes = 0
    all.set(id, made)
    made.session.ended.then(() => end(made)).catch(failed)
    return made
  }

  return {
    /** Null: the agent has as many as one may have. */
    open(agent: string, served: Served): HttpSession | null {
      const own = [...all.values()].filter((one) => one.agent === agent)
      return own.length >= perAgent
        ? null
        : make(randomBytes(16).toString('hex'), agent, served, false)
    },
    /** The era without sessions: one connection to the server for all requests of an agent. */
    shared(agent: string, served: Served): HttpSession {
      const id = `${served.name} ${agent}`
      const found = all.get(id) ?? make(id, agent, served, true)
      found.usedAt = performance.now()
      return found
    },
    find(id: string, agent: string, server: string): HttpSession | null {
      const found = all.get(id)
      if (found === undefined || found.agent !== agent || found.server !== server) return null
      found.usedAt = performance.now()
      return found
    },
    end,
    /** Waits so long for requests that are not answered yet. */
    async close(drainMs: number): Promise<void> {
      clearInterval(timer)
      const until = performance.now() + drainMs
      for (const one of all.values()) one.standing?.end()
      while (performance.now() < until && [...all.values()].some(({ posts }) => posts.size > 0)) {
        await pause(DRAIN_LOOK_MS)
      }
      await Promise.all([...all.values()].map(end))
    },
  }
}
export type Sessions = ReturnType<typeof createSessions>

/**
 * On the stream of the request it belongs to. What belongs to none goes to the standing stream, and without one to
 * the oldest request that is open, because a server asks in the course of some call. Where clients share a
 * session it goes to those who asked for logs: nothing else of a server belongs to no request then.
 */
function streamsFor(one: HttpSession, about: RequestId | null): readonly EventStream[] {
  const { posts, standing, shared } = one
  const own = about === null ? undefined : posts.get(about.key)
  if (own !== undefined) return [own.stream()]
  if (shared) {
    return [...posts.values()].filter(({ wantsLogs }) => wantsLogs).map((post) => post.stream())
  }
  if (standing !== null) return [standing]
  const [oldest] = posts.values()
  return oldest === undefined ? [] : [oldest.stream()]
}
