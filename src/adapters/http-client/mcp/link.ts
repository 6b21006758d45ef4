import type { Header } from '../../../core/call/call.js'
import type { Observation } from '../../../core/capsule/observation.js'
import type { EndedIds } from '../../../core/mcp/ended-ids.js'
import type { McpListener } from '../../../ports/mcp.js'
import type { DispatchRule, Upstream } from '../../../ports/upstream.js'
import type { Reading } from './reading.js'

/** What the exchanges of one connection share. */
export type Link = {
  readonly upstream: Upstream
  /** Path and query of the server's one endpoint. */
  readonly target: string
  readonly maxMessageBytes: number
  readonly listener: McpListener
  readonly ended: EndedIds
  /** What can be cut, while it is under way. */
  readonly cuts: Set<Cut>
  /** What the server called the session when it answered `initialize`; null: none, or not yet. */
  session: string | null
  /** The server no longer knows the session. */
  sessionEnded(session: string): void
}

/** Ends one exchange before its time, and remembers why. */
export type Cut = {
  readonly signal: AbortSignal
  readonly why: string | null
  now(why: string): void
}
export function createCut(): Cut {
  const controller = new AbortController()
  let why: string | null = null
  return {
    signal: controller.signal,
    get why() {
      return why
    },
    now(reason) {
      why ??= reason
      controller.abort()
    },
  }
}

export type Exchange = {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** Infinity: none. */
  readonly totalMs: number
  readonly connection?: DispatchRule['connection'] | undefined
  readonly stillAllowed?: () => boolean
  readonly wrote?: ((octets: Uint8Array) => void) | undefined
  readonly cut: Cut
}
export const NO_BODY = new Uint8Array(0)
const CONNECT_MS = 10_000

/**
 * One exchange of HTTP, with what only the upstream may do: nothing is sent again, and no redirect followed. What it
 * makes of the response is not what is witnessed here, so no rule of a tool's is given to it.
 */
export function exchangeWith(
  { upstream, target }: Link,
  reading: Reading,
  exchange: Exchange,
): Promise<Observation> {
  const { method, headers, body, totalMs, connection = 'fresh', cut } = exchange
  const { stillAllowed = () => true, wrote } = exchange
  const rule: DispatchRule = {
    success: { status: ['200-299'], unless: [] },
    saltedDigest: null,
    connection,
    close_delimited: 'refuse',
    deadlines: { connect_ms: CONNECT_MS, first_byte_ms: totalMs, total_ms: totalMs },
  }
  const request = { method, target, headers, body }
  const { signal } = cut
  return upstream.send(request, rule, reading, {
    stillAllowed,
    signal,
    ...(wrote === undefined ? {} : { wrote: (_head, octets) => wrote(octets) }),
  })
}
