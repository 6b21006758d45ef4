import { crc32 } from 'node:zlib'
import { encryptInto, NONCE, TAG } from '../aes-gcm.js'
import { KEY_ID_BYTES } from '../keys/slot.js'

/**
 * One record in a segment. The head is in clear, so that an erased record still differs from one that never was:
 * magic, head length, body length, SHA-256 of the action id, key id, the parts' digests, CRC-32. The body is
 * encrypted (AES-256-GCM, the head as associated data): nonce, ciphertext, tag, CRC-32. The checksums find torn
 * and damaged bytes without any key.
 */
export type Head = {
  readonly action: Buffer
  readonly keyId: Buffer
  readonly digests: readonly Buffer[]
}
const MAGIC = Buffer.from('CGE1')
export const FRAME_START = MAGIC.length + 4 + 4
const DIGEST = 32
const CRC = 4

export function encryptFrame(head: Head, key: Buffer, plain: Uint8Array): Buffer {
  const headLength = DIGEST + KEY_ID_BYTES + DIGEST * head.digests.length
  const bodyLength = NONCE + plain.length + TAG
  const frame = Buffer.allocUnsafe(FRAME_START + headLength + CRC + bodyLength + CRC)
  let at = MAGIC.copy(frame)
  at = frame.writeUInt32BE(headLength, at)
  at = frame.writeUInt32BE(bodyLength, at)
  for (const field of [head.action, head.keyId, ...head.digests]) at += field.copy(frame, at)
  const associated = frame.subarray(0, at)
  at = frame.writeUInt32BE(crc32(associated), at)
  const end = encryptInto(frame, at, key, associated, plain)
  frame.writeUInt32BE(crc32(frame.subarray(at, end)), end)
  return frame
}

/** A frame whose head is sound. */
export type ReadableFrame = {
  readonly state: 'whole' | 'body_damaged'
  readonly head: Head
  readonly length: number
  readonly associated: Buffer
  readonly body: Buffer
}
/** `short`: the bytes end before the frame does. */
export type Frame = ReadableFrame | { readonly state: 'short' | 'no_frame' }

/** The length of the frame that begins with these bytes; null when none does. */
export function frameLength(start: Buffer): number | null {
  if (start.length < FRAME_START || !start.subarray(0, MAGIC.length).equals(MAGIC)) return null
  return FRAME_START + start.readUInt32BE(4) + CRC + start.readUInt32BE(8) + CRC
}

export function readFrame(bytes: Buffer): Frame {
  if (bytes.length < FRAME_START) {
    const isStart = MAGIC.subarray(0, bytes.length).equals(bytes.subarray(0, MAGIC.length))
    return { state: isStart ? 'short' : 'no_frame' }
  }
  const length = frameLength(bytes)
  if (length === null) return { state: 'no_frame' }
  const headLength = bytes.readUInt32BE(4)
  const bodyAt = FRAME_START + headLength + CRC
  const listed = headLength - DIGEST - KEY_ID_BYTES
  if (listed < 0 || listed % DIGEST !== 0) return { state: 'no_frame' }
  if (bytes.length < bodyAt) return { state: 'short' }
  const associated = bytes.subarray(0, FRAME_START + headLength)
  if (crc32(associated) !== bytes.readUInt32BE(FRAME_START + headLength))
    return { state: 'no_frame' }
  if (bytes.length < length) return { state: 'short' }
  const fields = associated.subarray(FRAME_START)
  const body = bytes.subarray(bodyAt, length - CRC)
  const isWhole = body.length >= NONCE + TAG && crc32(body) === bytes.readUInt32BE(length - CRC)
  return {
    state: isWhole ? 'whole' : 'body_damaged',
    head: {
      action: fields.subarray(0, DIGEST),
      keyId: fields.subarray(DIGEST, DIGEST + KEY_ID_BYTES),
      digests: Array.from({ length: listed / DIGEST }, (_, i) => {
        const from = DIGEST + KEY_ID_BYTES + i * DIGEST
        return fields.subarray(from, from + DIGEST)
      }),
    },
    length,
    associated,
    body,
  }
}

/** `isDamaged`: the head is sound, the body is not. */
type Scanned = { readonly offset: number; readonly head: Head; readonly isDamaged: boolean }
/**
 * Reads a whole segment. Damage before a later good record is damage; what follows the last good record, at `end`,
 * was never acknowledged and is a torn tail.
 */
export function scanSegment(bytes: Buffer) {
  const records: Scanned[] = []
  const damage: { offset: number; bytes: number }[] = []
  /** Damaged records: part of a torn tail unless a good one follows. */
  let doubtful: Scanned[] = []
  let end = 0
  let at = 0
  while (at < bytes.length) {
    const frame = readFrame(bytes.subarray(at))
    if (frame.state === 'whole') {
      if (at > end) damage.push({ offset: end, bytes: at - end })
      records.push(...doubtful, { offset: at, head: frame.head, isDamaged: false })
      doubtful = []
      at += frame.length
      end = at
    } else if (frame.state === 'body_damaged') {
      doubtful.push({ offset: at, head: frame.head, isDamaged: true })
      // Not past the body: its length may be what is damaged.
      at = nextMagic(bytes, at + 1)
    } else at = nextMagic(bytes, at + 1)
  }
  return { records, end, damage }
}

function nextMagic(bytes: Buffer, from: number): number {
  const found = bytes.indexOf(MAGIC, from)
  return found === -1 ? bytes.length : found
}
