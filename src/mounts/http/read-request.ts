import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Caller, Header, HttpCall } from '../../core/call/call.js'
import { withDeclared } from '../../core/call/parts.js'
import { declaredOf } from '../../core/intent/carry.js'
import { MAX_WAIT_SECONDS } from './limits.js'
import { proofOf } from './proof.js'

/** The head of one request, from the raw fields and the raw target; nothing is normalised here. */
export type RequestHead = Omit<HttpCall, 'body' | 'upstream' | 'tool'> &
  Required<Pick<HttpCall, 'callerLeft'>>

export function readHead(req: IncomingMessage): RequestHead {
  const headers = rawHeaders(req)
  // One pass for all that is lifted out: where a field occurs twice, the first is meant. Of intent and
  // mandate each counts, because a second one is a fault.
  let authorization: string | null = null
  let idempotencyKey: string | null = null
  let approvalId: string | null = null
  let dpop: string | null = null
  let wait: number | null = null
  let intents: string[] | null = null
  let mandates: string[] | null = null
  for (const header of headers) {
    const value = header[1]
    switch (header[0]) {
      case 'authorization':
        authorization ??= value
        break
      case 'idempotency-key':
        idempotencyKey ??= value
        break
      case 'gate-approval':
        approvalId ??= value
        break
      case 'dpop':
        dpop ??= value
        break
      case 'prefer':
        wait ??= waitSeconds(value)
        break
      case 'agent-intent':
        intents ??= []
        intents.push(value)
        break
      case 'agent-mandate':
        mandates ??= []
        mandates.push(value)
        break
    }
  }
  const caller: Caller = {
    bearer: authorization === null ? null : bearerOf(authorization),
    certificate: subjectOf(req),
    asserted: null,
    source: req.socket.remoteAddress ?? '',
  }
  const proof = proofOf(req, dpop)
  const head: RequestHead = {
    kind: 'http',
    method: req.method ?? '',
    target: req.url ?? '',
    headers,
    caller: proof === null ? caller : { ...caller, proof },
    idempotencyKey,
    approvalId,
    waitSeconds: wait ?? 0,
    callerLeft: () => req.socket.destroyed,
  }
  if (intents === null && mandates === null) return head
  return withDeclared(head, declaredOf({ intents: intents ?? [], mandates: mandates ?? [] }))
}

/** Field by field: a spread of so wide an object costs a microsecond of every call. */
export function withBody(
  head: RequestHead,
  body: HttpCall['body'],
  { upstream, tool }: Pick<HttpCall, 'upstream' | 'tool'> = ANYWHERE,
): HttpCall {
  const call: HttpCall = {
    kind: 'http',
    method: head.method,
    target: head.target,
    headers: head.headers,
    caller: head.caller,
    idempotencyKey: head.idempotencyKey,
    approvalId: head.approvalId,
    waitSeconds: head.waitSeconds,
    callerLeft: head.callerLeft,
    tool,
    body,
    upstream,
  }
  return withDeclared(call, head.declared)
}
/** Upstream and tool are found by the manifests' rules. */
const ANYWHERE = { upstream: null, tool: null }

export function rawHeaders(req: Pick<IncomingMessage, 'rawHeaders'>): readonly Header[] {
  const raw = req.rawHeaders
  const headers: Header[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    headers.push([(raw[i] as string).toLowerCase(), raw[i + 1] as string])
  }
  return headers
}

/**
 * A credential of another scheme is one that fails, never one that was not there: it is looked up
 * whole, and no token has a space in it.
 */
const bearerOf = (authorization: string): string =>
  /^bearer +([^ ]+) *$/i.exec(authorization)?.[1] ?? `not a bearer: ${authorization}`

/** `CN=support-bot,O=Acme`: values come escaped (RFC 4514), so joining cannot make two alike. */
function subjectOf({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null
  return socket.getPeerX509Certificate()?.subject.split('\n').join(',') ?? null
}

/** RFC 7240 §4.3; null when this field asks for something else. */
function waitSeconds(prefer: string): number | null {
  const wait = /(?:^|[,;])[ \t]*wait[ \t]*=[ \t]*([0-9]{1,9})[ \t]*(?:[,;]|$)/i.exec(prefer)?.[1]
  return wait === undefined ? null : Math.min(MAX_WAIT_SECONDS, Number(wait))
}
