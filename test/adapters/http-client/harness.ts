import { createHmac } from 'node:crypto'
import type { Header } from '../../../src/core/call/call.js'
import type { Observation } from '../../../src/core/capsule/observation.js'
import type { ResponseHead } from '../../../src/core/http/response.js'
import type { DispatchRule, OutgoingRequest, ResponseSink } from '../../../src/ports/upstream.js'

export const RULE: DispatchRule = {
  deadlines: { connect_ms: 10_000, first_byte_ms: 20_000, total_ms: 30_000 },
  connection: 'fresh',
  close_delimited: 'refuse',
  success: { status: ['200-299'], unless: [] },
  saltedDigest: null,
}

export const hmacUnder = (salt: Uint8Array) => () => {
  const hmac = createHmac('sha256', salt)
  return {
    update: (octets: Uint8Array): void => void hmac.update(octets),
    digest: () => hmac.digest('hex'),
  }
}
export const ALLOWED = { stillAllowed: () => true }

export const request = (over: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  method: 'POST',
  target: '/v1/refunds',
  headers: [['content-type', 'application/json']],
  body: Buffer.from('{"amount":"1.00"}'),
  ...over,
})

export type Collected = ResponseSink & {
  readonly status: number | null
  readonly headers: readonly Header[]
  readonly framing: string | null
  readonly trailing: readonly Header[]
  readonly informed: readonly number[]
  body(): Buffer
}
export function collector(): Collected {
  const pieces: Uint8Array[] = []
  const informed: number[] = []
  let status: number | null = null
  let framing: string | null = null
  let headers: readonly Header[] = []
  let trailing: readonly Header[] = []
  return {
    head(seenStatus, seenHeaders, seenFraming) {
      status = seenStatus
      headers = seenHeaders
      framing = seenFraming.kind
      return undefined
    },
    data(chunk) {
      pieces.push(chunk)
      return undefined
    },
    trailers(seen) {
      trailing = seen
    },
    informational(seen) {
      informed.push(seen)
    },
    get status() {
      return status
    },
    get headers() {
      return headers
    },
    get framing() {
      return framing
    },
    get trailing() {
      return trailing
    },
    informed,
    body: () => Buffer.concat(pieces),
  }
}

/** Narrowing with a message: what was seen instead stands in the failure. */
export function complete(seen: Observation): Extract<Observation, { kind: 'complete' }> {
  if (seen.kind !== 'complete') throw new Error(`not complete: ${JSON.stringify(seen)}`)
  return seen
}
export function sent(seen: Observation): Extract<Observation, { kind: 'sent' }> {
  if (seen.kind !== 'sent') throw new Error(`not sent: ${JSON.stringify(seen)}`)
  return seen
}

export const HEAD: ResponseHead = {
  status: 200,
  headers: [],
  framing: { kind: 'chunked' },
  contentType: null,
  contentEncoding: null,
  keepAliveMs: 0,
}
