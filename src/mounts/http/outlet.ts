import type { Header } from '../../core/call/call.js'
import type { ResponseHead } from '../../core/http/response.js'
import type { Recorded } from './response-headers.js'

export type AnswerHead = Pick<ResponseHead, 'status' | 'headers' | 'framing'>
/** What goes with the end of an answer. */
export type AnswerEnd = { readonly recorded: Recorded; readonly trailers: readonly Header[] }

/**
 * The medium a released answer goes out on. An outlet writes what it is told and decides nothing: either
 * `whole`, or `start`, `write`s and `end`; `cut` at any time; nothing once it says that it is gone.
 */
export type Outlet = {
  /** Nothing that is said arrives any more. */
  gone(): boolean
  whole(head: AnswerHead, body: Uint8Array, end: AnswerEnd): void
  start(head: AnswerHead, events: boolean): void
  /** A promise settles when more can be taken, or when the client is gone. */
  write(octets: Uint8Array): undefined | Promise<void>
  /** `last`: the octet held back under a declared length. */
  end(head: AnswerHead, last: Uint8Array | null, end: AnswerEnd): void
  /** The client must see that something is missing. */
  cut(): void
  /** Tells once that the client left before the end. */
  whenLeft(tell: () => void): void
  /** Tells once that a whole answer of this many octets is out, or can no longer go out. */
  whenOut(size: number, tell: () => void): void
}

/** For a call without a client: everything is taken, nothing is said. */
export const NOWHERE: Outlet = {
  gone: () => false,
  whole: () => undefined,
  start: () => undefined,
  write: () => undefined,
  end: () => undefined,
  cut: () => undefined,
  whenLeft: () => undefined,
  whenOut: (_size, tell) => tell(),
}
