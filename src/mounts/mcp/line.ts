import type { Member } from '../../core/json/spans.js'
import type { McpConnection, McpHead } from '../../ports/mcp.js'
import type { Definitions } from './lists/definitions.js'
import type { McpGate, Served } from './options.js'

/** What the requests of a session share: the gate, the server, and the connection to it. */
export type Line = {
  readonly gate: McpGate
  readonly served: Served
  readonly definitions: Definitions
  /** Opened when it is first needed. */
  readonly connection: () => McpConnection
  /** An object's members with what a client may see of `_meta`, under the client's own names. */
  readonly cleaned: (members: readonly Member[]) => string
  readonly headOf: (method: string | null, name: string | null) => McpHead
}
