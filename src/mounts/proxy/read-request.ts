import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Caller, Header, HttpCall } from '../../core/call.js'

/** The head of one request, from the raw fields and the raw target; nothing is normalised here. */
export type RequestHead = Omit<HttpCall, 'body' | 'upstream'>

/** DESIGN §3 "Approval": nobody holds a connection longer than this. */
const MAX_WAIT_SECONDS = 20

export function readHead(req: IncomingMessage): RequestHead {
  const headers = rawHeaders(req)
  return {
    kind: 'http',
    method: req.method ?? '',
    target: req.url ?? '',
    headers,
    caller: readCaller(req, headers),
    idempotencyKey: first(headers, 'idempotency-key'),
    approvalId: first(headers, 'gate-approval'),
    waitSeconds: waitSeconds(headers),
    callerLeft: () => req.socket.destroyed,
    tool: null,
  }
}

export function rawHeaders(req: Pick<IncomingMessage, 'rawHeaders'>): readonly Header[] {
  const raw = req.rawHeaders
  const headers: Header[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    headers.push([(raw[i] as string).toLowerCase(), raw[i + 1] as string])
  }
  return headers
}

const first = (headers: readonly Header[], name: string): string | null =>
  headers.find(([field]) => field === name)?.[1] ?? null

function readCaller(req: IncomingMessage, headers: readonly Header[]): Caller {
  return {
    bearer: bearerOf(first(headers, 'authorization')),
    certificate: subjectOf(req),
    asserted: null,
    source: req.socket.remoteAddress ?? '',
  }
}

/**
 * A credential of another scheme is one that fails, never one that was not there: it is looked up
 * whole, and no token has a space in it.
 */
function bearerOf(authorization: string | null): string | null {
  if (authorization === null) return null
  return /^bearer +([^ ]+) *$/i.exec(authorization)?.[1] ?? `not a bearer: ${authorization}`
}

/** `CN=support-bot,O=Acme`: values come escaped (RFC 4514), so joining cannot make two alike. */
function subjectOf({ socket }: IncomingMessage): string | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null
  return socket.getPeerX509Certificate()?.subject.split('\n').join(',') ?? null
}

/** RFC 7240 §4.3. */
function waitSeconds(headers: readonly Header[]): number {
  for (const [name, value] of headers) {
    if (name !== 'prefer') continue
    const wait = /(?:^|[,;])[ \t]*wait[ \t]*=[ \t]*([0-9]{1,9})[ \t]*(?:[,;]|$)/i.exec(value)?.[1]
    if (wait !== undefined) return Math.min(MAX_WAIT_SECONDS, Number(wait))
  }
  return 0
}
