import type { Header } from '../core/call/call.js'
import type { Outgoing } from '../core/call/outgoing.js'
import type { Observation } from '../core/capsule/observation.js'
import type { BodyFraming } from '../core/http/response.js'
import type { WitnessRule } from '../core/http/witness.js'
import type { ToolRule } from '../core/manifest/model.js'

/** The governed way to one upstream: one call per connection at a time, no retry, no redirect. */
export type Upstream = {
  readonly name: string
  /** Never rejects: whatever happens is an Observation. */
  send(
    request: OutgoingRequest,
    rule: DispatchRule,
    sink: ResponseSink,
    control: DispatchControl,
  ): Promise<Observation>
  /** Takes no new calls, and resolves when those under way have ended. */
  close(): Promise<void>
  stats(): UpstreamStats
}
/** The call as it was judged: these bytes are sent, and no others (DESIGN §2.5). */
export type OutgoingRequest = Omit<Outgoing, 'upstream'>
export type DispatchRule = WitnessRule &
  Pick<ToolRule, 'deadlines' | 'connection' | 'close_delimited'>
export type DispatchControl = {
  /** Asked once, just before the first byte is written. */
  stillAllowed(): boolean
  readonly signal?: AbortSignal | undefined
  /**
   * Told what is handed to the socket, just before it is: once, and never where nothing leaves. The octets stay
   * valid; they are not reused. MUST NOT throw.
   */
  wrote?(head: string, body: Uint8Array): void
}
export type UpstreamStats = {
  readonly idle: number
  readonly opened: number
  readonly reused: number
  readonly inFlight: number
}

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
   * Aborts when the reader of an event stream has left: the one case in which the response is cut. Read
   * before the request leaves and again behind the head, which tells whether it is one.
   */
  readonly closedEventStream?: AbortSignal | undefined
}

/** An upstream as gate.yaml names it. */
export type NamedUpstream = {
  readonly upstream: Upstream
  /** `https://payments.internal`, for redirects that stay on it. */
  readonly origin: string
  /** Upper bounds on what a manifest may ask for. */
  readonly deadlines: { readonly [name in keyof ToolRule['deadlines']]?: number | undefined }
}
