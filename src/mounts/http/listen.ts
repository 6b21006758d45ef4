import type { AddressInfo, Server } from 'node:net'
import { GateError } from '../../core/error.js'

/** Opens one listener of gate.yaml; the error of one that cannot open names it. */
export function listen(
  server: Server,
  name: 'data' | 'admin' | 'metrics',
  port: number,
  host: string,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const why = WHY[cause.code ?? ''] ?? cause.message
      const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
      const detail = `the ${name} listener cannot open ${address}: ${why}`
      reject(new GateError('listener_unavailable', detail, undefined, cause))
    }
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve(server.address() as AddressInfo)
    })
  })
}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there (EADDRINUSE)',
  EADDRNOTAVAIL: 'this machine has no such address (EADDRNOTAVAIL)',
  EACCES: 'this user may not listen there (EACCES)',
}
