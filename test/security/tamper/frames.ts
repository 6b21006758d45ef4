import { EVIDENCE, type Files } from './folder.js'

/** Where records stand in the evidence store, read by the form of its files and not by the store's own code. */
export const EVIDENCE_KEYS = `${EVIDENCE}/keys`
export const SLOT_BYTES = 128
const MAGIC = 'CGE1'
const [FIXED, CRC, DIGEST, KEY_ID] = [12, 4, 32, 16] as const

export type FrameAt = {
  readonly offset: number
  readonly length: number
  readonly keyId: Buffer
  readonly digests: readonly string[]
}

export const segmentPaths = (files: Files): readonly string[] =>
  [...files.keys()].filter((path) => /\/segments\/\d{10}\.seg$/.test(path)).sort()

/** The records of an honest segment, one behind the other. */
export function frames(bytes: Buffer): readonly FrameAt[] {
  const found: FrameAt[] = []
  for (let at = bytes.indexOf(MAGIC); at >= 0 && at + FIXED <= bytes.length; ) {
    const head = bytes.readUInt32BE(at + 4)
    const length = FIXED + head + CRC + bytes.readUInt32BE(at + 8) + CRC
    const listed = (head - DIGEST - KEY_ID) / DIGEST
    if (Number.isInteger(listed) && listed >= 0 && at + length <= bytes.length) {
      const fields = at + FIXED + DIGEST
      const digests = Array.from({ length: listed }, (_, index) => {
        const from = fields + KEY_ID + index * DIGEST
        return bytes.toString('hex', from, from + DIGEST)
      })
      found.push({ offset: at, length, keyId: bytes.subarray(fields, fields + KEY_ID), digests })
      at = bytes.indexOf(MAGIC, at + length)
    } else {
      at = bytes.indexOf(MAGIC, at + 1)
    }
  }
  return found
}

/** The slot of that key. */
export const slotOf = (keys: Buffer, keyId: Buffer): Buffer => {
  const at = keyId.readUInt32BE(0) * SLOT_BYTES
  return keys.subarray(at, at + SLOT_BYTES)
}
