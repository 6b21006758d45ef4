import { Gathered } from '../bytes/gathered.js'

/**
 * Server-sent events (WHATWG HTML §9.2) as they come, however the reads cut them. An event is complete at the blank
 * line behind it; its data are octets, neither decoded nor mended, because they are what a witness hashes.
 */
export type SseEvent = {
  /** `message` where the stream does not say. */
  readonly type: string
  /** The `data` lines, joined by LF. */
  readonly data: Uint8Array
}

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const LINE_FEED = Uint8Array.of(LF)
const BOM = Uint8Array.of(0xef, 0xbb, 0xbf)
/** What stands before the data on their line. */
const FIELD = 'data: '.length + BOM.length
const SHORT = 256
const EVENT_ID = /^[\x20-\x7e]*$/
const DIGITS = /^[0-9]{1,9}$/

export class EventStream {
  readonly #maxBytes: number
  readonly #event: (event: SseEvent) => void
  readonly #line = new Gathered()
  readonly #data = new Gathered()
  #hasData = false
  #type = ''
  #id: string | null = null
  #lastEventId: string | null = null
  #retryMs: number | null = null
  #firstLine = true
  #afterCr = false
  #tooLong = false

  constructor(maxBytes: number, event: (event: SseEvent) => void) {
    this.#maxBytes = maxBytes
    this.#event = event
  }

  /** From where the stream can be taken up again; null where it cannot. */
  get lastEventId(): string | null {
    return this.#lastEventId
  }

  /** How long the server wants a reader to wait before that. */
  get retryMs(): number | null {
    return this.#retryMs
  }

  /** False from the first line or event on that is too long: nothing more is read then. */
  push(chunk: Uint8Array): boolean {
    let from = 0
    while (from < chunk.length && !this.#tooLong) {
      const first = chunk[from]
      if (this.#afterCr && first === LF) {
        this.#afterCr = false
        from++
        continue
      }
      this.#afterCr = false
      const end = endOfLine(chunk, from)
      const piece = chunk.subarray(from, end)
      if (this.#line.length + piece.length > this.#maxBytes + FIELD) {
        this.#tooLong = true
      } else if (end === chunk.length) {
        this.#line.append(piece)
      } else {
        this.#read(this.#whole(piece))
        this.#afterCr = chunk[end] === CR
      }
      from = end + 1
    }
    return !this.#tooLong
  }

  #whole(piece: Uint8Array): Uint8Array {
    if (this.#line.length === 0) return piece
    this.#line.append(piece)
    return this.#line.take()
  }

  #read(read: Uint8Array): void {
    const line = this.#firstLine && startsWith(read, BOM) ? read.subarray(BOM.length) : read
    this.#firstLine = false
    if (line.length === 0) {
      this.#dispatch()
      return
    }
    const colon = line.indexOf(COLON)
    const name = text(colon === -1 ? line : line.subarray(0, colon))
    const from = colon === -1 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1)
    this.#field(name, line.subarray(from))
  }

  /** A comment has the empty name; what is not known here says nothing. */
  #field(name: string | null, value: Uint8Array): void {
    switch (name) {
      case 'data':
        if (this.#hasData) this.#data.append(LINE_FEED)
        this.#hasData = true
        this.#data.append(value)
        if (this.#data.length > this.#maxBytes) this.#tooLong = true
        return
      case 'event':
        this.#type = text(value) ?? '?'
        return
      case 'id': {
        const id = text(value)
        // One that a header cannot carry could not be sent back either.
        this.#id = id === null || id === '' || !EVENT_ID.test(id) ? null : id
        return
      }
      case 'retry': {
        const ms = text(value) ?? ''
        if (DIGITS.test(ms)) this.#retryMs = Number(ms)
        return
      }
    }
  }

  #dispatch(): void {
    this.#lastEventId = this.#id
    const type = this.#type === '' ? 'message' : this.#type
    this.#type = ''
    if (!this.#hasData) return
    this.#hasData = false
    this.#event({ type, data: this.#data.take() })
  }
}

function endOfLine(chunk: Uint8Array, from: number): number {
  let at = from
  while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at++
  return at
}

const startsWith = (octets: Uint8Array, start: Uint8Array): boolean =>
  start.every((octet, at) => octets[at] === octet)

/** Null where it is too long for anything that is read as text. */
function text(octets: Uint8Array): string | null {
  return octets.length > SHORT ? null : String.fromCharCode(...octets)
}
