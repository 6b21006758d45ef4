import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GateError } from '../../core/error.js'

export const ORDERS = {
  known: 'o-1001',
  /** The tool has never heard of it. */
  unknown: 'o-4040',
  /** The tool takes the refund and says nothing. */
  slow: 'o-5040',
  /** The tool answers half a sentence and hangs up. */
  cut: 'o-5020',
} as const

/**
 * A payments API that does what real ones do: it answers, refuses, is late and breaks off. It takes the
 * gate's credential only: an agent's token is worth nothing here.
 */
export async function startTool(preferredPort: number, credential: string) {
  const server = createServer((req, res) => {
    respond(req, res, credential).catch(() => res.destroy())
  })
  const { port } = await listenNear(preferredPort, async (wanted) => {
    await once(server.listen(wanted, '127.0.0.1'), 'listening')
    return server.address() as AddressInfo
  })
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { origin: `http://127.0.0.1:${port}`, close }
}

/** The usual port, or a free one when it is taken. */
export async function listenNear(
  preferred: number,
  bind: (port: number) => Promise<AddressInfo>,
): Promise<AddressInfo> {
  try {
    return await bind(preferred)
  } catch (error) {
    const { code } = (error instanceof GateError ? error.cause : error) as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error
    return bind(0)
  }
}

async function respond(
  req: IncomingMessage,
  res: ServerResponse,
  credential: string,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  if (req.headers.authorization !== credential) return send(res, 401, { error: 'not the gate' })
  if (req.method !== 'POST' || req.url !== '/v1/refunds')
    return send(res, 404, { error: 'no page' })
  const { order } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { order?: string }
  switch (order) {
    case ORDERS.known:
      return send(res, 201, { id: 're_1', order, status: 'succeeded' })
    case ORDERS.slow:
      return
    case ORDERS.cut:
      res.writeHead(201, { 'content-type': 'application/json', 'content-length': 64 })
      res.write('{"id":"re_2","status":"succ', () => res.destroy())
      return
    default:
      return send(res, 404, { error: 'no such order' })
  }
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}
