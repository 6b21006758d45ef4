const DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
const HEX64 = /^[0-9a-f]{64}$/
/** A call takes its characters as arguments, so only so many at once. */
const CHUNK = 1024

/** Built flat: a string grown by `+=` keeps a node per byte, a kilobyte for each digest remembered. */
export function hex(bytes: Uint8Array): string {
  let out = ''
  // In pieces: one call makes one flat string, and its arguments stay few.
  for (let from = 0; from < bytes.length; from += 64) {
    const to = Math.min(from + 64, bytes.length)
    const codes: number[] = []
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      codes.push(DIGITS[byte >> 4] as number, DIGITS[byte & 15] as number)
    }
    out += String.fromCharCode(...codes)
  }
  return out
}

/** Lowercase hex only, even length; null otherwise. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 2 !== 0) return null
  const out = new Uint8Array(text.length / 2)
  for (let i = 0; i < out.length; i++) {
    const value = (digit(text, 2 * i) << 4) | digit(text, 2 * i + 1)
    if (value < 0) return null
    out[i] = value
  }
  return out
}

function digit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 128 ? (VALUE[code] as number) : -1
}

/** The form every digest of the profile has: 64 lowercase hex digits. */
export const isHex64 = (value: unknown): value is string =>
  typeof value === 'string' && HEX64.test(value)
