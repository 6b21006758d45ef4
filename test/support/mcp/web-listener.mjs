/** Serves a fetch-style handler on a free port of this machine; the request ends for it when the client goes away. */
import { createServer } from 'node:http'
import { Readable } from 'node:stream'

export async function listenFor(handle) {
  const server = createServer((req, res) => {
    void answer(handle, req, res).catch((error) => {
      process.stderr.write(`${error.stack}\n`)
      res.destroy()
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

async function answer(handle, req, res) {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD'
  const request = new Request(`http://${req.headers.host}${req.url}`, {
    method: req.method,
    headers: Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
    signal: gone.signal,
    ...(hasBody ? { body: Readable.toWeb(req), duplex: 'half' } : {}),
  })
  const response = await handle(request)
  res.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) return void res.end()
  res.flushHeaders()
  for await (const piece of response.body) res.write(piece)
  res.end()
}
