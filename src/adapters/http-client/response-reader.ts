import type { Header } from '../../core/call/call.js'
import type { ResponseHead } from '../../core/http/response.js'
import { ChunkedBody, type ChunkedEvents } from './chunked-body.js'
import type { Fault, ReadPhase } from './fault.js'
import { PREFIX, parseHead } from './response-head.js'

/**
 * Reads exactly one response from a connection. It ends in one of two ways: `end` after the framing
 * proved the end, or `fault`. After either it takes nothing more.
 */
export type ReaderEvents = ChunkedEvents & {
  informational(status: number, headers: readonly Header[]): void
  /** False stops the reading: the caller has already concluded. */
  head(head: ResponseHead): boolean
  end(): void
  fault(fault: Fault): void
}

const MAX_HEAD = 32 * 1024
const MAX_INFORMATIONAL = 32
const EMPTY_LINE = Buffer.from('\r\n\r\n')

export class ResponseReader {
  readonly #method: string
  readonly #events: ReaderEvents
  #state: 'head' | 'content_length' | 'chunked' | 'close' | 'over' = 'head'
  /** The part of a head that earlier reads brought. */
  #carried: Buffer | null = null
  #informational = 0
  #left = 0
  #chunked: ChunkedBody | null = null

  constructor(method: string, events: ReaderEvents) {
    this.#method = method
    this.#events = events
  }

  feed(bytes: Buffer): void {
    let at = 0
    let chunk = bytes
    while (this.#state === 'head' && at < chunk.length) {
      if (this.#carried !== null) {
        chunk = Buffer.concat([this.#carried, chunk])
        this.#carried = null
      }
      const next = this.#head(chunk, at)
      if (next === null) return
      at = next
    }
    if (this.#state === 'content_length') this.#fixed(chunk, at)
    else if (this.#state === 'chunked') this.#chunks(chunk, at)
    else if (this.#state === 'close' && at < chunk.length) this.#events.data(chunk.subarray(at))
  }

  /** The peer's FIN. Only for a close-delimited body is that an end. */
  closed(): void {
    if (this.#state === 'close') this.#end(0)
    else this.#fault(`closed_${this.#phase()}`)
  }

  /** The connection broke: never an end, whatever the framing. */
  broken(): void {
    this.#fault(`reset_${this.#phase()}`)
  }

  #phase(): ReadPhase {
    if (this.#state !== 'head') return 'in_body'
    return this.#carried === null ? 'before_head' : 'in_head'
  }

  /** The offset behind a complete head, or null when there is none to go on from. */
  #head(chunk: Buffer, at: number): number | null {
    const end = chunk.indexOf(EMPTY_LINE, at)
    if (end === -1) {
      this.#unfinishedHead(at === 0 ? chunk : chunk.subarray(at))
      return null
    }
    if (end - at > MAX_HEAD) return this.#fault('head_too_large')
    const head = parseHead(chunk.subarray(at, end), this.#method)
    if (typeof head === 'string') return this.#fault(head)
    if (head.status === 101) return this.#fault('unasked_upgrade')
    const next = end + EMPTY_LINE.length
    if (head.status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL) return this.#fault('informational_flood')
      this.#events.informational(head.status, head.headers)
      return next
    }
    return this.#body(head, chunk.length - next) ? next : null
  }

  #body(head: ResponseHead, following: number): boolean {
    const { framing } = head
    if (!this.#events.head(head)) {
      this.#state = 'over'
      return false
    }
    if (
      framing.kind === 'bodyless' ||
      (framing.kind === 'content_length' && framing.length === 0)
    ) {
      this.#end(following)
      return false
    }
    this.#state = framing.kind
    if (framing.kind === 'content_length') this.#left = framing.length
    else if (framing.kind === 'chunked') this.#chunked = new ChunkedBody(this.#events)
    return true
  }

  /** Refuse now what no further byte can mend, so that garbage does not wait for a deadline. */
  #unfinishedHead(part: Buffer): void {
    const seen = Math.min(part.length, PREFIX.length)
    if (part.compare(PREFIX, 0, seen, 0, seen) !== 0) this.#fault('malformed_status_line')
    else if (part.length > MAX_HEAD) this.#fault('head_too_large')
    else if (hasBareLf(part)) this.#fault('malformed_header')
    else this.#carried = part
  }

  #fixed(chunk: Buffer, at: number): void {
    const to = Math.min(chunk.length, at + this.#left)
    this.#left -= to - at
    if (to > at) this.#events.data(chunk.subarray(at, to))
    if (this.#left === 0) this.#end(chunk.length - to)
  }

  #chunks(chunk: Buffer, at: number): void {
    const next = this.#chunked?.read(chunk, at) ?? at
    if (typeof next === 'string') this.#fault(next)
    else if (this.#chunked?.done === true) this.#end(chunk.length - next)
  }

  #end(surplus: number): void {
    if (this.#state === 'over') return
    if (surplus > 0) {
      this.#fault('surplus_bytes')
      return
    }
    this.#state = 'over'
    this.#events.end()
  }

  #fault(fault: Fault): null {
    if (this.#state !== 'over') {
      this.#state = 'over'
      this.#events.fault(fault)
    }
    return null
  }
}

function hasBareLf(part: Buffer): boolean {
  for (let lf = part.indexOf(0x0a); lf !== -1; lf = part.indexOf(0x0a, lf + 1)) {
    if (part[lf - 1] !== 0x0d) return true
  }
  return false
}
