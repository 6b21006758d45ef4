import type { HttpCall } from '../../core/call/call.js'
import { headerTwice, type Malformed } from '../../core/call/malformed.js'

type Head = Pick<HttpCall, 'method' | 'headers'> & { readonly httpVersion: string }

/** Fields whose second occurrence one server joins, another drops and a third prefers; each has a bit. */
const ONCE: ReadonlyMap<string, number> = new Map(
  [
    'agent-intent',
    'agent-mandate',
    'authorization',
    'content-encoding',
    'content-length',
    'content-type',
    'dpop',
    'expect',
    'gate-approval',
    'host',
    'idempotency-key',
    'transfer-encoding',
    'upgrade',
  ].map((name, index) => [name, 1 << index]),
)
const bitOf = (name: string): number => ONCE.get(name) ?? 0
const HOST = bitOf('host')
const UPGRADE = bitOf('upgrade')
const CONTENT_LENGTH = bitOf('content-length')

/**
 * What node:http's strict parser lets through although two readers could disagree about it; null where
 * there is one way to read this head (DESIGN §3 "Reading requests").
 */
export function headFault({ method, httpVersion, headers }: Head): Malformed | null {
  if (method === 'TRACE' || method === 'CONNECT') return 'method_not_served'
  let seen = 0
  let expect: string | null = null
  let coding: string | null = null
  for (const header of headers) {
    const name = header[0]
    const bit = bitOf(name)
    if ((seen & bit) !== 0) return headerTwice(name)
    seen |= bit
    if (name === 'expect') expect = header[1]
    else if (name === 'transfer-encoding') coding = header[1]
  }
  if (httpVersion !== '1.0' && (seen & HOST) === 0) return 'host_missing'
  if ((seen & UPGRADE) !== 0) return 'protocol_change'
  if (expect !== null && expect.toLowerCase() !== '100-continue') return 'expectation_unmet'
  if (coding === null) return null
  if (httpVersion === '1.0') return 'coding_in_http_1_0'
  if (coding.toLowerCase() !== 'chunked') return 'coding_not_chunked'
  return (seen & CONTENT_LENGTH) !== 0 ? 'length_beside_coding' : null
}
