import type { Header } from '../core/call/call.js'
import type { Observation } from '../core/capsule/observation.js'
import type { MessageFault } from '../core/mcp/message.js'
import type { McpWitnessRule } from '../core/mcp/witness.js'

/**
 * The way to one MCP server. A connection is one client's: its own process, or its own session over HTTP.
 * Octets are single JSON-RPC messages, without line feed, event framing or byte order mark.
 */
export type McpServer = {
  readonly name: string
  /** MUST NOT throw; what cannot be opened is told by `closed`, and by the requests on it. */
  connect(listener: McpListener): McpConnection
  /** Takes no new connections, closes those there are, and resolves when no process is left. */
  close(): Promise<void>
}

export type McpConnection = {
  /** Sends one request under its id and waits for the message that answers it. Never rejects. */
  request(sending: McpSending, control: McpControl): Promise<McpReceived>
  /** A notification, or the client's answer to a request of the server's. Lost where the server is gone. */
  tell(octets: Uint8Array, head: McpHead): void
  /** Ends the process or session; requests under way end as `sent`. */
  close(): Promise<void>
}

/** MUST NOT throw. */
export type McpListener = {
  /**
   * A notification or a request of the server's. `during` is the id of the request on whose stream it came;
   * null where the transport does not tell.
   */
  message(octets: Uint8Array, during: number | null): void
  /** Something that no server may send; nothing of it goes on. */
  fault(fault: McpFault): void
  /** Told once; every later request is `not_sent`. */
  closed(ended: McpEnd): void
}
/** How a server breaks the protocol. */
export type McpFault = 'answered_twice' | 'answered_unasked' | 'message_too_long' | MessageFault
/** How it ended; `code` or `signal` of a process. */
export type McpEnd = {
  readonly why: string
  readonly code?: number | null
  readonly signal?: string | null
}

/** What HTTP repeats of a message in its head. */
export type McpHead = {
  readonly method: string | null
  readonly name: string | null
  /** Null in the era that has no such header yet (`initialize`). */
  readonly protocolVersion: string | null
  /** `mcp-param-…`, as the tool's definition asks for them: plain values, which the way over HTTP encodes. */
  readonly params: readonly Header[]
}
export type McpSending = {
  /** The gate's own; unique on the connection. */
  readonly id: number
  readonly octets: Uint8Array
  readonly head: McpHead
}
export type McpControl = {
  /** Asked once, just before the first octet leaves. */
  stillAllowed(): boolean
  /** From now until the whole answer; 0: none. */
  readonly totalMs: number
  /** Aborts when nobody waits for the answer any more: what was sent ends as cut. */
  readonly signal?: AbortSignal | undefined
  /**
   * Told the octets that are handed to the pipe or socket, just before they are: once, and never where none leaves.
   * They stay valid, and are not reused. MUST NOT throw.
   */
  wrote?(octets: Uint8Array): void
  /** The tool's rule on connections over HTTP; absent: fresh. */
  readonly connection?: 'fresh' | 'pooled' | undefined
}
/** For whoever runs the gate; structurally what the gate's own log takes. */
export type McpReport = {
  readonly level: 'warn' | 'error'
  readonly event: string
  readonly detail: string
}

export type McpReceived =
  | {
      readonly kind: 'message'
      readonly octets: Uint8Array
      /** What the gate saw of it; made from the octets as they were read, and from nothing else (promise 3). */
      observe(rule: McpWitnessRule): Observation
    }
  /** No whole message came: what is known of the request. */
  | {
      readonly kind: 'none'
      readonly observation: Extract<Observation, { kind: 'not_sent' | 'sent' }>
    }
