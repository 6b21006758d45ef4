import type { Header } from '../../core/call/call.js'
import { endToEnd, isFieldValue, isToken, isVisible, listOf } from '../../core/http/fields.js'
import type { OutgoingRequest } from '../../ports/upstream.js'

/** What this hop says itself, whatever the caller said. */
const OURS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'content-length',
  'expect',
  'host',
  'trailer',
])
const EXPECTS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Null when the request cannot be put on the wire unambiguously; nothing is escaped or repaired. */
export function requestHead(
  request: OutgoingRequest,
  host: string,
  connection: 'fresh' | 'pooled',
  credential: Header | null,
): string | null {
  const { method, target, headers, body } = request
  if (!isToken(method) || method === 'CONNECT') return null
  if (!target.startsWith('/') || !isVisible(target)) return null
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: identity\r\n`
  for (const [name, value] of endToEnd(headers, listOf(headers, 'connection'))) {
    if (OURS.has(name) || name === credential?.[0]) continue
    if (!isToken(name) || !isFieldValue(value)) return null
    head += `${name}: ${value}\r\n`
  }
  if (credential !== null) {
    if (!isToken(credential[0]) || !isFieldValue(credential[1])) return null
    head += `${credential[0]}: ${credential[1]}\r\n`
  }
  if (connection === 'fresh') head += 'connection: close\r\n'
  if (body.length > 0 || EXPECTS_BODY.has(method)) head += `content-length: ${body.length}\r\n`
  return `${head}\r\n`
}
