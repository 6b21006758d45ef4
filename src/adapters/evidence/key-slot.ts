import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { MasterKey } from './master-key.js'

/**
 * One data key on disk, 128 bytes, so that no slot lies across two sectors:
 * state, three zero bytes, key id (slot number and 12 random bytes), scope tag, nonce, wrapped key,
 * GCM tag, zeros, CRC-32. An erased slot keeps its id alone: enough to tell `erased` from `missing`.
 */
export const SLOT_BYTES = 128
export const KEY_ID_BYTES = 16
const LIVE = 1
const ERASED = 2
const TAG_AT = 4 + KEY_ID_BYTES
const NONCE_AT = TAG_AT + 32
const WRAPPED_AT = NONCE_AT + 12
const GCM_TAG_AT = WRAPPED_AT + 32
const CRC_AT = SLOT_BYTES - 4

export type Slot =
  | { readonly state: 'live'; readonly id: Buffer; readonly tag: Buffer; readonly sealed: Buffer }
  | { readonly state: 'erased'; readonly id: Buffer }
  | { readonly state: 'damaged' }

function finish(slot: Buffer): Buffer {
  slot.writeUInt32BE(crc32(slot.subarray(0, CRC_AT)), CRC_AT)
  return slot
}

export function writeSlot(number: number, tag: Buffer, key: Buffer, master: MasterKey): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES)
  slot[0] = LIVE
  slot.writeUInt32BE(number, 4)
  randomBytes(KEY_ID_BYTES - 4).copy(slot, 8)
  tag.copy(slot, TAG_AT)
  const nonce = randomBytes(12)
  nonce.copy(slot, NONCE_AT)
  const cipher = createCipheriv('aes-256-gcm', master.wrap, nonce)
  // Bound to its id and scope: a wrapped key moved to another slot does not open.
  cipher.setAAD(slot.subarray(0, NONCE_AT))
  Buffer.concat([cipher.update(key), cipher.final()]).copy(slot, WRAPPED_AT)
  cipher.getAuthTag().copy(slot, GCM_TAG_AT)
  return finish(slot)
}

export function tombstone(id: Buffer): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES)
  slot[0] = ERASED
  id.copy(slot, 4)
  return finish(slot)
}

export function readSlot(slot: Buffer): Slot {
  if (slot.length !== SLOT_BYTES || crc32(slot.subarray(0, CRC_AT)) !== slot.readUInt32BE(CRC_AT)) {
    return { state: 'damaged' }
  }
  const id = slot.subarray(4, TAG_AT)
  if (slot[0] === ERASED) return { state: 'erased', id }
  if (slot[0] !== LIVE) return { state: 'damaged' }
  return { state: 'live', id, tag: slot.subarray(TAG_AT, NONCE_AT), sealed: slot }
}

/** Null when the wrapped key does not open under this master key. */
export function unwrap(sealed: Buffer, master: MasterKey): Buffer | null {
  const nonce = sealed.subarray(NONCE_AT, WRAPPED_AT)
  const decipher = createDecipheriv('aes-256-gcm', master.wrap, nonce)
  decipher.setAAD(sealed.subarray(0, NONCE_AT))
  decipher.setAuthTag(sealed.subarray(GCM_TAG_AT, GCM_TAG_AT + 16))
  try {
    return Buffer.concat([
      decipher.update(sealed.subarray(WRAPPED_AT, GCM_TAG_AT)),
      decipher.final(),
    ])
  } catch {
    return null
  }
}
