import { connect, type Socket } from 'node:net'
import { Lines } from '../../core/mcp/lines.js'
import { errorOctets, type RequestId, readMessage } from '../../core/mcp/message.js'
import type { Wire } from '../../mounts/mcp/stdio.js'
import { controlFrame, messageFrame, readFrame } from './frames.js'
import { socketPath, type Wrapping } from './owner.js'

/** What the client has said at its beginning, for another instance to hear. */
export type Opening = { readonly lines: Uint8Array[]; readonly unheard: Set<string> }

export type Followed =
  | { readonly kind: 'ended'; readonly code: number }
  /** The other instance is gone; the session can go on with another. */
  | { readonly kind: 'lost' }

/** Null: no instance listens there. */
export const reachOwner = (dataDir: string): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect(socketPath(dataDir))
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(null))
  })

const LOST =
  'The gate was interrupted while this request was under way: what became of it is unknown. Check before you send it again.'

/** This instance's client, served by the instance that holds the folder. */
export async function follow(
  socket: Socket,
  wrapping: Wrapping,
  wire: Wire,
  opening: Opening,
  stop: AbortSignal,
): Promise<Followed> {
  const open = new Map<string, RequestId>()
  let ended: Followed | null = null
  const lines = new Lines(Number.MAX_SAFE_INTEGER, (octets) => {
    const frame = readFrame(octets)
    if (frame?.kind === 'message') answer(frame.octets)
    else if (frame?.control.say === 'stderr') {
      process.stderr.write(Buffer.from(frame.control.base64, 'base64'))
    } else if (frame?.control.say === 'ended' && !frame.control.moved) {
      ended = { kind: 'ended', code: frame.control.code }
    }
  })
  socket.write(controlFrame({ say: 'hello', ...wrapping }))
  for (const octets of opening.lines) socket.write(messageFrame(octets))
  const done = new Promise<Followed>((resolve) => {
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => lines.push(piece))
    socket.once('close', () => resolve(ended ?? { kind: 'lost' }))
  })
  const answer = (octets: Uint8Array): void => {
    const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
    if (read.ok && read.message.kind === 'response') {
      open.delete(read.message.id.key)
      if (opening.unheard.delete(read.message.id.key)) return
    }
    wire.write(octets)
  }
  wire.take((octets) => {
    note(octets, opening, open)
    socket.write(messageFrame(octets))
  })
  wire.closed
    .then(() => {
      if (!socket.destroyed) socket.write(controlFrame({ say: 'done' }))
    })
    .catch(() => undefined)
  stop.addEventListener('abort', () => {
    if (!socket.destroyed) socket.write(controlFrame({ say: 'signal', signal: stop.reason }))
  })
  const result = await done
  if (result.kind === 'lost') {
    const error = JSON.stringify({ code: -32603, message: LOST })
    for (const id of open.values()) wire.write(errorOctets(id, error))
  }
  return result
}

/** Keeps what a session begins with, and which requests are not answered yet. */
function note(octets: Uint8Array, opening: Opening, open: Map<string, RequestId>): void {
  const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
  if (!read.ok || read.message.kind === 'response') return
  const { message } = read
  if (message.kind === 'request') open.set(message.id.key, message.id)
  if (message.method === 'initialize' || message.method === 'notifications/initialized') {
    opening.lines.push(octets)
  }
}
