import type { LookupFunction } from 'node:net'
import type { Header } from '../../core/call/call.js'
import type { Observation } from '../../core/capsule/observation.js'
import type { ToolRule } from '../../core/manifest/model.js'
import { Connection, type Origin } from './connection.js'
import { exchange } from './exchange.js'
import { createPool, type PoolStats } from './pool.js'
import { type FrozenRequest, requestHead } from './request-head.js'
import type { ResponseSink } from './sink.js'
import type { WitnessRule } from './witness.js'

/**
 * The governed way to one upstream: HTTP/1.1 over our own sockets, one call per connection at a time,
 * no retry, no redirect. A general client reports a reset body as complete, accepts an answer to a
 * half-sent request and hides framing and version; `confirmed` cannot stand on that (DESIGN §2.3).
 */
export type UpstreamOptions = {
  readonly name: string
  /** `http://host[:port]` or `https://host[:port]`, nothing behind it. */
  readonly origin: string
  readonly ca?: string | readonly string[]
  readonly cert?: string
  readonly key?: string
  /** Resolves the origin's host for each new connection; absent: the system's resolver. */
  readonly lookup?: LookupFunction
  /** Read for every call, put on the wire and nowhere else. */
  readonly credential?: { readonly header: string; value(): string }
  /** JSON bodies up to this many octets are read and bound as JSON; default 1 MiB. */
  readonly holdLimit?: number
}
export type DispatchRule = WitnessRule &
  Pick<ToolRule, 'deadlines' | 'connection' | 'close_delimited'>
export type DispatchControl = {
  /** Asked once, just before the first byte is written. */
  stillAllowed(): boolean
  readonly signal?: AbortSignal
}
export type UpstreamStats = PoolStats & { readonly inFlight: number }

export type Upstream = {
  readonly name: string
  /** Never rejects: whatever happens is an Observation. */
  send(
    request: FrozenRequest,
    rule: DispatchRule,
    sink: ResponseSink,
    control: DispatchControl,
  ): Promise<Observation>
  /** Takes no new calls, and resolves when those under way have ended. */
  close(): Promise<void>
  stats(): UpstreamStats
}

const HOLD_LIMIT = 1024 * 1024

export function createUpstream(options: UpstreamOptions): Upstream {
  const { origin, host } = originOf(options)
  const holdLimit = options.holdLimit ?? HOLD_LIMIT
  const pool = createPool(origin)
  let inFlight = 0
  let closing = false
  const waiting: (() => void)[] = []

  async function dispatch(
    request: FrozenRequest,
    rule: DispatchRule,
    sink: ResponseSink,
    { stillAllowed, signal }: DispatchControl,
  ): Promise<Observation> {
    const started = performance.now()
    const credential = credentialOf(options)
    if (credential === 'unavailable') return notSent('credential_unavailable')
    const head = requestHead(request, host, rule.connection, credential)
    if (head === null) return notSent('unsendable_request')
    const { connect_ms, first_byte_ms, total_ms } = rule.deadlines
    const leased = await pool.lease(rule.connection, Math.min(connect_ms, total_ms), signal)
    if (!(leased instanceof Connection)) return { kind: 'not_sent', ...leased }
    const totalMs = total_ms - (performance.now() - started)
    if (totalMs <= 0) {
      leased.discard()
      return { kind: 'not_sent', cause: 'total_deadline', deadline: true }
    }
    const { observation, restMs } = await exchange(leased, {
      method: request.method,
      head,
      body: request.body,
      rule,
      firstByteMs: first_byte_ms,
      totalMs,
      holdLimit,
      sink,
      stillAllowed,
      signal,
    })
    if (rule.connection === 'pooled') pool.rest(leased, restMs)
    else leased.discard()
    return observation
  }

  return {
    name: options.name,
    async send(request, rule, sink, control) {
      if (closing) return notSent('upstream_closed')
      inFlight++
      try {
        return await dispatch(request, rule, sink, control)
      } finally {
        inFlight--
        if (inFlight === 0 && waiting.length > 0) for (const tell of waiting.splice(0)) tell()
      }
    },
    async close() {
      closing = true
      if (inFlight > 0) await new Promise<void>((resolve) => waiting.push(resolve))
      pool.close()
    },
    stats: () => ({ ...pool.stats(), inFlight }),
  }
}

const notSent = (cause: string): Observation => ({ kind: 'not_sent', cause, deadline: false })

function credentialOf({ credential }: UpstreamOptions): Header | null | 'unavailable' {
  if (credential === undefined) return null
  try {
    const value = credential.value()
    return value === '' ? 'unavailable' : [credential.header.toLowerCase(), value]
  } catch {
    return 'unavailable'
  }
}

function originOf(options: UpstreamOptions): { origin: Origin; host: string } {
  const url = new URL(options.origin)
  const isTls = url.protocol === 'https:'
  if (!isTls && url.protocol !== 'http:') {
    throw new TypeError(`upstream ${options.name}: only http and https origins`)
  }
  if (url.username !== '' || url.password !== '' || `${url.origin}/` !== url.href) {
    throw new TypeError(`upstream ${options.name}: an origin has no path, query or user`)
  }
  const { ca, cert, key } = options
  return {
    host: url.host,
    origin: {
      // An IPv6 literal stands in brackets in a URL and without them everywhere else.
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
      tls: isTls
        ? {
            ...(ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : [...ca] }),
            ...(cert === undefined ? {} : { cert }),
            ...(key === undefined ? {} : { key }),
          }
        : null,
    },
  }
}
