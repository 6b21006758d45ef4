import { createServer, type Socket } from 'node:net'
import type { JudgedArg } from './readers/oracle.js'
import { headerOf, parseRequest, type RawRequest } from './readers/request.js'
import { type AppRoute, ORDERS, routeOf } from './readers/route.js'
import { toPlain } from './readers/tree.js'
import type { Reader } from './readers/view.js'

/** A server on a bare socket that reads requests as one framework does, and runs a route per rule. */
export type ReadingServer = {
  readonly origin: string
  readonly port: number
  readonly ran: Ran[]
  connections(): number
  close(): Promise<void>
}
/** One handler's call: what it was, and what it found. */
export type Ran = {
  /** Null: no route fits. */
  readonly tool: string | null
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly bags: Readonly<Record<string, unknown>>
  readonly headers: RawRequest['headers']
}
export type ServerRoute = AppRoute & { readonly args?: readonly JudgedArg[] }

export async function serveAs(
  reader: Reader,
  routes: readonly ServerRoute[],
): Promise<ReadingServer> {
  const sockets = new Set<Socket>()
  const ran: Ran[] = []
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let buffered = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk])
      for (;;) {
        const rest = serve(buffered, socket)
        if (rest === null) return
        buffered = rest
      }
    })
  })

  /** Runs the request at the front; what is left behind it, or null while it is not all there. */
  function serve(buffered: Buffer, socket: Socket): Buffer<ArrayBuffer> | null {
    const end = buffered.indexOf('\r\n\r\n')
    if (end === -1) return null
    const head = buffered.toString('latin1', 0, end)
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    const whole = end + 4 + length
    if (buffered.length < whole) return null
    const request = parseRequest(head, buffered.subarray(end + 4, whole))
    const seen = run(request)
    if (seen === null) socket.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
    else {
      ran.push(seen.ran)
      const told = JSON.stringify(seen.ran)
      const said = seen.ran.method === 'HEAD' ? '' : told
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(told)}\r\n\r\n${said}`,
      )
    }
    if (headerOf(request, 'connection') === 'close') socket.end()
    // A reader that names a further request did not read the body: it stays where it is.
    return Buffer.from(buffered.subarray(seen?.leavesBody === true ? end + 4 : whole))
  }

  function run(request: RawRequest): { ran: Ran; leavesBody: boolean } | null {
    const readsBody = (tool: string | undefined): boolean =>
      routes.find((route) => route.tool === tool)?.args?.some((arg) => arg.in === 'body') === true
    const first = reader.read(request, { readsBody: false })
    if (first === null) return null
    const routed = routeOf(first, reader.literal, ORDERS.literal_first(routes))
    const view = reader.read(request, { readsBody: readsBody(routed?.tool) })
    if (view === null) return null
    const bags = view.bags.map(({ name, values }) => [name, toPlain(values)])
    return {
      ran: {
        tool: routed?.tool ?? null,
        method: view.method,
        params: Object.fromEntries(routed?.params ?? []),
        bags: Object.fromEntries(bags),
        headers: request.headers,
      },
      leavesBody: view.next !== undefined,
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    ran,
    connections: () => accepted,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
