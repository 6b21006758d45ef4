import type { Header } from '../../core/call.js'

/** What node:http's strict parser lets through although two readers could disagree about it. */
export type RequestLine = {
  readonly method: string
  readonly httpVersion: string
  readonly headers: readonly Header[]
}

/** Fields whose second occurrence one server joins, another drops and a third prefers. */
const ONCE: ReadonlySet<string> = new Set([
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
])

/** Null: there is one way to read this head (DESIGN §3 "Reading requests"). */
export function headFault({ method, httpVersion, headers }: RequestLine): string | null {
  if (method === 'TRACE' || method === 'CONNECT') return `the method ${method} is not served`
  const seen = new Map<string, string>()
  for (const [name, value] of headers) {
    if (!ONCE.has(name) && name !== 'upgrade') continue
    if (seen.has(name)) return `the header ${name} occurs twice`
    seen.set(name, value)
  }
  if (httpVersion !== '1.0' && !seen.has('host')) return 'the header host is missing'
  if (seen.has('upgrade')) return 'a governed route has no other protocol to change to'
  const expect = seen.get('expect')
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return 'the expectation cannot be met'
  }
  const coding = seen.get('transfer-encoding')
  if (coding === undefined) return null
  if (httpVersion === '1.0') return 'a transfer-coding has no meaning in HTTP/1.0'
  if (coding.toLowerCase() !== 'chunked') return 'the transfer-coding is not chunked alone'
  return seen.has('content-length') ? 'content-length stands beside transfer-encoding' : null
}
