import type { ResponseSink } from '../../ports/upstream.js'

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

  head(...args: Parameters<ResponseSink['head']>): void {
    this.#give((sink) => sink.head(...args))
  }

  data(chunk: Uint8Array): void {
    this.#give((sink) => sink.data(chunk))
  }

  trailers(...args: Parameters<ResponseSink['trailers']>): void {
    this.#give((sink) => void sink.trailers(...args))
  }

  informational(...args: Parameters<NonNullable<ResponseSink['informational']>>): void {
    this.#give((sink) => void sink.informational?.(...args))
  }

  #give(give: (sink: ResponseSink) => undefined | Promise<void>): void {
    if (this.#gone) return
    try {
      const pending = give(this.#sink)
      if (pending === undefined) return
      if (this.#busy++ === 0) this.#reading.pause()
      pending.then(
        () => this.#ready(),
        () => {
          this.#gone = true
          this.#ready()
        },
      )
    } catch {
      this.#gone = true
    }
  }

  #ready(): void {
    if (--this.#busy === 0) this.#reading.resume()
  }
}
