import type { Header } from '../../core/call/call.js'
import type { BodyFraming } from '../../core/http/response.js'
import type { Held } from '../../gate/memory.js'
import type { HeldResponse } from '../../ports/dispatch.js'
import type { ResponseSink } from '../../ports/upstream.js'
import type { Hold } from './hold-terms.js'
import type { AnswerHead, Outlet } from './outlet.js'
import { isEventStream, type Recorded } from './response-headers.js'

/** What the client may see of the fields that were observed. */
export type ClientHeaders = (headers: readonly Header[]) => readonly Header[]

type State =
  /** No head yet. */
  | 'waiting'
  /** Everything is kept until the record is durable. */
  | 'holding'
  /** Too long for what must be held: observed, kept no longer, never delivered. */
  | 'dropped'
  /** The head is out and octets follow as they come. */
  | 'streaming'
  | 'ended'
  | 'cut'
  /** Given up before anything went out. */
  | 'over'

const NO_HEAD: AnswerHead = { status: 0, headers: [], framing: { kind: 'bodyless' } }

/**
 * Lets a response out (DESIGN §3 "Release"). Up to the hold limit nothing goes before the capsule is
 * durable; beyond it, and for event streams, everything goes at once but the end: the last octet under a
 * declared length, otherwise the end itself. A class, because every call makes one and closures would
 * cost it more.
 */
export class Release implements ResponseSink {
  readonly #outlet: Outlet
  readonly #hold: Hold
  readonly #clientHeaders: ClientHeaders
  #room: Held | null
  #state: State = 'waiting'
  #head = NO_HEAD
  /** Null: the end is no matter of a length. */
  #declared: number | null = 0
  #events = false
  #trailers: readonly Header[] = []
  #pieces: Uint8Array[] = []
  /** Octets held, or passed on. */
  #size = 0
  #last: Uint8Array | null = null
  #closed: AbortController | null = null

  constructor(outlet: Outlet, hold: Hold, clientHeaders: ClientHeaders) {
    this.#outlet = outlet
    this.#hold = hold
    this.#room = hold.room
    this.#clientHeaders = clientHeaders
  }

  // ── What is observed ───────────────────────────────────────────────────────
  head(status: number, seen: readonly Header[], framing: BodyFraming): undefined | Promise<void> {
    if (this.#state !== 'waiting') return undefined
    const headers = this.#clientHeaders(seen)
    this.#head = { status, headers, framing }
    this.#state = 'holding'
    if (framing.kind === 'bodyless') {
      this.#letGo()
      return undefined
    }
    const declared = framing.kind === 'content_length' ? framing.length : null
    this.#declared = declared
    this.#events = isEventStream(headers)
    if ((declared ?? 0) > this.#hold.limit) return this.#overflow()
    if (declared !== null) this.#room?.shrinkTo(declared)
    return this.#events && this.#hold.beyond === 'stream' ? this.#stream() : undefined
  }

  /** What is beyond the declared length is not taken; the observer records the mismatch. */
  data(chunk: Uint8Array): undefined | Promise<void> {
    const left = (this.#declared ?? Infinity) - this.#size
    const fits = chunk.length <= left ? chunk : chunk.subarray(0, left)
    if (fits.length === 0) return undefined
    if (this.#state === 'streaming') return this.#pass(fits)
    if (this.#state !== 'holding') return undefined
    this.#pieces.push(fits)
    this.#size += fits.length
    return this.#size > this.#hold.limit ? this.#overflow() : undefined
  }

  /** The gate's own words are the gate's: a tool cannot say them. */
  trailers(seen: readonly Header[]): void {
    this.#trailers = seen.filter(([name]) => !name.startsWith('gate-'))
  }

  /** Made when it is asked for: a signal costs more than all the rest of a held answer's release. */
  get closedEventStream(): AbortSignal | undefined {
    if (!this.#events) return undefined
    if (this.#closed === null) {
      const closed = new AbortController()
      this.#closed = closed
      if (this.#outlet.gone()) closed.abort()
      else this.#outlet.whenLeft(() => closed.abort())
    }
    return this.#closed.signal
  }

  // ── What is asked ──────────────────────────────────────────────────────────
  /** The head has gone out: what follows can only be the end, or a cut. */
  started(): boolean {
    return this.#state === 'streaming' || this.#state === 'ended' || this.#state === 'cut'
  }

  /** The whole response, when it was kept. */
  held(): HeldResponse | null {
    if (this.#state !== 'holding') return null
    return { status: this.#head.status, headers: this.#head.headers, body: this.#joined() }
  }

  // ── What is decided ────────────────────────────────────────────────────────
  /** The record is durable: let the end go. */
  complete(recorded: Recorded): void {
    if (this.#isDone()) return
    const streamed = this.#state === 'streaming'
    if (!streamed && this.#state !== 'holding') {
      this.cut()
      return
    }
    this.#state = 'ended'
    if (this.#outlet.gone()) return
    const end = { recorded, trailers: this.#trailers }
    if (streamed) this.#outlet.end(this.#head, this.#last, end)
    else this.#outlet.whole(this.#head, this.#joined(), end)
  }

  /** There is no record, or no end: the client must see that something is missing. */
  cut(): void {
    if (this.#isDone()) return
    this.#giveUp('cut')
    if (!this.#outlet.gone()) this.#outlet.cut()
  }

  /** Nothing more is said: a stream without an end is cut, and memory is given back. */
  over(): void {
    if (this.#state === 'streaming') this.cut()
    else if (!this.#isDone()) this.#giveUp('over')
    else if (this.#room !== null) this.#outlet.whenOut(this.#size, () => this.#letGo())
  }

  #isDone(): boolean {
    return this.#state === 'ended' || this.#state === 'cut' || this.#state === 'over'
  }

  // ── Transitions ────────────────────────────────────────────────────────────
  #overflow(): undefined | Promise<void> {
    if (this.#hold.beyond === 'stream') return this.#stream()
    this.#giveUp('dropped')
    return undefined
  }

  #giveUp(state: 'dropped' | 'cut' | 'over'): void {
    this.#state = state
    this.#pieces = []
    this.#letGo()
  }

  #stream(): undefined | Promise<void> {
    this.#state = 'streaming'
    try {
      if (!this.#outlet.gone()) this.#outlet.start(this.#head, this.#events)
    } catch (error) {
      // A head that the medium refuses has not gone out; an end behind it would be another answer's.
      this.cut()
      throw error
    }
    const kept = this.#pieces
    this.#pieces = []
    this.#size = 0
    this.#letGo()
    let busy: undefined | Promise<void>
    for (const piece of kept) busy = this.#pass(piece) ?? busy
    return busy
  }

  #pass(chunk: Uint8Array): undefined | Promise<void> {
    this.#size += chunk.length
    let now = chunk
    if (this.#size === this.#declared) {
      this.#last = chunk.subarray(-1)
      now = chunk.subarray(0, -1)
    }
    return now.length === 0 || this.#outlet.gone() ? undefined : this.#outlet.write(now)
  }

  #letGo(): void {
    this.#room?.letGo()
    this.#room = null
  }

  /** Joined once: for the record and for the client. */
  #joined(): Uint8Array {
    const [only] = this.#pieces
    if (this.#pieces.length === 1 && only !== undefined) return only
    const whole = Buffer.concat(this.#pieces, this.#size)
    this.#pieces = [whole]
    return whole
  }
}
