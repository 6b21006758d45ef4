const DIGITS = [...'0123456789abcdef'].map((digit) => digit.charCodeAt(0))
const NOT_HEX = /[^0-9a-f]/
/** A call takes its characters as arguments, so only so many at once. */
const CHUNK = 1024

/** Built flat: a string grown by `+=` keeps a node per byte, a kilobyte for each digest remembered. */
export function hex(bytes: Uint8Array): string {
  let out = ''
  for (let from = 0; from < bytes.length; from += CHUNK) {
    const codes: number[] = []
    const to = Math.min(from + CHUNK, bytes.length)
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number
      codes.push(DIGITS[byte >> 4] as number, DIGITS[byte & 15] as number)
    }
    out += String.fromCharCode(...codes)
  }
  return out
}

const nibble = (code: number): number => (code < 0x3a ? code - 0x30 : code - 0x57)

/** Lowercase hex only, even length; null otherwise. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 2 !== 0 || NOT_HEX.test(text)) return null
  const out = new Uint8Array(text.length / 2)
  for (let i = 0; i < out.length; i++)
    out[i] = (nibble(text.charCodeAt(2 * i)) << 4) | nibble(text.charCodeAt(2 * i + 1))
  return out
}

/** The form every digest of the profile has: 64 lowercase hex digits. */
export const isHex64 = (value: unknown): value is string =>
  typeof value === 'string' && value.length === 64 && !NOT_HEX.test(value)
