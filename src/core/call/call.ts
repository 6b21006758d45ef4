import type { IrreversibilityClass } from '../capsule/registries.js'
import type { Declared } from '../intent/model.js'
import type { Malformed } from './malformed.js'

/** One call as a mount read it. Nothing has been decided about it; nothing in it is normalised. */
export type Call = HttpCall | FunctionCall | McpCall

export type Header = readonly [name: string, value: string]

export type Caller = {
  /** Bearer token of the Authorization header, without the scheme; stripped before the upstream. */
  readonly bearer: string | null
  /** Subject of a verified client certificate. */
  readonly certificate: string | null
  /** An in-process caller vouched for by the embedding application. */
  readonly asserted: string | null
  /** Where the bytes came from; used by the pre-identity limiter only. */
  readonly source: string
  /** What may prove that the sender holds the key a mandate is bound to; absent where nothing was shown. */
  readonly proof?: Proof
}
export type Proof = {
  /** The DPoP header (RFC 9449); null: there was none. */
  readonly dpop: string | null
  /** SHA-256 of the verified client certificate, base64url (RFC 8705); null: there was none. */
  readonly certificate: string | null
  readonly method: string
  /** Host header and path, without query: what `htu` has to say. */
  readonly host: string
  readonly path: string
}

type Common = {
  readonly caller: Caller
  readonly idempotencyKey: string | null
  /** Gate-Approval: names an approval, is no credential. */
  readonly approvalId: string | null
  /** Prefer: wait=n, already capped. */
  readonly waitSeconds: number
  /** Whether the caller has disconnected; absent where a mount cannot know. */
  readonly callerLeft?: () => boolean
  /** Intent and mandate; absent where the call brought neither. */
  readonly declared?: Declared
}

export type ReadBody = { readonly kind: 'read'; readonly bytes: Uint8Array }
export type UnreadBody =
  /** `too_large` and `aborted`: the mount could not read it all; `consumed`: others had read it before. */
  | { readonly kind: 'too_large' | 'aborted' | 'consumed' }
  /** Left on the wire: the caller is unknown, or its share of memory for bodies is used up. */
  | { readonly kind: 'unread' | 'no_room' }
  /** Two readers could take the message for two different ones; `fault` says where. */
  | { readonly kind: 'malformed'; readonly fault: Malformed }

export type HttpCall = Common & {
  readonly kind: 'http'
  readonly method: string
  /**
   * The configured upstream's name, where the caller chose it; null where the manifests do: the call
   * goes to the upstream of the rule that matches it.
   */
  readonly upstream: string | null
  /** The request target exactly as received. */
  readonly target: string
  /** Lower-case names in received order, duplicates kept. */
  readonly headers: readonly Header[]
  readonly body: ReadBody | UnreadBody
  /** A route guard names the tool itself; otherwise the manifest's rules match. */
  readonly tool: string | null
}

export type FunctionCall = Common & {
  readonly kind: 'function'
  readonly tool: string
  /** The arguments' exact JSON octets. */
  readonly argumentsJson: Uint8Array
}

export type McpCall = Common & {
  readonly kind: 'mcp'
  /** As gate.yaml, or `wrap --name`, names it. */
  readonly server: string
  /** Empty where the message has none that can be read. */
  readonly method: string
  /** What the method is about: the name of a tool or prompt, the URI of a resource; else null. */
  readonly name: string | null
  /**
   * The exact octets of `arguments`; of a method that has none, of its other params. Empty: there were none.
   */
  readonly body: ReadBody | UnreadBody
  /** Members of `params` beside name, arguments and `_meta`, as they stood (`"task":{}`): sent and bound. */
  readonly more: string
  /** Members of `_meta` that go to the server, as they stood. They differ between sendings: not bound. */
  readonly meta: string
  /** The tool as its server last described it; null where it is no tool, or not listed. */
  readonly definition: Definition | null
  /** The server could not be asked how it describes the tool. */
  readonly definitionNotTold?: true
}
export type Definition = {
  /** SHA-256 of the definition, as `core/mcp/definition.ts` writes it. */
  readonly digest: string
  /** The class that its annotations amount to. */
  readonly hinted: IrreversibilityClass
  /** Whether the annotations of this server may also lower a rule's class. */
  readonly trusted: boolean
}

/**
 * A call that a rule matched: its octets are all there and its upstream is known. Only such a call can
 * be judged, digested, frozen and sent.
 */
export type ReadCall = ReadHttpCall | FunctionCall | ReadMcpCall
export type ReadHttpCall = HttpCall & { readonly body: ReadBody; readonly upstream: string }
export type ReadMcpCall = McpCall & { readonly body: ReadBody }
