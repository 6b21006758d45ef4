import type { Header } from '../../core/call/call.js'
import type { BodyFraming } from './response-head.js'

/**
 * Where the response goes while it is observed. A sink that throws or rejects is taken to be gone: it
 * gets nothing more, and the observing goes on to the end (DESIGN §2.3).
 */
export type ResponseSink = {
  /** A promise stops the reading until it settles; what one read already brought is still delivered. */
  head(status: number, headers: readonly Header[], framing: BodyFraming): undefined | Promise<void>
  /** The octets stay valid; they are not reused. */
  data(chunk: Uint8Array): undefined | Promise<void>
  trailers(headers: readonly Header[]): void
  informational?(status: number, headers: readonly Header[]): void
  /**
   * Aborts when the reader of an event stream has left: the one case in which the answer is cut. Asked
   * for before the request leaves and again behind the head, which tells whether it is one.
   */
  readonly closedEventStream?: AbortSignal | undefined
}

/** The sink as the exchange uses it: never throws, and holds the reading back while the sink is busy. */
export class GuardedSink {
  readonly #sink: ResponseSink
  readonly #reading: { pause(): void; resume(): void }
  #gone = false
  #busy = 0

  constructor(sink: ResponseSink, reading: { pause(): void; resume(): void }) {
    this.#sink = sink
    this.#reading = reading
  }

  head(status: number, headers: readonly Header[], framing: BodyFraming): void {
    if (this.#gone) return
    try {
      this.#after(this.#sink.head(status, headers, framing))
    } catch {
      this.#gone = true
    }
  }

  data(chunk: Uint8Array): void {
    if (this.#gone) return
    try {
      this.#after(this.#sink.data(chunk))
    } catch {
      this.#gone = true
    }
  }

  trailers(headers: readonly Header[]): void {
    if (this.#gone) return
    try {
      this.#sink.trailers(headers)
    } catch {
      this.#gone = true
    }
  }

  informational(status: number, headers: readonly Header[]): void {
    if (this.#gone) return
    try {
      this.#sink.informational?.(status, headers)
    } catch {
      this.#gone = true
    }
  }

  #after(pending: undefined | Promise<void>): void {
    if (pending === undefined) return
    if (this.#busy++ === 0) this.#reading.pause()
    pending.then(
      () => this.#ready(),
      () => {
        this.#gone = true
        this.#ready()
      },
    )
  }

  #ready(): void {
    if (--this.#busy === 0) this.#reading.resume()
  }
}
