import type { Call, Header, ReadBody, ReadCall, UnreadBody } from './call.js'

/** The body as the mount left it; a function's arguments are always there. */
export function bodyOf(call: Call): ReadBody | UnreadBody {
  switch (call.kind) {
    case 'http':
      return call.body
    case 'function':
      return { kind: 'read', bytes: call.argumentsJson }
  }
}

/**
 * The call as it is judged and sent: its body is there, and its upstream is the one its rule goes to.
 * Field by field: a spread of so wide an object costs a microsecond of every call.
 */
export function routeCall(call: Call, body: ReadBody, upstream: string): ReadCall {
  switch (call.kind) {
    case 'http':
      return {
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
    case 'function':
      return call
  }
}

/** What a rule reads arguments from: JSON octets, or a body that its headers say how to read. */
export type Content =
  | { readonly kind: 'arguments'; readonly bytes: Uint8Array }
  | { readonly kind: 'body'; readonly bytes: Uint8Array; readonly headers: readonly Header[] }

export function contentOf(call: ReadCall): Content {
  switch (call.kind) {
    case 'http':
      return { kind: 'body', bytes: call.body.bytes, headers: call.headers }
    case 'function':
      return { kind: 'arguments', bytes: call.argumentsJson }
  }
}

const NO_HEADERS: readonly Header[] = []

export function headersOf(call: Call): readonly Header[] {
  switch (call.kind) {
    case 'http':
      return call.headers
    case 'function':
      return NO_HEADERS
  }
}
