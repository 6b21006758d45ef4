import type { Readable } from 'node:stream'
import { createBudget } from './budget.js'

/** So much at once, and so much a second: a flood takes neither the gate's memory nor a processor. */
const BURST_BYTES = 256 * 1024
const BYTES_PER_SECOND = 64 * 1024
const PAUSE_MS = 10

/**
 * What is above the limit is read and dropped, so that the process is never held up for good; between the reads it
 * waits a moment, or the dropping alone would keep a processor busy.
 */
export function limitStderr(stream: Readable, sink: (chunk: Uint8Array) => void): void {
  const budget = createBudget(BURST_BYTES, BYTES_PER_SECOND)
  let dropped = 0
  const tell = (): void => {
    if (dropped > 0) sink(Buffer.from(`\n… ${dropped} bytes of stderr dropped\n`))
    dropped = 0
  }
  stream.on('data', (chunk: Buffer) => {
    if (budget.take(chunk.length)) {
      tell()
      sink(chunk)
      return
    }
    dropped += chunk.length
    stream.pause()
    setTimeout(() => stream.resume(), PAUSE_MS)
  })
  stream.on('error', () => {})
  stream.on('close', tell)
}
