import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Bytes that never became a request are counted and answered without a capsule (DESIGN §2.1). */
export function refuseBytes({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  const status = STATUS[code ?? ''] ?? 400
  const reason = STATUS_CODES[status] ?? ''
  socket.write(`HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  hangUp(socket)
}

/** What was written goes out first, and a peer that still sends has a moment to read it. */
export function hangUp(socket: Duplex): void {
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
}

const LINGER_MS = 1_000
const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}
