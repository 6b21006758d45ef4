import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { decrypt, encryptInto, NONCE, TAG } from '../aes-gcm.js'
import type { MasterKey } from './master-key.js'

/**
 * One data key on disk, 128 bytes, so that no slot lies across two sectors:
 * state, three zero bytes, key id (slot number and 12 random bytes), scope tag, nonce, wrapped key,
 * GCM tag, zeros, CRC-32. An erased slot keeps its id alone, so that `erased` differs from `missing`.
 */
export const SLOT_BYTES = 128
export const KEY_ID_BYTES = 16
const LIVE = 1
const ERASED = 2
const TAG_AT = 4 + KEY_ID_BYTES
const NONCE_AT = TAG_AT + 32
const WRAPPED_END = NONCE_AT + NONCE + 32 + TAG
const CRC_AT = SLOT_BYTES - 4

export type Slot =
  | { readonly state: 'live'; readonly id: Buffer; readonly tag: Buffer; readonly bytes: Buffer }
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
  // Bound to its id and scope: a wrapped key moved to another slot cannot be unwrapped.
  encryptInto(slot, NONCE_AT, master.wrap, slot.subarray(0, NONCE_AT), key)
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
  return { state: 'live', id, tag: slot.subarray(TAG_AT, NONCE_AT), bytes: slot }
}

/** Null when the key was wrapped under another master key. */
export const unwrap = (slot: Buffer, master: MasterKey): Buffer | null =>
  decrypt(slot.subarray(NONCE_AT, WRAPPED_END), master.wrap, slot.subarray(0, NONCE_AT))
