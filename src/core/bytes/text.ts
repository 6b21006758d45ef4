/**
 * The only access to the platform's text codecs. Core compiles without DOM or Node types, so the two
 * globals that every JavaScript host has are named here structurally and nowhere else.
 */
declare const TextEncoder: new () => { encode(text: string): Uint8Array<ArrayBuffer> }
declare const TextDecoder: new (
  label: string,
  options: { fatal: boolean; ignoreBOM: boolean },
) => { decode(bytes: Uint8Array): string }

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/** Strict UTF-8: null for anything ill-formed. A byte order mark stays U+FEFF, it is never dropped. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
