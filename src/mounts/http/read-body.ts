import type { IncomingMessage } from 'node:http'
import type { HttpCall } from '../../core/call/call.js'
import type { Malformed } from '../../core/call/malformed.js'
import type { BodyRoom } from '../../gate/memory.js'
import type { BodyLimits } from './limits.js'

export type Body = HttpCall['body']
export type BodyReading = {
  readonly body: Promise<Body>
  /** The parser gave up. False: this body was already whole, and what is wrong came behind it. */
  fail(fault: Malformed): boolean
}

const EMPTY: Body = { kind: 'read', bytes: new Uint8Array() }
const UNREAD: Body = { kind: 'unread' }
const NO_ROOM: Body = { kind: 'no_room' }

/** What the head alone says about the body; null when it has to be read, and its announced length has room. */
export function bodyFromHead(
  req: IncomingMessage,
  { maxBytes }: BodyLimits,
  room: BodyRoom,
): Body | null {
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers
  if (coding !== undefined) return null
  if (length === undefined || /^0+$/.test(length)) return EMPTY
  if (Number(length) > maxBytes) return { kind: 'too_large' }
  return room.take(Number(length)) ? null : NO_ROOM
}

/** A body that is left where it is: of an unknown caller nothing but the head is read. */
export const leftUnread = (req: IncomingMessage): Body =>
  req.headers['transfer-encoding'] === undefined && req.headers['content-length'] === undefined
    ? EMPTY
    : UNREAD

export const restOf = ({ kind }: Body): 'drained' | 'left' =>
  kind === 'unread' || kind === 'no_room' ? 'left' : 'drained'

/**
 * Whole, capped, and not slower than the limit: one slow client may not hold a place for ever. It is
 * there at its last octet; `end` waits until the parser has said so too and `req.complete` is true.
 * Called when `bodyFromHead` has said nothing.
 */
export function readBody(
  req: IncomingMessage,
  limits: BodyLimits,
  room: BodyRoom,
  until: 'last_octet' | 'end' = 'end',
): BodyReading {
  let stop = (): void => undefined
  let resolve: (body: Body) => void = () => undefined
  const body = new Promise<Body>((settled) => {
    resolve = settled
  })
  let settled = false
  const settle = (result: Body): void => {
    settled = true
    stop()
    resolve(result)
  }
  // Small bodies come in the read that brought the head, and the parser is still at it. Its next step
  // is the body: then all of it is here, and takes neither listeners nor a timer.
  process.nextTick(() => {
    if (settled) return
    if (hasArrived(req, until)) settle(arrived(req, limits, room))
    // Gone between the head and now: its 'close' may have been emitted already.
    else if (req.destroyed) settle({ kind: 'aborted' })
    else stop = readSlowly(req, limits, room, settle)
  })
  return {
    body,
    fail(fault) {
      if (req.complete) return false
      settle({ kind: 'malformed', fault })
      return true
    },
  }
}

function hasArrived(req: IncomingMessage, until: 'last_octet' | 'end'): boolean {
  if (req.destroyed) return false
  if (req.complete || until === 'end') return req.complete
  // What comes behind the announced length is another message.
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers
  return coding === undefined && req.readableLength === Number(length)
}

/** Without an announced length room is taken as the octets come. */
const hasRoom = (req: IncomingMessage, room: BodyRoom, octets: number): boolean =>
  req.headers['transfer-encoding'] === undefined || room.take(octets)

function arrived(req: IncomingMessage, { maxBytes }: BodyLimits, room: BodyRoom): Body {
  const bytes: Buffer | null = req.read()
  // So that 'end' is emitted when it comes: the connection waits for it.
  req.resume()
  if (bytes === null) return EMPTY
  if (bytes.length > maxBytes) return { kind: 'too_large' }
  return hasRoom(req, room, bytes.length) ? { kind: 'read', bytes } : NO_ROOM
}

/** Returns what ends the reading. */
function readSlowly(
  req: IncomingMessage,
  limits: BodyLimits,
  room: BodyRoom,
  settle: (body: Body) => void,
): () => void {
  const pieces: Buffer[] = []
  const started = performance.now()
  let length = 0
  const onData = (piece: Buffer): void => {
    length += piece.length
    if (length > limits.maxBytes) settle({ kind: 'too_large' })
    else if (!hasRoom(req, room, piece.length)) settle(NO_ROOM)
    else pieces.push(piece)
  }
  const onEnd = (): void => {
    const [only] = pieces
    const bytes = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, length)
    settle({ kind: 'read', bytes })
  }
  const onGone = (): void => settle({ kind: 'aborted' })
  const timer = setInterval(() => {
    const seconds = (performance.now() - started) / 1000
    if (length < seconds * limits.minBytesPerSecond) onGone()
  }, limits.graceMs)
  req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  return () => {
    clearInterval(timer)
    req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    req.on('error', () => {})
    req.pause()
  }
}
