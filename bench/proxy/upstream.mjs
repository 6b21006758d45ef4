import { createServer } from 'node:http'

/** A tool that answers 1 KB of JSON to anything. */
const body = Buffer.from(JSON.stringify({ ok: true, pad: 'x'.repeat(1000) }))
const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  req.resume()
  req.on('end', () =>
    res
      .writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
      .end(body),
  )
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))
process.on('disconnect', () => process.exit())
