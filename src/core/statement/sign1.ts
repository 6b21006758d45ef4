import { type Cbor, type CborMap, CborTag, decodeCbor } from '../bytes/cbor.js'
import { CborWriter, encodeCbor } from '../bytes/cbor-encode.js'
import { utf8 } from '../bytes/text.js'

/** COSE_Sign1 (RFC 9052 §4.2) as statements carry it: tagged, payload attached. */
export type Sign1 = {
  /** As received: the signature covers these bytes, they are never encoded again. */
  readonly protectedBytes: Uint8Array
  readonly protected: CborMap
  /** Not protected by the signature: nothing here steers verification. */
  readonly unprotected: CborMap
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}
export type Sign1Read =
  | { readonly ok: true; readonly sign1: Sign1 }
  | { readonly ok: false; readonly detail: string }

const TAG_18 = 0xd2
const CWT_CLAIMS = 15
const CONTEXT = utf8('Signature1')
const refuse = (detail: string): Sign1Read => ({ ok: false, detail })

export function decodeSign1(bytes: Uint8Array): Sign1Read {
  if (bytes.length === 0) return refuse('empty input')
  if (bytes[0] !== TAG_18) return refuse('not a tagged COSE_Sign1 (CBOR tag 18)')
  const read = decodeCbor(bytes.subarray(1))
  if (!read.ok) return refuse(`CBOR ${read.code} at byte ${read.at + 1}`)
  if (!Array.isArray(read.value) || read.value.length !== 4) return refuse('not an array of four')
  const [protectedBytes, unprotected, payload, signature] = read.value as readonly Cbor[]
  if (!(protectedBytes instanceof Uint8Array)) return refuse('protected header is no byte string')
  if (!(unprotected instanceof Map)) return refuse('unprotected header is no map')
  if (payload === null) return refuse('detached payload')
  if (!(payload instanceof Uint8Array)) return refuse('payload is no byte string')
  if (!(signature instanceof Uint8Array)) return refuse('signature is no byte string')
  const header = protectedMap(protectedBytes)
  if (typeof header === 'string') return refuse(header)
  for (const label of unprotected.keys()) {
    // RFC 9052 §3: a label in both buckets has two values, and readers would differ on which holds.
    if (header.has(label)) return refuse(`label ${label} is protected and unprotected`)
  }
  return { ok: true, sign1: { protectedBytes, protected: header, unprotected, payload, signature } }
}

/** The map, or why there is none. */
function protectedMap(bytes: Uint8Array): CborMap | string {
  if (bytes.length === 0) return new Map()
  const read = decodeCbor(bytes, { epochTag: true })
  if (!read.ok) return `protected header: CBOR ${read.code} at byte ${read.at}`
  if (!(read.value instanceof Map)) return 'protected header is no map'
  for (const [label, value] of read.value as CborMap) {
    if (label !== CWT_CLAIMS && holdsTag(value)) return `protected header: tag in label ${label}`
  }
  return read.value
}

function holdsTag(value: Cbor): boolean {
  if (value instanceof CborTag) return true
  if (Array.isArray(value)) return value.some(holdsTag)
  return value instanceof Map && [...value.values()].some(holdsTag)
}

export function encodeSign1(sign1: Omit<Sign1, 'protected'>): Uint8Array<ArrayBuffer> {
  const out = new CborWriter()
  out.head(6, 18)
  out.head(4, 4)
  out.byteString(sign1.protectedBytes)
  out.raw(encodeCbor(sign1.unprotected))
  out.byteString(sign1.payload)
  out.byteString(sign1.signature)
  return out.bytes()
}

const NOTHING_UNPROTECTED: CborMap = new Map()

/** 18([protected, {}, payload, signature]), bit-exact from a journal line (DESIGN §5). */
export const toCose = (
  payload: Uint8Array,
  protectedBytes: Uint8Array,
  signature: Uint8Array,
): Uint8Array<ArrayBuffer> =>
  encodeSign1({ protectedBytes, unprotected: NOTHING_UNPROTECTED, payload, signature })

/** RFC 9052 §4.4 with empty external_aad: what is signed. */
export function sigStructure(
  protectedBytes: Uint8Array,
  payload: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const start = new CborWriter(512)
  start.head(4, 4)
  start.head(3, CONTEXT.length)
  start.raw(CONTEXT)
  start.byteString(protectedBytes)
  start.head(2, 0)
  start.head(2, payload.length)
  const before = start.bytes()
  // The payload is nearly all of it, so it is copied once, to its place.
  const out = new Uint8Array(before.length + payload.length)
  out.set(before)
  out.set(payload, before.length)
  return out
}
