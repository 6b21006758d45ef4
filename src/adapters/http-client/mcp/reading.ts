import { Gathered } from '../../../core/bytes/gathered.js'
import type { Header } from '../../../core/call/call.js'
import { isCoded, mayBeJson } from '../../../core/http/response.js'
import { EventStream } from '../../../core/mcp/sse.js'
import type { ResponseSink } from '../../../ports/upstream.js'

export type ReadingOptions = {
  readonly maxBytes: number
  head(status: number, headers: readonly Header[]): void
  /** The data of one event, at the blank line that ends it. */
  event(octets: Uint8Array): void
  tooLong(): void
}

/** Takes one response apart: a JSON body, whole, or events, as they come. Nothing is kept of any other. */
export class Reading implements ResponseSink {
  readonly #options: ReadingOptions
  readonly #body = new Gathered()
  readonly #events: EventStream
  #kind: 'events' | 'json' | 'other' = 'other'
  #status: number | null = null

  constructor(options: ReadingOptions) {
    this.#options = options
    this.#events = new EventStream(options.maxBytes, ({ type, data }) => {
      // An event of another type is no message; one without data only says its id.
      if (type === 'message' && data.length > 0) options.event(data)
    })
  }

  get kind(): 'events' | 'json' | 'other' {
    return this.#kind
  }
  /** Null while there is no head. */
  get status(): number | null {
    return this.#status
  }
  get lastEventId(): string | null {
    return this.#events.lastEventId
  }
  get retryMs(): number | null {
    return this.#events.retryMs
  }
  /** Once, when the response has ended. */
  takeBody(): Uint8Array {
    return this.#body.take()
  }

  head(status: number, headers: readonly Header[]): undefined {
    this.#status = status
    this.#kind = kindOf(status, headers)
    this.#options.head(status, headers)
  }

  data(chunk: Uint8Array): undefined {
    if (this.#kind === 'events' && !this.#events.push(chunk)) this.#tooLong()
    if (this.#kind !== 'json') return
    if (this.#body.length + chunk.length > this.#options.maxBytes) this.#tooLong()
    else this.#body.append(chunk)
  }

  #tooLong(): void {
    this.#kind = 'other'
    this.#options.tooLong()
  }

  trailers(): void {}
}

const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i

function kindOf(status: number, headers: readonly Header[]): 'events' | 'json' | 'other' {
  const type = fieldOf(headers, 'content-type')
  const coding = fieldOf(headers, 'content-encoding')
  if (type === null || isCoded(coding)) return 'other'
  if (status === 200 && EVENT_STREAM.test(type)) return 'events'
  return mayBeJson(type, coding) ? 'json' : 'other'
}

function fieldOf(headers: readonly Header[], wanted: string): string | null {
  const values = headers.flatMap(([name, value]) => (name === wanted ? [value] : []))
  return values.length === 0 ? null : values.join(', ')
}
