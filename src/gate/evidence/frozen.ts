import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { ReadCall } from '../../core/call/call.js'
import { capturedHead } from '../../core/call/capture.js'
import { octetsOf } from '../../core/call/parts.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Parts } from '../context.js'

/** A part of a request as it stood, for whoever has to send or read it later. */
export function frozenPart(
  name: 'head' | 'body',
  bytes: Uint8Array,
  { crypto }: Pick<Parts, 'crypto'>,
): EvidencePart {
  return { digest: hex(crypto.sha256(bytes)), kind: 'frozen', name, bytes }
}

/** The request itself, for `capture: full`: its octets, and over HTTP its head. */
export function capturedRequest(call: ReadCall, parts: Pick<Parts, 'crypto'>): EvidencePart[] {
  const bytes = octetsOf(call)
  const octets: EvidencePart = { digest: hex(parts.crypto.sha256(bytes)), kind: 'request', bytes }
  const head = capturedHead(call)
  return head === null ? [octets] : [octets, frozenPart('head', utf8(JSON.stringify(head)), parts)]
}
