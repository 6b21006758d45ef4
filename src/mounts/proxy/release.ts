import type { ServerResponse } from 'node:http'
import type { ResponseSink } from '../../adapters/upstream/sink.js'
import type { Header } from '../../core/call/call.js'
import type { Held } from '../../gate/memory.js'
import type { HeldResponse } from '../../ports.js'
import { type HoldTerms, letGoWhenOut, MAX_HELD } from './hold.js'
import { flat, gateHeaders, type Recorded } from './response-headers.js'

/**
 * Lets an upstream's answer out to the client (DESIGN §3 "Release"). Up to the hold limit nothing goes
 * before the capsule is durable; beyond it, and for event streams, everything goes at once but the
 * end: the last octet under Content-Length, the zero chunk under chunked.
 */
export type Release = {
  readonly sink: ResponseSink
  /** The head has gone out: what follows can only be the end, or a cut. */
  started(): boolean
  /** The whole answer, when it was kept. */
  held(): HeldResponse | null
  /** The record is durable: let the end go. */
  complete(recorded: Recorded): void
  /** There is no record, or no end: the client must see that something is missing. */
  cut(): void
  /** Nothing more is said: memory is given back when what was said is out. */
  over(): void
}
export type ReleaseOptions = HoldTerms & {
  /** Memory set aside for what is held. */
  readonly room: Held | null
  readonly wantsTrailers: boolean
  readonly clientHeaders: (headers: readonly Header[]) => readonly Header[]
  /** A client that takes nothing for this long is gone; the observing goes on without it. */
  readonly stallMs: number
}

const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i

export const createRelease = (res: ServerResponse, options: ReleaseOptions): Release =>
  new ClientRelease(res, options)

class ClientRelease implements Release, ResponseSink {
  readonly #res: ServerResponse
  readonly #options: ReleaseOptions
  #state: 'waiting' | 'holding' | 'streaming' | 'dropped' = 'waiting'
  #status = 0
  #headers: readonly Header[] = []
  #bodyless = false
  #declared: number | null = null
  #trailing: readonly Header[] = []
  #pieces: Uint8Array[] = []
  #size = 0
  #lastOctet: Uint8Array | null = null
  #draining: Promise<void> | null = null
  /** Only for event streams: a signal costs more than all the rest of a held answer's release. */
  #closed: AbortController | null = null

  constructor(res: ServerResponse, options: ReleaseOptions) {
    this.#res = res
    this.#options = options
  }

  get sink(): ResponseSink {
    return this
  }

  get closedEventStream(): AbortSignal | undefined {
    return this.#closed?.signal
  }

  started(): boolean {
    return this.#state === 'streaming'
  }

