import type { ServerResponse } from 'node:http'
import type { Memory } from '../../gate/memory.js'
import { type ClientHeaders, Release } from './hold-and-release.js'
import { type HoldTerms, holdFor } from './hold-terms.js'
import type { ExchangeLimits } from './limits.js'
import type { AnswerEnd, AnswerHead, Outlet } from './outlet.js'
import { flat, gateHeaders, pairs } from './response-headers.js'

export type ClientTerms = Pick<ExchangeLimits, 'stallMs'> & { readonly wantsTrailers: boolean }
/** A few octets go to the kernel at once: no listener waits for them. */
const SMALL = 16 * 1024
export const GATE_TRAILERS = 'Gate-Verdict, Gate-Action, Gate-Capsule'

/** The way out to a client over HTTP. Null: the answer must be held, and there is no memory for it. */
export function releaseTo(
  res: ServerResponse,
  terms: HoldTerms & ClientTerms,
  memory: Memory,
  clientHeaders: ClientHeaders,
): Release | null {
  const hold = holdFor(terms, memory)
  return hold === null ? null : new Release(new ClientOutlet(res, terms), hold, clientHeaders)
}

// A class, because every call makes one and closures would cost it more.
export class ClientOutlet implements Outlet {
  readonly #res: ServerResponse
  readonly #terms: ClientTerms
  #draining: Promise<void> | null = null

  constructor(res: ServerResponse, terms: ClientTerms) {
    this.#res = res
    this.#terms = terms
  }

  gone(): boolean {
    return this.#res.destroyed || this.#res.closed
  }

  /** What the answer says of its length is what was kept. */
  whole(
    { status, headers, framing }: AnswerHead,
    body: Uint8Array,
    { recorded, trailers }: AnswerEnd,
  ): void {
    const res = this.#res
    const bodyless = framing.kind === 'bodyless'
    const all: string[] = []
    for (const header of headers) {
      if (bodyless || header[0] !== 'content-length') all.push(header[0], header[1])
    }
    for (const header of gateHeaders(recorded)) all.push(header[0], header[1])
    if (bodyless) {
      res.writeHead(status, all).end()
    } else if (trailers.length > 0 && this.#terms.wantsTrailers) {
      res.writeHead(status, all)
      res.write(body)
      res.addTrailers(pairs(trailers))
      res.end()
    } else {
      all.push('content-length', String(body.length))
      res.writeHead(status, all).end(body)
    }
  }

  start(head: AnswerHead, events: boolean): void {
    const all = flat(head.headers)
    if (this.hasTrailers(head)) all.push('trailer', GATE_TRAILERS)
    this.#res.writeHead(head.status, all)
    if (events) this.#res.flushHeaders()
  }

  write(octets: Uint8Array): undefined | Promise<void> {
    if (this.#res.write(octets)) return undefined
    // One read may bring many pieces: they all wait for the same drain.
    this.#draining ??= this.#drained()
    return this.#draining
  }

  end(head: AnswerHead, last: Uint8Array | null, { recorded, trailers }: AnswerEnd): void {
    if (this.hasTrailers(head)) {
      this.#res.addTrailers(pairs([...trailers, ...gateHeaders(recorded)]))
    }
    this.#res.end(last)
  }

  cut(): void {
    this.#res.destroy()
  }

  whenLeft(tell: () => void): void {
    this.#res.once('close', () => {
      if (!this.#res.writableFinished) tell()
    })
  }

  whenOut(size: number, tell: () => void): void {
    const { socket } = this.#res.req
    if (size <= SMALL || this.#res.closed || socket.destroyed) {
      tell()
      return
    }
    const over = (): void => {
      this.#res.off('close', over)
      // A response that never got the connection is told nothing of its end.
      socket.off('close', over)
      tell()
    }
    this.#res.on('close', over)
    socket.on('close', over)
  }

  protected hasTrailers({ framing }: AnswerHead): boolean {
    return framing.kind !== 'content_length' && this.#terms.wantsTrailers
  }

  protected isDraining(): boolean {
    return this.#draining !== null
  }

  /** The client takes nothing. */
  protected giveUp(): void {
    this.#res.destroy()
  }

  /** Settles when the client takes more, is gone, or was given up; runs before any other listener. */
  #drained(): Promise<void> {
    const res = this.#res
    return new Promise((resolve) => {
      const over = (): void => {
        clearTimeout(timer)
        res.off('drain', over).off('close', over)
        this.#draining = null
        resolve()
      }
      const timer = setTimeout(() => {
        this.giveUp()
        over()
      }, this.#terms.stallMs)
      res.prependListener('drain', over).on('close', over)
    })
  }
}
