import type { Header } from '../../core/call/call.js'
import { parseField } from '../../core/http/fields.js'
import type { Fault } from './fault.js'

/**
 * Chunked coding (RFC 9112 §7.1), read strictly: CRLF everywhere, hexadecimal sizes only, extensions
 * skipped, and an end only after the zero chunk and the empty line behind the trailers.
 */
export type ChunkedEvents = {
  data(piece: Buffer): void
  trailers(headers: readonly Header[]): void
}

const SIZE_LINE = /^([0-9a-fA-F]{1,13})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r$/
const MAX_SIZE_LINE = 4 * 1024
const MAX_TRAILERS = 16 * 1024
/** RFC 9110 §6.5.1: fields that frame, route or authenticate mean nothing after the body. */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'keep-alive',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export class ChunkedBody {
  readonly #events: ChunkedEvents
  #phase: 'size' | 'data' | 'data_end' | 'trailers' | 'done' = 'size'
  #left = 0
  /** A line cut by the end of a read, as latin1 without its LF. */
  #line = ''
  #trailers: Header[] = []
  #trailerBytes = 0

  constructor(events: ChunkedEvents) {
    this.#events = events
  }

  get done(): boolean {
    return this.#phase === 'done'
  }

  /** Reads on from `at`; returns the offset behind the last byte it took, or what was wrong. */
  read(bytes: Buffer, at: number): number | Fault {
    let from = at
    while (from < bytes.length && this.#phase !== 'done') {
      if (this.#phase === 'data') {
        const to = Math.min(bytes.length, from + this.#left)
        this.#left -= to - from
        if (this.#left === 0) this.#phase = 'data_end'
        this.#events.data(bytes.subarray(from, to))
        from = to
        continue
      }
      const lineEnd = bytes.indexOf(0x0a, from)
      const to = lineEnd === -1 ? bytes.length : lineEnd
      this.#line += bytes.toString('latin1', from, to)
      const fault = lineEnd === -1 ? this.#unfinished() : this.#endOfLine()
      if (fault !== null) return fault
      from = lineEnd === -1 ? to : to + 1
    }
    return from
  }

  /** A line that may still come; refused at once when no ending could make it right. */
  #unfinished(): Fault | null {
    const line = this.#line
    switch (this.#phase) {
      case 'data_end':
        return line === '' || line === '\r' ? null : 'malformed_chunk'
      case 'trailers':
        return this.#trailerBytes + line.length > MAX_TRAILERS ? 'head_too_large' : null
      default:
        return line.length > MAX_SIZE_LINE || !/^[0-9a-fA-F]/.test(`${line}0`)
          ? 'malformed_chunk'
          : null
    }
  }

  #endOfLine(): Fault | null {
    const line = this.#line
    this.#line = ''
    switch (this.#phase) {
      case 'data_end':
        if (line !== '\r') return 'malformed_chunk'
        this.#phase = 'size'
        return null
      case 'trailers':
        return this.#trailer(line)
      default: {
        const size = line.length > MAX_SIZE_LINE ? null : SIZE_LINE.exec(line)
        if (size === null) return 'malformed_chunk'
        this.#left = Number.parseInt(size[1] as string, 16)
        this.#phase = this.#left === 0 ? 'trailers' : 'data'
        return null
      }
    }
  }

  #trailer(line: string): Fault | null {
    this.#trailerBytes += line.length + 1
    if (this.#trailerBytes > MAX_TRAILERS) return 'head_too_large'
    if (line === '\r') {
      this.#phase = 'done'
      if (this.#trailers.length > 0) this.#events.trailers(this.#trailers)
      return null
    }
    const field = line.endsWith('\r') ? parseField(line.slice(0, -1)) : null
    if (field === null) return 'malformed_trailer'
    if (!NOT_IN_TRAILERS.has(field[0])) this.#trailers.push(field)
    return null
  }
}
