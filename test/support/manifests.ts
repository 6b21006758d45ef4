import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { readYaml } from '../../src/config/yaml.js'
import { utf8 } from '../../src/core/bytes/text.js'
import type { Call, HttpCall, McpCall, ReadCall, ReadHttpCall } from '../../src/core/call/call.js'
import { bodyOf, routeCall } from '../../src/core/call/parts.js'
import { canonicalOf, jsonDigest, normalize } from '../../src/core/json/build.js'
import type { Plain } from '../../src/core/json/value.js'
import { type Expanded, expand, manifestDigest } from '../../src/core/manifest/expand/expand.js'
import type { Problem } from '../../src/core/manifest/expand/tree.js'
import type { Manifest } from '../../src/core/manifest/model.js'
import { compileRouter, type Router } from '../../src/core/manifest/route/match.js'

/** The manifest of DESIGN §1, to the letter. */
export const PAYMENTS = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD]}}
`

export function expandText(text: string): Expanded {
  const read = readYaml(text)
  return read.ok ? expand(read.tree) : read
}

export function manifestOf(text: string): Manifest {
  const expanded = expandText(text)
  if (!expanded.ok) throw new Error(JSON.stringify(expanded.problems, null, 2))
  return expanded.manifest
}

export function problemsOf(text: string): readonly Problem[] {
  const expanded = expandText(text)
  return expanded.ok ? [] : expanded.problems
}

export function routerOf(...texts: string[]): Router {
  const loaded = texts.map(manifestOf).map((manifest) => ({
    manifest,
    digest: manifestDigest(manifest, nodeCrypto),
  }))
  const compiled = compileRouter(loaded)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.router
}

/** A call as the proxy reads it; JSON body and content-type unless told otherwise. */
export function httpCall(
  method: string,
  target: string,
  body?: unknown,
  more?: Partial<ReadHttpCall>,
): ReadHttpCall
export function httpCall(
  method: string,
  target: string,
  body: unknown,
  more: Partial<HttpCall>,
): HttpCall
export function httpCall(
  method: string,
  target: string,
  body: unknown = undefined,
  more: Partial<HttpCall> = {},
): HttpCall {
  const bytes =
    body instanceof Uint8Array
      ? body
      : utf8(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
  return {
    kind: 'http',
    method,
    upstream: 'default',
    target,
    headers: [['content-type', 'application/json']],
    body: { kind: 'read', bytes },
    tool: null,
    caller: { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' },
    idempotencyKey: null,
    approvalId: null,
    waitSeconds: 0,
    ...more,
  }
}

/** A call of a tool of an MCP server, as that server does not list it unless told otherwise. */
export function mcpCall(
  server: string,
  name: string,
  args?: unknown,
  more: Partial<McpCall> = {},
): McpCall {
  return {
    kind: 'mcp',
    server,
    method: 'tools/call',
    name,
    body: { kind: 'read', bytes: utf8(args === undefined ? '' : JSON.stringify(args)) },
    more: '',
    meta: '',
    definition: null,
    caller: { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' },
    idempotencyKey: null,
    approvalId: null,
    waitSeconds: 0,
    ...more,
  }
}

/** A tool as a server would list it: what the gate pins, and what a call that was made by it carries. */
export function describedTool(tool: string, description: string, more: Plain = {}) {
  const listed = { name: tool, description, inputSchema: { type: 'object' }, ...Object(more) }
  const digest = jsonDigest(listed, nodeCrypto)
  const document = canonicalOf(normalize(listed))
  const definition = { digest, hinted: 'two_way', trusted: false } as const
  return { tool, digest, document, definition }
}

/** The call as `match` hands it on. */
export function routed(call: Call, upstream = 'default'): ReadCall {
  const body = bodyOf(call)
  if (body.kind !== 'read') throw new Error(`the body is ${body.kind}`)
  return routeCall(call, body, upstream)
}
