import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http'
import type { Header } from '../../core/call/call.js'
import { endToEnd, listOf } from '../../core/http/fields.js'
import { framingOf, type ResponseHead } from '../../core/http/response.js'
import { isEventStream } from '../http/response-headers.js'

/** The head a handler made, at the moment Node would have fixed it. */
export type HandlerHead = ResponseHead & {
  readonly events: boolean
  /** Undefined: Node's own words for the status. */
  readonly reason: string | undefined
}

export function readHandlerHead(req: IncomingMessage, res: ServerResponse): HandlerHead {
  // The gate's own words are the gate's: a tool cannot say them.
  for (const name of res.getHeaderNames()) if (name.startsWith('gate-')) res.removeHeader(name)
  const all = fieldsOf(res)
  const one = (name: string): string | null => {
    const values = all.filter(([field]) => field === name).map(([, value]) => value)
    return values.length === 0 ? null : values.join(', ')
  }
  const length = one('content-length')
  const declared = length !== null && /^[0-9]{1,15}$/.test(length) ? Number(length) : null
  const status = res.statusCode
  const headers = endToEnd(all, listOf(all, 'connection'))
  return {
    status,
    headers,
    framing: framingOf(req.method, status, declared),
    contentType: one('content-type'),
    contentEncoding: one('content-encoding'),
    keepAliveMs: 0,
    events: isEventStream(headers),
    reason: res.statusMessage,
  }
}

function fieldsOf(res: ServerResponse): readonly Header[] {
  return Object.entries(res.getHeaders()).flatMap(([name, value]): Header[] => {
    if (value === undefined) return []
    return Array.isArray(value)
      ? value.map((each) => [name, each] as const)
      : [[name, String(value)] as const]
  })
}

/** What `writeHead(status, reason?, fields?)` says, put where `setHeader` puts it. */
export function applyWriteHead(res: ServerResponse, [status, ...rest]: readonly unknown[]): void {
  if (typeof status !== 'number' || !(status >= 100 && status <= 999)) {
    throw new RangeError(`Invalid status code: ${String(status)}`)
  }
  const [first, second] = rest
  const fields = typeof first === 'string' ? second : (first ?? second)
  res.statusCode = status
  if (typeof first === 'string') res.statusMessage = first
  if (typeof fields !== 'object' || fields === null) return
  if (!Array.isArray(fields)) {
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) res.setHeader(name, value as OutgoingHttpHeader as string)
    }
    return
  }
  const flat: readonly unknown[] = fields.every(Array.isArray) ? fields.flat(1) : fields
  if (flat.length % 2 !== 0) throw new TypeError('writeHead: a header has no value')
  for (let i = 0; i < flat.length; i += 2) res.removeHeader(String(flat[i]))
  for (let i = 0; i < flat.length; i += 2) {
    const value = flat[i + 1]
    res.appendHeader(String(flat[i]), Array.isArray(value) ? value.map(String) : String(value))
  }
}
