import type { ServerResponse } from 'node:http'
import type { ResponseSink } from '../../adapters/upstream/sink.js'
import type { Header } from '../../core/call.js'
import type { HeldResponse } from '../../ports.js'
import { flat, gateHeaders, type Recorded } from './response-headers.js'

/**
 * Lets an upstream's answer out to the client (DESIGN §3 "Release"). Up to the hold limit nothing goes
 * before the capsule is durable; beyond it, and for event streams, everything goes at once but the
 * end: the last octet under Content-Length, the zero chunk under chunked.
 */
export type Release = {
  readonly sink: ResponseSink
  /** The head has gone out: what follows can only be the end, or a cut. */
  readonly started: () => boolean
  /** The whole answer, when it was kept. */
  readonly held: () => HeldResponse | null
  /** The record is durable: let the end go. */
  complete(recorded: Recorded): void
  /** There is no record, or no end: the client must see that something is missing. */
  cut(): void
}
export type ReleaseOptions = {
  readonly holdLimit: number
  /** Hold whatever its size: HTTP/1.0 cannot show a truncation, and a manifest may want it. */
  readonly holdAll: boolean
  readonly wantsTrailers: boolean
  readonly clientHeaders: (headers: readonly Header[]) => readonly Header[]
  /** A client that takes nothing for this long is gone; the observing goes on without it. */
  readonly stallMs: number
}

/** `holdAll` is bounded too: above this the answer is observed to its end but not delivered. */
const MAX_HELD = 64 * 1024 * 1024
const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i

export function createRelease(res: ServerResponse, options: ReleaseOptions): Release {
  const closed = new AbortController()
  const wantsTrailers = options.wantsTrailers
  let state: 'waiting' | 'holding' | 'streaming' | 'dropped' = 'waiting'
  let status = 0
  let headers: readonly Header[] = []
  let bodyless = false
  let declared: number | null = null
  let events = false
  let trailers: readonly Header[] = []
  let pieces: Uint8Array[] = []
  let size = 0
  let lastOctet: Uint8Array | null = null
  let draining: Promise<void> | null = null

  res.once('close', () => {
    if (!res.writableFinished && events) closed.abort()
  })
  const gone = (): boolean => res.destroyed || res.closed

  const stream = (): undefined | Promise<void> => {
    state = 'streaming'
    const announced: readonly Header[] =
      declared === null && wantsTrailers
        ? [['trailer', 'Gate-Verdict, Gate-Action, Gate-Capsule']]
        : []
    if (!gone()) res.writeHead(status, flat([...headers, ...announced]))
    if (events && !gone()) res.flushHeaders()
    const kept = pieces
    pieces = []
    size = 0
    let busy: undefined | Promise<void>
    for (const piece of kept) busy = write(piece)
    return busy
  }

  const write = (chunk: Uint8Array): undefined | Promise<void> => {
    size += chunk.length
    let now = chunk
    if (declared !== null && size >= declared) {
      lastOctet = chunk.subarray(-1)
      now = chunk.subarray(0, -1)
    }
    if (gone() || now.length === 0 || res.write(now)) return undefined
    // One read may bring many pieces: they all wait for the same drain.
    draining ??= drained(res, options.stallMs).finally(() => {
      draining = null
    })
    return draining
  }

  return {
    started: () => state === 'streaming',
    held: () => (state === 'holding' ? { status, headers, body: joined(pieces, size) } : null),
    sink: {
      closedEventStream: closed.signal,
      head(seenStatus, seenHeaders, framing) {
        status = seenStatus
        headers = options.clientHeaders(seenHeaders)
        bodyless = framing === 'bodyless'
        const length = headers.find(([name]) => name === 'content-length')?.[1]
        declared = framing === 'content_length' && length !== undefined ? Number(length) : null
        events = headers.some(([name, v]) => name === 'content-type' && EVENT_STREAM.test(v))
        state = 'holding'
        if (bodyless || options.holdAll) return undefined
        if (events && gone()) closed.abort()
        return events || (declared ?? 0) > options.holdLimit ? stream() : undefined
      },
      data(chunk) {
        if (state === 'streaming') return write(chunk)
        if (state !== 'holding') return undefined
        pieces.push(chunk)
        size += chunk.length
        if (size <= options.holdLimit) return undefined
        if (!options.holdAll) return stream()
        if (size > MAX_HELD) {
          state = 'dropped'
          pieces = []
        }
        return undefined
      },
      trailers(seen) {
        trailers = seen.filter(([name]) => !name.startsWith('gate-'))
      },
    },
    complete(recorded) {
      if (gone()) return
      if (state === 'streaming') {
        if (declared !== null) res.end(lastOctet)
        else {
          if (wantsTrailers) res.addTrailers([...trailers, ...gateHeaders(recorded)].map(pair))
          res.end()
        }
        return
      }
      if (state !== 'holding') {
        res.destroy()
        return
      }
      const all = [
        ...headers.filter(([name]) => bodyless || name !== 'content-length'),
        ...gateHeaders(recorded),
      ]
      const body = joined(pieces, size)
      if (bodyless) res.writeHead(status, flat(all)).end()
      else if (trailers.length > 0 && wantsTrailers) {
        res.writeHead(status, flat(all))
        res.write(body)
        res.addTrailers(trailers.map(pair))
        res.end()
      } else res.writeHead(status, flat([...all, ['content-length', String(size)]])).end(body)
    },
    cut() {
      res.destroy()
    },
  }
}

const pair = ([name, value]: Header): [string, string] => [name, value]

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = pieces
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, size)
}

function drained(res: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer)
      res.off('drain', over).off('close', over)
      resolve()
    }
    const timer = setTimeout(() => {
      res.destroy()
      over()
    }, stallMs)
    res.on('drain', over).on('close', over)
  })
}
