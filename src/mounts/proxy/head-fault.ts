import type { Header } from '../../core/call/call.js'

/** What node:http's strict parser lets through although two readers could disagree about it. */
export type RequestLine = {
  readonly method: string
  readonly httpVersion: string
  readonly headers: readonly Header[]
}

/** Fields whose second occurrence one server joins, another drops and a third prefers; each has a bit. */
const ONCE: ReadonlyMap<string, number> = new Map(
  [
    'agent-intent',
    'agent-mandate',
    'authorization',
    'content-encoding',
    'content-length',
    'content-type',
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

/** Null: there is one way to read this head (DESIGN §3 "Reading requests"). */
export function headFault({ method, httpVersion, headers }: RequestLine): string | null {
  if (method === 'TRACE' || method === 'CONNECT') return `the method ${method} is not served`
  let seen = 0
  let expect: string | null = null
  let coding: string | null = null
  for (const header of headers) {
    const name = header[0]
    const bit = bitOf(name)
    if ((seen & bit) !== 0) return `the header ${name} occurs twice`
    seen |= bit
    if (name === 'expect') expect = header[1]
    else if (name === 'transfer-encoding') coding = header[1]
  }
  if (httpVersion !== '1.0' && (seen & HOST) === 0) return 'the header host is missing'
  if ((seen & UPGRADE) !== 0) return 'a governed route has no other protocol to change to'
  if (expect !== null && expect.toLowerCase() !== '100-continue') {
    return 'the expectation cannot be met'
  }
  if (coding === null) return null
  if (httpVersion === '1.0') return 'a transfer-coding has no meaning in HTTP/1.0'
  if (coding.toLowerCase() !== 'chunked') return 'the transfer-coding is not chunked alone'
  return (seen & CONTENT_LENGTH) !== 0 ? 'content-length stands beside transfer-encoding' : null
}
