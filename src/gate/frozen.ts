import type { Call } from '../core/call.js'
import { hex } from '../core/hex.js'
import { utf8 } from '../core/text.js'
import type { EvidencePart } from '../ports.js'
import { type Admitted, isHttp, type Parts } from './stage.js'

/** A part of a request as it stood, for whoever has to send or read it later. */
export function frozenPart(
  name: 'head' | 'body',
  bytes: Uint8Array,
  { crypto }: Pick<Parts, 'crypto'>,
): EvidencePart {
  return { digest: hex(crypto.sha256(bytes)), kind: 'frozen', name, bytes }
}

/** The request's own octets; a function's are its arguments. */
export function requestOctets(call: Call): Uint8Array {
  if (!isHttp(call)) return call.argumentsJson
  return call.body.kind === 'read' ? call.body.bytes : new Uint8Array()
}

/** What the octets of a kept request were sent to, and as what: without it nobody can read them. */
export type RequestHead = {
  readonly method: string
  readonly target: string
  /** Null when there was none, or not exactly one. */
  readonly content_type: string | null
}

/** The request itself, for `capture: full`: its octets, and over HTTP its head. */
export function capturedRequest(call: Call, parts: Pick<Parts, 'crypto'>): EvidencePart[] {
  const bytes = requestOctets(call)
  const octets: EvidencePart = { digest: hex(parts.crypto.sha256(bytes)), kind: 'request', bytes }
  if (!isHttp(call)) return [octets]
  const types = call.headers.filter(([name]) => name === 'content-type')
  const head: RequestHead = {
    method: call.method,
    target: call.target,
    content_type: types.length === 1 ? (types[0]?.[1] ?? null) : null,
  }
  return [octets, frozenPart('head', utf8(JSON.stringify(head)), parts)]
}

/**
 * The agent as a frozen call keeps it. Tokens and certificates may be renewed before the call is sent:
 * it must then still be named by one, not by the same one.
 */
export function frozenAgent({ by, ...agent }: Admitted['agent']): Admitted['agent'] {
  const renewable = by?.some(({ kind }) => kind === 'token' || kind === 'certificate') ?? true
  return by === undefined || renewable ? agent : { ...agent, by }
}
