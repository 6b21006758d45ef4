import { ReadStream } from 'node:fs'
import { ClientRequest, IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'

/**
 * Whose words a handler's answer is. A handler that ends a response of its own was observed doing so. One
 * that passes another server's answer on is a proxy the gate cannot see behind: http-proxy-middleware,
 * for one, ends a response cleanly when its upstream broke off. Such an answer is only claimed.
 */
export type Answers =
  /** Every answer behind this gate comes from elsewhere. */
  | 'relayed'
  /** Streams piped into responses are made by the application itself. */
  | 'own'

/**
 * Without a word from the developer, a response is taken as relayed when a stream other than a file is
 * piped into it. Whatever the developer says, it is when another message is piped into it, or when the
 * request is piped into an outgoing one. A handler that copies by hand cannot be told from one that
 * thinks: say `relayed` there.
 */
export function watchRelaying(
  req: IncomingMessage,
  res: ServerResponse,
  answers: Answers | undefined,
): { readonly isRelayed: () => boolean; stop(): void } {
  let relayed = answers === 'relayed'
  const onPipe = (source: Readable): void => {
    if (source === req) return
    const foreign = source instanceof IncomingMessage || source instanceof Socket
    if (foreign || (answers !== 'own' && !(source instanceof ReadStream))) relayed = true
  }
  const { pipe } = req
  const watched: typeof pipe = (to, options) => {
    if (to instanceof ClientRequest || to instanceof Socket) relayed = true
    return pipe.call(req, to, options) as typeof to
  }
  res.on('pipe', onPipe)
  req.pipe = watched
  return {
    isRelayed: () => relayed,
    stop() {
      res.off('pipe', onPipe)
      if (req.pipe === watched) Reflect.deleteProperty(req, 'pipe')
    },
  }
}
