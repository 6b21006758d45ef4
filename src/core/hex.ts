const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const HEX64 = /^[0-9a-f]{64}$/

export function hex(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += HEX[byte]
  return out
}

/** Lowercase hex only, even length; null otherwise. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return null
  const out = new Uint8Array(text.length / 2)
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16)
  return out
}

/** The form every digest of the profile has: 64 lowercase hex digits. */
export const isHex64 = (value: unknown): value is string =>
  typeof value === 'string' && HEX64.test(value)
