import type { Outlet } from '../http/outlet.js'
import { gateHeaders, pairs } from '../http/response-headers.js'

/** They are answers without a body, whatever the upstream sent. */
const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** The way out as a `Response`, which is there when its head goes out and errors when it is cut. */
export function responseOutlet(
  /** A reader that takes nothing for this long is gone; the observing goes on without it. */
  stallMs: number,
): Outlet & { readonly response: Promise<Response> } {
  let give: (response: Response) => void = () => undefined
  let refuse: (error: Error) => void = () => undefined
  const response = new Promise<Response>((resolve, reject) => {
    give = resolve
    refuse = reject
  })
  let stream: ReadableStreamDefaultController<Uint8Array> | null = null
  let gone = false
  let draining: Promise<void> | null = null
  let drained: () => void = () => undefined
  let left: () => void = () => undefined

  const leave = (): void => {
    gone = true
    drained()
    left()
  }
  const wait = (): Promise<void> =>
    new Promise((resolve) => {
      const stall = setTimeout(() => {
        stream?.error(new TypeError('the answer was not read'))
        leave()
      }, stallMs)
      drained = () => {
        clearTimeout(stall)
        draining = null
        resolve()
      }
    })
  return {
    response,
    gone: () => gone,
    whole({ status, headers }, body, { recorded }) {
      const all = pairs([...headers, ...gateHeaders(recorded)])
      give(new Response(NULL_BODY.has(status) ? null : Buffer.from(body), { status, headers: all }))
    },
    start({ status, headers }) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          stream = controller
        },
        pull: () => drained(),
        cancel: leave,
      })
      give(new Response(body, { status, headers: pairs(headers) }))
    },
    write(octets) {
      if (stream === null) return undefined
      stream.enqueue(octets)
      if ((stream.desiredSize ?? 1) > 0) return undefined
      // One read may bring many pieces: they all wait for the same reader.
      draining ??= wait()
      return draining
    },
    end(_head, last) {
      drained()
      if (last !== null) stream?.enqueue(last)
      stream?.close()
    },
    cut() {
      const error = new TypeError('the answer was cut short')
      drained()
      stream?.error(error)
      refuse(error)
    },
    whenLeft(tell) {
      left = tell
    },
    // A `Response` has its own copy.
    whenOut: (_size, tell) => tell(),
  }
}
