import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A plain HTTP server on this machine alone; closing it cuts whoever is still connected. */
export type Listening = { readonly port: number; close(): Promise<void> }

export async function listen(listener: RequestListener, port = 0): Promise<Listening> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
