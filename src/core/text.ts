/**
 * The one door to the platform's text codecs. Core compiles without DOM or Node types, so the two
 * globals that every JavaScript host has are named here structurally and nowhere else.
 */
type Host = {
  TextEncoder: new () => { encode(text: string): Uint8Array<ArrayBuffer> }
  TextDecoder: new (
    label: string,
    options: { fatal: boolean; ignoreBOM: boolean },
  ) => { decode(bytes: Uint8Array): string }
}

const host = globalThis as unknown as Host
const encoder = new host.TextEncoder()
const decoder = new host.TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text)

/** Strict UTF-8: null for anything ill-formed. A byte order mark stays U+FEFF, it is never dropped. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
