import type { Header } from '../../core/call/call.js'
import type { Held } from '../../gate/memory.js'
import type { HoldTerms } from '../proxy/hold.js'
import type { Release } from '../proxy/release.js'
import { gateHeaders } from '../proxy/response-headers.js'

const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i
const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * An upstream's answer as a `Response` (DESIGN §3 "Release"): held up to the limit, beyond it a stream
 * whose end waits for the capsule and which errors when there is none.
 */
export function fetchRelease(
  { holdLimit, holdAll, room }: HoldTerms & { readonly room: Held | null },
  clientHeaders: (headers: readonly Header[]) => readonly Header[],
): Release & { readonly response: Promise<Response> } {
  let give: (response: Response) => void = () => undefined
  const response = new Promise<Response>((resolve) => {
    give = resolve
  })
  let status = 0
  let headers: readonly Header[] = []
  let pieces: Uint8Array[] = []
  let size = 0
  let stream: ReadableStreamDefaultController<Uint8Array> | null = null
  let wanted: (() => void) | null = null
  let left = false
  const closed = new AbortController()
  let events = false

  const want = (): void => {
    wanted?.()
    wanted = null
  }
  const push = (chunk: Uint8Array): undefined | Promise<void> => {
    if (stream === null || left) return undefined
    stream.enqueue(chunk)
    if ((stream.desiredSize ?? 1) > 0) return undefined
    return new Promise((resolve) => {
      wanted = resolve
    })
  }
  const start = (): undefined | Promise<void> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        stream = controller
      },
      pull: want,
      cancel() {
        left = true
        want()
        if (events) closed.abort()
      },
    })
    give(new Response(body, { status, headers: fields(headers) }))
    room?.letGo()
    let busy: undefined | Promise<void>
    for (const piece of pieces.splice(0)) busy = push(piece)
    return busy
  }

  return {
    response,
    started: () => stream !== null,
    held: () => (stream === null ? { status, headers, body: Buffer.concat(pieces, size) } : null),
    sink: {
      closedEventStream: closed.signal,
      head(seenStatus, seenHeaders) {
        status = seenStatus
        headers = clientHeaders(seenHeaders)
        events = headers.some(([name, v]) => name === 'content-type' && EVENT_STREAM.test(v))
        return events && !holdAll ? start() : undefined
      },
      data(chunk) {
        if (stream !== null) return push(chunk)
        pieces.push(chunk)
        size += chunk.length
        return size > holdLimit && !holdAll ? start() : undefined
      },
      trailers() {},
    },
    complete(recorded) {
      if (stream !== null) {
        if (!left) stream.close()
        return
      }
      const body = NULL_BODY.has(status) ? null : Buffer.concat(pieces, size)
      pieces = []
      give(new Response(body, { status, headers: fields([...headers, ...gateHeaders(recorded)]) }))
    },
    over: () => room?.letGo(),
    cut() {
      if (stream !== null && !left) stream.error(new TypeError('the answer was cut short'))
    },
  }
}

function fields(headers: readonly Header[]): Headers {
  const out = new Headers()
  for (const [name, value] of headers) out.append(name, value)
  return out
}
