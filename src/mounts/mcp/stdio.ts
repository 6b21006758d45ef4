import type { Readable, Writable } from 'node:stream'
import { splitLines } from '../../core/mcp/lines.js'
import type { ClientEnd, McpOptions, Sender } from './options.js'
import type { Session } from './session.js'

/** Of what the client has not taken yet: notifications beyond it are dropped, answers never. */
const MOST_UNREAD = 16 * 1024 * 1024

export type StdioClient = {
  /** Resolves when the client has closed its end, and every request before that is answered. */
  readonly done: Promise<void>
}

/** A client at the other end of two pipes: each message is a line. */
export function serveStdio(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  open: (client: ClientEnd) => Session,
  sender: Sender,
  { gate, messageBytes }: Pick<McpOptions, 'gate' | 'messageBytes'>,
): StdioClient & { readonly session: Session } {
  let gone = false
  const write = (octets: Uint8Array): void => {
    if (gone) return
    output.write(Buffer.concat([octets, NEWLINE]))
  }
  const session = open({
    send(octets) {
      if (output.writableLength > MOST_UNREAD) {
        const detail = 'the client does not read; a message of the server to it was dropped'
        gate.report({ level: 'warn', event: 'message_dropped', detail })
      } else write(octets)
    },
  })
  const underway = new Set<Promise<void>>()
  const take = (octets: Uint8Array): void => {
    const handled = session
      .handle(octets, sender)
      .then((reply) => {
        if (reply !== null) write(reply.octets)
      })
      .catch((error: unknown) =>
        gate.report({ level: 'error', event: 'exchange_failed', detail: String(error) }),
      )
      .finally(() => underway.delete(handled))
    underway.add(handled)
  }
  const lines = splitLines(messageBytes)
  const done = new Promise<void>((resolve) => {
    const end = (): void => {
      resolve(Promise.all(underway).then(() => undefined))
    }
    input.on('data', (piece: Buffer) => {
      for (const line of lines.push(piece)) {
        // Longer than any message may be: handed on as what it is, so that it is recorded.
        if (line.kind === 'too_long') take(new Uint8Array(messageBytes + 1))
        else if (!isBlank(line.octets)) take(line.octets)
      }
    })
    input.once('end', end)
    input.once('close', end)
    input.once('error', end)
    output.on('error', () => {
      gone = true
    })
  })
  return { session, done }
}

const NEWLINE = Buffer.from('\n')
const isBlank = (octets: Uint8Array): boolean =>
  octets.every((octet) => octet === 0x20 || octet === 0x09 || octet === 0x0d)
