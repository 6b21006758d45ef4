import type { IncomingMessage } from 'node:http'
import { AdminProblem } from './problem.js'

/** A small body, whole and exact: what is signed is bytes, not a parsed value. */
export async function readLimited(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw new AdminProblem('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
