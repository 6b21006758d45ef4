import type { LookupFunction } from 'node:net'
import type { Header } from '../../core/call/call.js'
import { notSent } from '../../ports/dispatch.js'
import type { Upstream } from '../../ports/upstream.js'
import { Connection, type Origin } from './connection.js'
import { exchange } from './exchange.js'
import { createPool } from './pool.js'
import { requestHead } from './request-head.js'

/**
 * The governed way to one upstream: HTTP/1.1 over our own sockets, one call per connection at a time,
 * no retry, no redirect. A general client reports a reset body as complete, accepts an answer to a
 * half-sent request and hides framing and version; `confirmed` cannot stand on that (DESIGN §2.3).
 */
export type UpstreamOptions = {
  readonly name: string
  /** `http://host[:port]` or `https://host[:port]`, nothing behind it. */
  readonly origin: string
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Resolves the origin's host for each new connection; absent: the system's resolver. */
  readonly lookup?: LookupFunction | undefined
  /** Read for every call, put on the wire and nowhere else. */
  readonly credential?: { readonly header: string; value(): string } | undefined
  /** JSON bodies up to this many octets are read and bound as JSON; default 1 MiB. */
  readonly holdLimit?: number | undefined
}

const HOLD_LIMIT = 1024 * 1024

export function createUpstream(options: UpstreamOptions): Upstream {
  const { origin, host } = originOf(options)
  const holdLimit = options.holdLimit ?? HOLD_LIMIT
  const pool = createPool(origin)
  let inFlight = 0
  let closing = false
  const waiting: (() => void)[] = []

  const dispatch: Upstream['send'] = async (request, rule, sink, control) => {
    const started = performance.now()
    const credential = credentialOf(options)
    if (credential === 'unavailable') return notSent('credential_unavailable')
    const head = requestHead(request, host, rule.connection, credential)
    if (head === null) return notSent('unsendable_request')
    const { connect_ms, total_ms } = rule.deadlines
    const leased = await pool.lease(rule.connection, Math.min(connect_ms, total_ms), control.signal)
    if (!(leased instanceof Connection)) return leased
    const totalMs = total_ms - (performance.now() - started)
    if (totalMs <= 0) {
      leased.discard()
      return notSent('total_deadline', true)
    }
    const order = { request, head, rule, totalMs, holdLimit, sink, ...control }
    const { observation, restMs } = await exchange(leased, order)
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
  const { ca, cert, key, lookup } = options
  return {
    host: url.host,
    origin: {
      // An IPv6 literal stands in brackets in a URL and without them everywhere else.
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      lookup,
      tls: isTls ? { ca, cert, key } : null,
    },
  }
}
