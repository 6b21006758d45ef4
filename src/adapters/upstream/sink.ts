import type { Header } from '../../core/call.js'
import type { BodyFraming } from './response-head.js'

/**
 * Where the response goes while it is observed. A sink that throws or rejects is taken to be gone: it
 * gets nothing more, and the observing goes on to the end (DESIGN §2.3).
 */
export type ResponseSink = {
  /** A promise stops the reading until it settles; what one read already brought is still delivered. */
  head(
    status: number,
    headers: readonly Header[],
    framing: BodyFraming['kind'],
  ): undefined | Promise<void>
  /** The octets stay valid; they are not reused. */
  data(chunk: Uint8Array): undefined | Promise<void>
  trailers(headers: readonly Header[]): void
  informational?(status: number, headers: readonly Header[]): void
  /** Aborts when the reader of an event stream has left: the one case in which the answer is cut. */
  readonly closedEventStream?: AbortSignal
}

/** The sink as the exchange uses it: never throws, and holds the reading back while the sink is busy. */
export function guarded(
  sink: ResponseSink,
  reading: { pause(): void; resume(): void },
): Pick<ResponseSink, 'trailers'> & {
  head(...args: Parameters<ResponseSink['head']>): void
  data(chunk: Uint8Array): void
  informational(status: number, headers: readonly Header[]): void
} {
  let gone = false
  let busy = 0
  const release = (): void => {
    if (--busy === 0) reading.resume()
  }
  const deliver = (act: () => undefined | void | Promise<void>): void => {
    if (gone) return
    try {
      const pending = act()
      if (pending === undefined) return
      if (busy++ === 0) reading.pause()
      pending.then(release, () => {
        gone = true
        release()
      })
    } catch {
      gone = true
    }
  }
  return {
    head: (status, headers, framing) => deliver(() => sink.head(status, headers, framing)),
    data: (chunk) => deliver(() => sink.data(chunk)),
    trailers: (headers) => deliver(() => sink.trailers(headers)),
    informational: (status, headers) => deliver(() => sink.informational?.(status, headers)),
  }
}
