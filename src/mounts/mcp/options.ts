import type { Caller, Header } from '../../core/call/call.js'
import type { RequestId } from '../../core/mcp/message.js'
import type { ServerAsk } from '../../core/mcp/methods.js'
import type { Problem } from '../../core/verdict/problem.js'
import type { Gate } from '../../gate/gate.js'
import type { Identified } from '../../ports/identity.js'
import type { McpServer } from '../../ports/mcp.js'
import type { DeclaredHeaders } from '../http/declared.js'

/** What this mount asks of the gate. */
export type McpGate = Pick<
  Gate,
  | 'govern'
  | 'collect'
  | 'withdraw'
  | 'memory'
  | 'report'
  | 'read'
  | 'pinTools'
  | 'recordServerAsk'
  | 'recordServerFault'
  | 'recordTaskResult'
  | 'permits'
  | 'takeReport'
>

/** An MCP server as the operator configured it. */
export type Served = {
  readonly name: string
  readonly to: McpServer
  /** Whether its annotations may also lower the class of a tool. */
  readonly trusted: boolean
  /** What it may ask of clients. */
  readonly asks: Readonly<Record<ServerAsk, 'pass' | 'refuse'>>
  /** Keys of `_meta` that pass beside the protocol's own. */
  readonly meta: {
    readonly to_server: ReadonlySet<string>
    readonly to_client: ReadonlySet<string>
  }
}

export type McpOptions = {
  readonly gate: McpGate
  /** Where a person decides this approval; null where no page can be reached. */
  readonly approvalLink: (approvalId: string) => string | null
  /** The longest message of a client. */
  readonly messageBytes: number
}

/** Who sends a message; over HTTP each has its own credentials. */
export type Sender = {
  readonly caller: Caller
  readonly identified: Identified
  /** `mcp-param-…`, over HTTP: arguments that the head of the request repeats. */
  readonly params?: readonly Header[]
  /** Intent and mandate in the head of the request, over HTTP. */
  readonly declared?: DeclaredHeaders
}

/** The way back to the client, beside the answers to its requests. */
export type ClientEnd = {
  /** `about`: the client's request in whose course it is sent; null where none is known. */
  send(octets: Uint8Array, about: RequestId | null): void
}

/** The answer to one request; `status` is for HTTP. */
export type Reply = {
  readonly octets: Uint8Array
  readonly status: number
  /** Of a refusal. */
  readonly problem: Problem | null
  /** Of an error; null for a result. */
  readonly code: number | null
}

/** The longest message of a server: it is held until its capsule is durable. */
export const MAX_SERVER_MESSAGE = 64 * 1024 * 1024
/** For what is no call: a server that does not answer in this time is told as silent. */
export const PASS_MS = 60_000
