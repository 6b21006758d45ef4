import type { Cbor, CborKey } from '../bytes/cbor.js'
import { encodeCbor } from '../bytes/cbor-encode.js'
import { fromHex } from '../bytes/hex.js'
import type { Hashing } from '../crypto/crypto.js'
import { isEd25519Key, isP256Key } from '../crypto/public-key.js'
import { type ParseFailure, parse } from '../json/parse.js'
import { isArray, isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'
import { memo } from '../memo.js'

/** A key a verifier has pinned. The record, never the message, says what the key may verify. */
export type PublicKeyRecord = {
  /** Hex of the opaque bytes; ours are RFC 9679 thumbprints. */
  readonly kid: string
  /** COSE algorithm: −8 or −19 with Ed25519, −7 or −9 with P-256. */
  readonly alg: number
  /** Hex: 32 bytes for Ed25519, the 65-byte uncompressed point for P-256. */
  readonly public_key: string
  readonly purpose: KeyPurpose
  readonly status: 'active' | 'retired'
  readonly epoch?: number
  /** When present, `iss` must be one of these. */
  readonly issuers?: readonly string[]
  readonly valid_from?: string
  readonly valid_to?: string
}
export type KeyPurpose = (typeof PURPOSES)[number]
const PURPOSES = ['statement', 'event', 'webhook', 'log', 'cps'] as const

/** One family per curve: the two numbers of a family name the same algorithm (RFC 9864). */
export type KeyFamily = 'ed25519' | 'p256'
export function familyOf(alg: unknown): KeyFamily | null {
  if (alg === -8 || alg === -19) return 'ed25519'
  if (alg === -7 || alg === -9) return 'p256'
  return null
}

/** RFC 9679: SHA-256 of the key's required COSE_Key members, deterministically encoded. */
export function thumbprint(family: KeyFamily, publicKey: Uint8Array, crypto: Hashing): Uint8Array {
  const members: [CborKey, Cbor][] =
    family === 'ed25519'
      ? [
          [1, 1],
          [-1, 6],
          [-2, publicKey],
        ]
      : [
          [1, 2],
          [-1, 1],
          [-2, publicKey.subarray(1, 33)],
          [-3, publicKey.subarray(33, 65)],
        ]
  return crypto.sha256(encodeCbor(new Map(members)))
}

export type KeyringRead =
  | { readonly ok: true; readonly keys: readonly PublicKeyRecord[] }
  | { readonly ok: false; readonly path: string; readonly detail: string }

class Refusal extends Error {
  readonly path: string
  constructor(path: string, detail: string) {
    super(detail)
    this.path = path
  }
}

const syntax = (failure: ParseFailure): string => `JSON ${failure.code} at offset ${failure.at}`

/** A `{"keys": […]}` document, wholly valid or refused: a verifier never works with half a keyring. */
export function parseKeyring(input: string | Uint8Array): KeyringRead {
  const document = parse(input, { maxBytes: 4 * 1024 * 1024, maxDepth: 8 })
  if (!document.ok) return { ok: false, path: '$', detail: syntax(document) }
  try {
    const root = object(document.value, '$', ['keys'])
    const list = root.get('keys')
    if (!isArray(list)) throw new Refusal('$.keys', 'is no array')
    const keys = list.map((entry, index) => record(entry, `$.keys[${index}]`))
    unique(keys)
    return { ok: true, keys }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, path: error.path, detail: error.message }
    throw error
  }
}

const MEMBERS = [
  'kid',
  'alg',
  'public_key',
  'purpose',
  'status',
  'epoch',
  'issuers',
  'valid_from',
  'valid_to',
]

function record(value: JsonValue, path: string): PublicKeyRecord {
  const entry = object(value, path, MEMBERS)
  const at = (name: string): string => `${path}.${name}`
  const kid = hexText(entry.get('kid'), at('kid'))
  const alg = integer(entry.get('alg'), at('alg'))
  const public_key = hexText(entry.get('public_key'), at('public_key'))
  const family = familyOf(alg)
  if (family === null) throw new Refusal(at('alg'), `${alg} is none of -8, -19, -7, -9`)
  if (!usable(family, public_key)) {
    throw new Refusal(at('public_key'), `is no acceptable ${family} public key`)
  }
  const purpose = PURPOSES.find((known) => known === entry.get('purpose'))
  if (purpose === undefined) throw new Refusal(at('purpose'), `is none of ${PURPOSES.join(', ')}`)
  const status = entry.get('status')
  if (status !== 'active' && status !== 'retired') {
    throw new Refusal(at('status'), 'is neither active nor retired')
  }
  return {
    kid,
    alg,
    public_key,
    purpose,
    status,
    ...(entry.has('epoch') && { epoch: integer(entry.get('epoch'), at('epoch')) }),
    ...(entry.has('issuers') && { issuers: strings(entry.get('issuers'), at('issuers')) }),
    ...(entry.has('valid_from') && { valid_from: time(entry.get('valid_from'), at('valid_from')) }),
    ...(entry.has('valid_to') && { valid_to: time(entry.get('valid_to'), at('valid_to')) }),
  }
}

/** A start reads its keyring several times; the subgroup check costs a millisecond, once per key. */
const isUsableEd25519 = memo(64, (key) => isEd25519Key(fromHex(key) ?? new Uint8Array()))
const usable = (family: KeyFamily, key: string): boolean =>
  family === 'ed25519' ? isUsableEd25519(key) : isP256Key(fromHex(key) ?? new Uint8Array())

function unique(keys: readonly PublicKeyRecord[]): void {
  const kids = new Set<string>()
  const points = new Set<string>()
  keys.forEach(({ kid, public_key }, index) => {
    if (kids.has(kid)) throw new Refusal(`$.keys[${index}].kid`, 'occurs twice')
    // One key, one purpose (RFC 9943): a log key that is also a statement key would verify both.
    if (points.has(public_key)) throw new Refusal(`$.keys[${index}].public_key`, 'occurs twice')
    kids.add(kid)
    points.add(public_key)
  })
}

function object(value: JsonValue, path: string, members: readonly string[]): JsonObject {
  if (!isObject(value)) throw new Refusal(path, 'is no object')
  for (const name of value.keys()) {
    // A misspelt `issuers` must not silently unbind the key.
    if (!members.includes(name)) throw new Refusal(`${path}.${name}`, 'is no known member')
  }
  return value
}

function hexText(value: JsonValue | undefined, path: string): string {
  const valid = typeof value === 'string' && value !== '' && fromHex(value) !== null
  if (!valid) throw new Refusal(path, 'is no lowercase hex')
  return value
}

function integer(value: JsonValue | undefined, path: string): number {
  const known = value instanceof JsonNumber && /^(0|-?[1-9][0-9]{0,8})$/.test(value.token)
  if (!known) throw new Refusal(path, 'is no integer')
  return Number(value.token)
}

function strings(value: JsonValue | undefined, path: string): readonly string[] {
  const all = isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  if (!all) throw new Refusal(path, 'is no list of strings')
  return value as readonly string[]
}

const RFC3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/
function time(value: JsonValue | undefined, path: string): string {
  const valid =
    typeof value === 'string' && RFC3339_UTC.test(value) && !Number.isNaN(Date.parse(value))
  if (!valid) throw new Refusal(path, 'is no RFC 3339 UTC time')
  return value
}
