import type { ServerResponse } from 'node:http'
import { ClientOutlet, type ClientTerms, GATE_TRAILERS } from '../http/client-outlet.js'
import type { AnswerEnd, AnswerHead } from '../http/outlet.js'
import { gateHeaders, pairs } from '../http/response-headers.js'

/** Node's own view of a response, which has no public setter. */
export type Held = ServerResponse & {
  _header: string | null
  _headerSent: boolean
  _trailer: string
  finished: boolean
}
/** Runs what goes to the response itself instead of back to the interceptor. */
export type Bypass = <T>(act: () => T) => T

/** The way out for a handler's response, whose head stands on the response itself. */
export class HandlerOutlet extends ClientOutlet {
  readonly #res: Held
  readonly #bypass: Bypass
  /** The handler's own words for the status. */
  readonly #reason: () => string | undefined

  constructor(res: Held, terms: ClientTerms, bypass: Bypass, reason: () => string | undefined) {
    super(res, terms)
    this.#res = res
    this.#bypass = bypass
    this.#reason = reason
  }

  /** Nothing is read any more: a handler that waits for 'drain' goes on writing for the record alone. */
  wake(): void {
    if (this.isDraining()) this.#res.emit('drain')
  }

  override whole({ status, framing }: AnswerHead, body: Uint8Array, { recorded }: AnswerEnd): void {
    this.#fixHead(status)
    for (const [name, value] of gateHeaders(recorded)) this.#res.setHeader(name, value)
    if (framing.kind === 'bodyless') this.#res.end()
    else this.#res.end(body)
  }

  override start(head: AnswerHead, events: boolean): void {
    this.#bypass(() => {
      this.#fixHead(head.status)
      if (this.hasTrailers(head)) this.#res.setHeader('trailer', GATE_TRAILERS)
      this.#res.writeHead(head.status)
      if (events) this.#res.flushHeaders()
    })
  }

  override write(octets: Uint8Array): undefined | Promise<void> {
    return this.#bypass(() => super.write(octets))
  }

  override end(head: AnswerHead, last: Uint8Array | null, { recorded }: AnswerEnd): void {
    const res = this.#res
    if (this.hasTrailers(head)) {
      const theirs = res._trailer
      res.addTrailers(pairs(gateHeaders(recorded)))
      res._trailer = `${theirs}${res._trailer}`
    }
    res.end(last)
  }

  /** The interceptor sees a client leave before the response tells of it. */
  override whenLeft(): void {}

  protected override giveUp(): void {
    // With an error, so that it does not look like a handler's own doing.
    this.#bypass(() => this.#res.destroy(new Error('the client takes nothing')))
    this.wake()
  }

  /** Status and reason are plain members: a handler may have gone on setting them. */
  #fixHead(status: number): void {
    const res = this.#res
    const words = this.#reason()
    res._header = null
    res.statusCode = status
    if (words === undefined) Reflect.deleteProperty(res, 'statusMessage')
    else res.statusMessage = words
  }
}
