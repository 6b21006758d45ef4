const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const VALUE = new Int8Array(128).fill(-1)
for (let i = 0; i < 64; i++) VALUE[ALPHABET.charCodeAt(i)] = i

/** RFC 4648 §5 without padding. */
export function base64url(bytes: Uint8Array): string {
  let out = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const a = bytes[i] as number
    const b = bytes[i + 1]
    const c = bytes[i + 2]
    out += ALPHABET.charAt(a >> 2) + ALPHABET.charAt(((a & 3) << 4) | ((b ?? 0) >> 4))
    if (b === undefined) break
    out += ALPHABET.charAt(((b & 15) << 2) | ((c ?? 0) >> 6))
    if (c === undefined) break
    out += ALPHABET.charAt(c & 63)
  }
  return out
}

/** Strict: no padding, no other characters, no set bits beyond the last byte. Null otherwise. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  const rest = text.length % 4
  if (rest === 1) return null
  const out = new Uint8Array(Math.floor((text.length * 3) / 4))
  let bits = 0
  let held = 0
  let at = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const value = code < 128 ? (VALUE[code] as number) : -1
    if (value < 0) return null
    held = (held << 6) | value
    bits += 6
    if (bits >= 8) {
      bits -= 8
      out[at++] = (held >> bits) & 255
    }
    held &= (1 << bits) - 1
  }
  return held === 0 ? out : null
}
