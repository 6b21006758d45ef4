import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Proof } from '../../core/call/call.js'

/** What may prove that the sender holds the key or certificate of a mandate, wherever in the message that is. */
export function proofOf(req: IncomingMessage, dpop: string | null): Proof | null {
  const secured = req.socket instanceof TLSSocket && req.socket.authorized ? req.socket : null
  if (dpop === null && secured === null) return null
  return {
    dpop,
    // Looked at for mandates that are bound to one alone: it costs more than all else here.
    get certificate() {
      return secured === null ? null : thumbprintOf(secured)
    },
    method: req.method ?? '',
    host: req.headers.host ?? '',
    path: pathOf(req),
  }
}

/** `x5t#S256` of RFC 8705 §3.1; node has the same digest in hex with colons. */
function thumbprintOf(socket: TLSSocket): string | null {
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256
  if (fingerprint === undefined) return null
  return Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url')
}

/** The path the agent asked for: below a mount point, Express has shortened `url` and keeps the whole one. */
function pathOf(req: IncomingMessage): string {
  const asked = 'originalUrl' in req ? req.originalUrl : req.url
  return typeof asked === 'string' ? (asked.split('?', 1)[0] ?? '') : ''
}
