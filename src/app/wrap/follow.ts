import { connect, type Socket } from 'node:net'
import { Lines } from '../../core/mcp/lines.js'
import { errorOctets, type RequestId, readMessage } from '../../core/mcp/message.js'
import type { Wire } from '../../mounts/mcp/stdio.js'
import { GRACE_MS, type Wrapping } from './command.js'
import { type Control, controlFrame, messageFrame, readFrame } from './frames.js'
import { socketPath } from './owner.js'
import type { WrapOptions } from './run.js'

/** What the client has said at its beginning, for another instance to hear. */
export type Opening = {
  readonly lines: Uint8Array[]
  /** Requests among them whose next answer the client has had before. */
  readonly unheard: Set<string>
}

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
  { stop, stderr }: Pick<WrapOptions, 'stop' | 'stderr'>,
): Promise<Followed> {
  const open = new Map<string, RequestId>()
  /** What goes to the next instance: here it was not begun. */
  const kept: Uint8Array[] = []
  let state: 'unheard' | 'welcome' | 'moving' = 'unheard'
  let ended: Followed | null = null

  /** It is said again to the next instance in any case. */
  const isOpening = ({ key }: RequestId): boolean => {
    const [first] = opening.lines
    return first !== undefined && requestIdIn(first)?.key === key
  }
  const send = (octets: Uint8Array): void => {
    const id = requestIdIn(octets)
    if (id !== null && state === 'moving' && !isOpening(id)) {
      kept.push(octets)
      return
    }
    if (id !== null) open.set(id.key, id)
    if (id !== null && state === 'moving') return
    socket.write(messageFrame(octets))
  }
  const hear = (control: Control): void => {
    switch (control.say) {
      case 'welcome':
        state = 'welcome'
        for (const octets of opening.lines) send(octets)
        wire.take((octets) => {
          noteOpening(octets, opening)
          send(octets)
        })
        whenClosed()
        return
      case 'moving':
        state = 'moving'
        socket.write(controlFrame({ say: 'still' }))
        return
      case 'back': {
        const octets = Buffer.from(control.base64, 'base64')
        const id = requestIdIn(octets)
        if (id === null || isOpening(id)) return
        open.delete(id.key)
        kept.push(octets)
        return
      }
      case 'stderr':
        stderr(Buffer.from(control.base64, 'base64'))
        return
      case 'ended':
        if (!control.moved) ended = { kind: 'ended', code: control.code }
        return
      default:
        socket.destroy()
    }
  }
  const whenClosed = (): void => {
    wire.closed
      .then(() => {
        if (!socket.destroyed) socket.write(controlFrame({ say: 'done' }))
      })
      .catch(() => undefined)
  }
  const answer = (octets: Uint8Array): void => {
    const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
    if (read.ok && read.message.kind === 'response') {
      open.delete(read.message.id.key)
      if (opening.unheard.delete(read.message.id.key)) return
    }
    wire.write(octets)
  }
  const lines = new Lines(Number.MAX_SAFE_INTEGER, (octets) => {
    const frame = readFrame(octets)
    if (frame?.kind === 'message') answer(frame.octets)
    else if (frame !== null) hear(frame.control)
  })
  const done = new Promise<Followed>((resolve) => {
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => lines.push(piece))
    socket.once('close', () => resolve(ended ?? { kind: 'lost' }))
  })
  socket.write(controlFrame({ say: 'hello', ...wrapping }))
  const onStop = (): void => {
    if (!socket.destroyed) socket.write(controlFrame({ say: 'signal', signal: stop.reason }))
    // The other instance ends the command; one that does not is not waited for.
    setTimeout(() => socket.destroy(), 2 * GRACE_MS)
  }
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop, { once: true })
  const result = await done
  stop.removeEventListener('abort', onStop)
  wire.keep(kept)
  if (result.kind === 'lost' && state !== 'unheard') leftOpen(open, opening, wire)
  return result
}

/** What the session began with is said again to the next instance; of all else nobody knows what became. */
function leftOpen(open: Map<string, RequestId>, { lines, unheard }: Opening, wire: Wire): void {
  for (const octets of lines) {
    const read = readMessage(octets, octets.length)
    if (!read.ok || read.message.kind !== 'request') continue
    if (!open.delete(read.message.id.key)) unheard.add(read.message.id.key)
  }
  const error = JSON.stringify({ code: -32603, message: LOST })
  for (const id of open.values()) wire.write(errorOctets(id, error))
}

/** The handshake, in its order; clients of the modern era have none. */
const OPENING = ['initialize', 'notifications/initialized']

/** Keeps what a session begins with. */
function noteOpening(octets: Uint8Array, { lines }: Opening): void {
  const wanted = OPENING[lines.length]
  if (wanted === undefined) return
  const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
  if (read.ok && read.message.kind !== 'response' && read.message.method === wanted) {
    lines.push(octets)
  }
}

function requestIdIn(octets: Uint8Array): RequestId | null {
  const read = readMessage(octets, Number.MAX_SAFE_INTEGER)
  return read.ok && read.message.kind === 'request' ? read.message.id : null
}
