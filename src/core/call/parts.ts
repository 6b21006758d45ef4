import { utf8 } from '../bytes/text.js'
import type { Declared } from '../intent/model.js'
import { askedOf } from '../manifest/route/match-server.js'
import type {
  Call,
  Definition,
  Header,
  ReadBody,
  ReadCall,
  ReadHttpCall,
  ReadMcpCall,
  UnreadBody,
} from './call.js'

/** How a call's rule is found: by the tool it names alone, by where it goes, or by what of a server it asks for. */
export type Address =
  | { readonly kind: 'tool'; readonly tool: string }
  | {
      readonly kind: 'target'
      readonly method: string
      readonly target: string
      /** Null: to whichever upstream the rule of this method and target goes. */
      readonly upstream: string | null
      /** A route guard named the tool; null: the rule's. */
      readonly tool: string | null
    }
  | {
      readonly kind: 'server'
      readonly server: string
      readonly method: string
      readonly name: string | null
    }

export function addressOf(call: Call): Address {
  switch (call.kind) {
    case 'function':
      return { kind: 'tool', tool: call.tool }
    case 'mcp':
      return { kind: 'server', server: call.server, method: call.method, name: call.name }
    case 'http': {
      const { method, target, upstream, tool } = call
      return { kind: 'target', method, target, upstream, tool }
    }
  }
}

/** The upstream a judged call is sent to; null: it goes to none. */
export const destinationOf = (call: ReadCall): string | null =>
  call.kind === 'http' ? call.upstream : null

/** A function's caller runs it itself: the gate lets it act, and has only its word for what came of it. */
export const isRunByCaller = (call: ReadCall): boolean => call.kind === 'function'

/** The method for logs and metrics; null for calls that have none. */
export const methodOf = (call: Call): string | null =>
  call.kind === 'function' ? null : call.method

/** What the private record of a refusal keeps of a call that no rule names. */
export function requestLine(call: Call): { readonly [name: string]: string } {
  switch (call.kind) {
    case 'http':
      return { method: call.method, target: call.target }
    case 'mcp': {
      const { server, method, name } = call
      return { server, method, ...(name === null ? {} : { name }) }
    }
    case 'function':
      return { tool: call.tool }
  }
}

const NO_HEADERS: readonly Header[] = []

export const headersOf = (call: Call): readonly Header[] =>
  call.kind === 'http' ? call.headers : NO_HEADERS

/** The tool as its server described it, where it has one that does. */
export const definitionOf = (call: Call): Definition | null =>
  call.kind === 'mcp' ? call.definition : null

/** The tool of a server that is called, and as what the caller knows it; null: it is no such call. */
export function serverToolOf(call: Call): ServerTool | null {
  if (call.kind !== 'mcp') return null
  const { part, name: tool } = askedOf(call)
  if (part !== 'tool') return null
  const { server, definition, definitionNotTold: notTold = false } = call
  return { server, tool, definition: definition?.digest ?? null, notTold }
}
export type ServerTool = {
  readonly server: string
  readonly tool: string
  /** The digest of its definition; null where the server does not list it. */
  readonly definition: string | null
  /** The server could not be asked for it. */
  readonly notTold: boolean
}

/** The MCP call, where it is one. */
export const mcpCallOf = (call: ReadCall): ReadMcpCall | null => (call.kind === 'mcp' ? call : null)

/** The body as the mount left it; a function's arguments are always there. */
export const bodyOf = (call: Call): ReadBody | UnreadBody =>
  call.kind === 'function' ? { kind: 'read', bytes: call.argumentsJson } : call.body

/** The request's own octets: a body, or arguments. */
export const octetsOf = (call: ReadCall): Uint8Array =>
  call.kind === 'function' ? call.argumentsJson : call.body.bytes

export const contentTypeOf = (call: ReadCall): string | undefined =>
  call.kind === 'http'
    ? call.headers.find(([name]) => name === 'content-type')?.[1]
    : 'application/json'

/** What a rule reads arguments from: JSON octets, or a body that its headers say how to read. */
export type Content =
  | { readonly kind: 'arguments'; readonly bytes: Uint8Array }
  | { readonly kind: 'body'; readonly bytes: Uint8Array; readonly headers: readonly Header[] }

/** A message without `arguments` means what one with none in it means. */
const NO_ARGUMENTS = utf8('{}')

export function contentOf(call: ReadCall): Content {
  switch (call.kind) {
    case 'http':
      return { kind: 'body', bytes: call.body.bytes, headers: call.headers }
    case 'mcp': {
      const { bytes } = call.body
      return { kind: 'arguments', bytes: bytes.length === 0 ? NO_ARGUMENTS : bytes }
    }
    case 'function':
      return { kind: 'arguments', bytes: call.argumentsJson }
  }
}

/**
 * The call as it is judged and sent: its body is there, and its upstream is the one its rule goes to.
 * Field by field: a spread of so wide an object costs a microsecond of every call.
 */
export function routeCall(call: Call, body: ReadBody, upstream: string): ReadCall {
  switch (call.kind) {
    case 'function':
      return call
    case 'mcp':
      return { ...call, body }
    case 'http': {
      const routed: ReadHttpCall = {
        kind: 'http',
        method: call.method,
        target: call.target,
        headers: call.headers,
        caller: call.caller,
        idempotencyKey: call.idempotencyKey,
        approvalId: call.approvalId,
        waitSeconds: call.waitSeconds,
        tool: call.tool,
        body,
        upstream,
      }
      return withDeclared(routed, call.declared)
    }
  }
}

/** The call with what it declares; one that declares nothing stays the object it is. */
export const withDeclared = <C extends Pick<Call, 'declared'>>(
  call: C,
  declared: Declared | undefined,
): C => (declared === undefined ? call : { ...call, declared })