  held(): HeldResponse | null {
    if (this.#state !== 'holding') return null
    return { status: this.#status, headers: this.#headers, body: this.#joined() }
  }

  head(
    status: number,
    seen: readonly Header[],
    framing: Parameters<ResponseSink['head']>[2],
  ): undefined | Promise<void> {
    const { clientHeaders, holdAll, holdLimit, room } = this.#options
    const headers = clientHeaders(seen)
    this.#status = status
    this.#headers = headers
    this.#bodyless = framing === 'bodyless'
    const length = framing === 'content_length' ? fieldOf(headers, 'content-length') : null
    this.#declared = length === null ? null : Number(length)
    this.#state = 'holding'
    if (this.#bodyless) room?.letGo()
    else if (this.#declared !== null) room?.shrinkTo(this.#declared)
    const closed = isEventStream(headers) ? this.#abortWhenClosed() : null
    if (this.#bodyless || holdAll) return undefined
    if (this.#gone()) closed?.abort()
    return closed !== null || (this.#declared ?? 0) > holdLimit ? this.#stream() : undefined
  }

  data(chunk: Uint8Array): undefined | Promise<void> {
    if (this.#state === 'streaming') return this.#write(chunk)
    if (this.#state !== 'holding') return undefined
    this.#pieces.push(chunk)
    this.#size += chunk.length
    if (this.#size <= this.#options.holdLimit) return undefined
    if (!this.#options.holdAll) return this.#stream()
    if (this.#size > MAX_HELD) {
      this.#state = 'dropped'
      this.#pieces = []
      this.#options.room?.letGo()
    }
    return undefined
  }

  trailers(seen: readonly Header[]): void {
    this.#trailing = seen.filter(([name]) => !name.startsWith('gate-'))
  }

  complete(recorded: Recorded): void {
    if (this.#gone()) return
    if (this.#state === 'streaming') this.#endStream(recorded)
    else if (this.#state === 'holding') this.#answer(recorded)
    else this.#res.destroy()
  }

  cut(): void {
    this.#res.destroy()
  }

  over(): void {
    letGoWhenOut(this.#res, this.#options.room, this.#size)
  }

  #gone(): boolean {
    return this.#res.destroyed || this.#res.closed
  }

  #abortWhenClosed(): AbortController {
    const closed = new AbortController()
    this.#closed = closed
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) closed.abort()
    })
    return closed
  }

  #stream(): undefined | Promise<void> {
    const res = this.#res
    this.#state = 'streaming'
    const announced: readonly Header[] =
      this.#declared === null && this.#options.wantsTrailers
        ? [['trailer', 'Gate-Verdict, Gate-Action, Gate-Capsule']]
        : []
    if (!this.#gone()) res.writeHead(this.#status, flat([...this.#headers, ...announced]))
    if (this.#closed !== null && !this.#gone()) res.flushHeaders()
    const kept = this.#pieces
    this.#pieces = []
    this.#size = 0
    this.#options.room?.letGo()
    let busy: undefined | Promise<void>
    for (const piece of kept) busy = this.#write(piece)
    return busy
  }

  #write(chunk: Uint8Array): undefined | Promise<void> {
    this.#size += chunk.length
    let now = chunk
    if (this.#declared !== null && this.#size >= this.#declared) {
      this.#lastOctet = chunk.subarray(-1)
      now = chunk.subarray(0, -1)
    }
    if (this.#gone() || now.length === 0 || this.#res.write(now)) return undefined
    // One read may bring many pieces: they all wait for the same drain.
    this.#draining ??= drained(this.#res, this.#options.stallMs).finally(() => {
      this.#draining = null
    })
    return this.#draining
  }

  #endStream(recorded: Recorded): void {
    if (this.#declared !== null) {
      this.#res.end(this.#lastOctet)
      return
    }
    if (this.#options.wantsTrailers) {
      this.#res.addTrailers([...this.#trailing, ...gateHeaders(recorded)].map(pair))
    }
    this.#res.end()
  }

  /** The whole answer at once: what it says of its length is what was kept. */
  #answer(recorded: Recorded): void {
    const res = this.#res
    const all: string[] = []
    for (const header of this.#headers) {
      if (this.#bodyless || header[0] !== 'content-length') all.push(header[0], header[1])
    }
    for (const header of gateHeaders(recorded)) all.push(header[0], header[1])
    if (this.#bodyless) {
      res.writeHead(this.#status, all).end()
    } else if (this.#trailing.length > 0 && this.#options.wantsTrailers) {
      res.writeHead(this.#status, all)
      res.write(this.#joined())
      res.addTrailers(this.#trailing.map(pair))
      res.end()
    } else {
      all.push('content-length', String(this.#size))
      res.writeHead(this.#status, all).end(this.#joined())
    }
  }

  #joined(): Uint8Array {
    const [only] = this.#pieces
    return this.#pieces.length === 1 && only !== undefined
      ? only
      : Buffer.concat(this.#pieces, this.#size)
  }
}

const pair = ([name, value]: Header): [string, string] => [name, value]

function fieldOf(headers: readonly Header[], name: string): string | null {
  for (const header of headers) if (header[0] === name) return header[1]
  return null
}

function isEventStream(headers: readonly Header[]): boolean {
  for (const header of headers) {
    if (header[0] === 'content-type' && EVENT_STREAM.test(header[1])) return true
  }
  return false
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
