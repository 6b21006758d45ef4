import { request } from 'node:http'
import { type Listening, listen } from '../../listen.js'

/**
 * An address that passes everything on to another and adds headers, for a client that cannot send them. A host other
 * than its own is passed on as it is: whether it is refused is the server's decision.
 */
export async function frontOf(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Listening & { readonly url: string }> {
  const target = new URL(url)
  const front: Listening = await listen((req, res) => {
    const isOwn = req.headers.host?.endsWith(`:${front.port}`) === true
    const onward = request(
      target,
      {
        method: req.method,
        headers: {
          ...req.headers,
          ...(isOwn ? { host: target.host } : {}),
          ...(isOwn && req.headers.origin !== undefined ? { origin: target.origin } : {}),
          ...headers,
        },
      },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        res.flushHeaders()
        answer.pipe(res)
        answer.once('error', () => res.destroy())
      },
    )
    onward.once('error', () => res.destroy())
    res.once('close', () => onward.destroy())
    req.pipe(onward)
  })
  return { ...front, url: `http://127.0.0.1:${front.port}${target.pathname}` }
}
