import type { Octets, ResponseBinding } from './model.js'

/**
 * What the gate itself saw of a dispatch. `confirmed` is built from an ObservedResponse and from
 * nothing else (promise 3), and only `witness` makes one: it demands how the end was seen.
 */
export type Framing =
  /** Content-Length met exactly. */
  | 'content_length'
  /** The zero chunk was read. */
  | 'chunked'
  /** HEAD, 1xx, 204, 304: a message that has no body by its status. */
  | 'bodyless'
  /** Ended by a clean close; complete only where the manifest says so for the tool. */
  | 'close_delimited_accepted'
  /** An in-process handler ended its response through the interceptor. */
  | 'handler_end'
  /** The MCP message that answers the call: a line up to its LF. */
  | 'line'
  /** The same, as the whole body of an HTTP response. */
  | 'json_body'
  /** The same, as an event up to the blank line that ends it. */
  | 'sse_event'

export type Witnessed = {
  readonly framing: Framing
  /** The whole request had been handed to the socket before the response's end was read. */
  readonly requestSent: true
  /** Absent where the response is a message that has none. */
  readonly status?: number
  readonly octets: Octets
  readonly binding: ResponseBinding
  readonly responseDigest: string
  /** Extracted by the manifest's rule, when there is one. */
  readonly externalRef?: string
}

export class ObservedResponse {
  readonly #seen: Witnessed
  private constructor(seen: Witnessed) {
    this.#seen = seen
  }
  /** For the upstream adapter and the response interceptor only; the architecture test holds that. */
  static witness(seen: Witnessed): ObservedResponse {
    if (seen.octets.complete !== true)
      throw new TypeError('an incomplete response was not observed')
    return new ObservedResponse(
      Object.freeze({ ...seen, octets: Object.freeze({ ...seen.octets }) }),
    )
  }
  /** By brand, not by shape: a look-alike or an overridden getter yields null. */
  static seenOf(value: unknown): Witnessed | null {
    return typeof value === 'object' && value !== null && #seen in value ? value.#seen : null
  }
  get seen(): Witnessed {
    return this.#seen
  }
}

export type Observation =
  /** Not one byte of the request left: connect refused, DNS, TLS, or refused before the first byte. */
  | { readonly kind: 'not_sent'; readonly cause: string; readonly deadline: boolean }
  /** At least one byte left and no complete response was read. */
  | {
      readonly kind: 'sent'
      readonly cause: string
      readonly deadline: boolean
      /** Status of a head that was seen before the cut, for evidence only. */
      readonly status?: number
      /** Octets read before the cut, for evidence only; never bound as a response. */
      readonly partial?: { readonly digest: string; readonly length: number }
    }
  | {
      readonly kind: 'complete'
      readonly response: ObservedResponse
      /** `refused`: a clean failure. `failed`: the server's own. */
      readonly outcome: 'succeeded' | 'refused' | 'failed'
    }
  /** The server has answered that the call is not over: it wants input first, or works on by itself. */
  | {
      readonly kind: 'unfinished'
      readonly why: 'input_required' | 'task'
      /** The answer, for evidence only: it is not the result. */
      readonly answer: { readonly digest: string; readonly length: number }
    }
  /** An executing runtime reported a result the gate did not itself read. */
  | {
      readonly kind: 'claimed'
      readonly ok: boolean
      readonly resultDigest?: string
      /** What else it said of the act, as JSON text, for evidence only. */
      readonly said?: string
    }
