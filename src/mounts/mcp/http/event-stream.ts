import type { ServerResponse } from 'node:http'

const KEEP_ALIVE_MS = 15_000
/** A client that leaves so much unread is gone. */
const MOST_UNREAD = 16 * 1024 * 1024

export type EventStream = {
  /** One message as one event. */
  send(octets: Uint8Array): void
  end(): void
}

/** A response that carries messages as events; comments keep it open while nothing happens. */
export function openEventStream(
  res: ServerResponse,
  headers: Readonly<Record<string, string>> = {},
): EventStream {
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    ...headers,
  })
  res.flushHeaders()
  const timer = setInterval(() => res.write(':\n\n'), KEEP_ALIVE_MS)
  timer.unref()
  res.once('close', () => clearInterval(timer))
  return {
    send(octets) {
      if (res.destroyed || res.writableEnded) return
      res.write(BEGIN)
      res.write(octets)
      res.write(END)
      if (res.writableLength > MOST_UNREAD) res.destroy()
    },
    end() {
      clearInterval(timer)
      res.end()
    },
  }
}

const BEGIN = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')
