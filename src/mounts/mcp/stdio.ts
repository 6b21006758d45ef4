import type { Readable, Writable } from 'node:stream'
import { isBlank, Lines } from '../../core/mcp/lines.js'
import type { McpOptions, Sender } from './options.js'
import type { Session } from './session.js'

/** Of what the client has not taken yet: a server's own messages beyond it are dropped, answers never. */
const MOST_UNREAD = 16 * 1024 * 1024

/** A client at the other end of two pipes: each message is a line. */
export type Wire = {
  /** From now on lines go here; those that came before anybody took them come first. */
  take(line: (octets: Uint8Array) => void): void
  /** Nobody takes lines for now: they are kept for whoever does next, behind those that come back. */
  keep(back: readonly Uint8Array[]): void
  write(octets: Uint8Array): void
  /** The same, for what can be lost; false where it was. */
  offer(octets: Uint8Array): boolean
  /** Resolves when the client has closed its end. */
  readonly closed: Promise<void>
  /** Resolves when the client has taken everything, or never will. */
  flushed(): Promise<void>
}

export function openWire(input: Readable, output: Writable, messageBytes: number): Wire {
  let taker: ((octets: Uint8Array) => void) | null = null
  let gone = false
  const early: Uint8Array[] = []
  const give = (octets: Uint8Array): void => {
    if (taker === null) early.push(octets)
    else taker(octets)
  }
  const lines = new Lines(
    messageBytes,
    (octets) => {
      if (!isBlank(octets)) give(octets)
    },
    // Longer than any message may be: handed on as what it is, so that it is recorded.
    () => give(new Uint8Array(messageBytes + 1)),
  )
  const closed = new Promise<void>((resolve) => {
    input.on('data', (piece: Buffer) => lines.push(piece))
    for (const over of ['end', 'close', 'error']) input.once(over, () => resolve())
  })
  output.on('error', () => {
    gone = true
  })
  const write = (octets: Uint8Array): void => {
    if (!gone) output.write(Buffer.concat([octets, NEWLINE]))
  }
  return {
    take(line) {
      taker = line
      for (const octets of early.splice(0)) line(octets)
    },
    keep(back) {
      taker = null
      early.unshift(...back)
    },
    write,
    offer(octets) {
      if (output.writableLength > MOST_UNREAD) return false
      write(octets)
      return true
    },
    closed,
    flushed: () =>
      gone ? Promise.resolve() : new Promise((resolve) => void output.write('', () => resolve())),
  }
}

const NEWLINE = Buffer.from('\n')
/** Answers the lines of a wire out of a session; `idle` resolves when every one so far is answered. */
export function serveWire(
  wire: Pick<Wire, 'take' | 'write'>,
  session: Session,
  sender: Sender,
  { gate }: Pick<McpOptions, 'gate'>,
): { readonly idle: () => Promise<void> } {
  const underway = new Set<Promise<void>>()
  wire.take((octets) => {
    const handled = session
      .handle(octets, sender)
      .then((reply) => {
        if (reply !== null) wire.write(reply.octets)
      })
      .catch((error: unknown) =>
        gate.report({ level: 'error', event: 'exchange_failed', detail: String(error) }),
      )
      .finally(() => underway.delete(handled))
    underway.add(handled)
  })
  return {
    async idle() {
      while (underway.size > 0) await Promise.all(underway)
    },
  }
}
