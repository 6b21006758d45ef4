import { base64url, fromBase64url } from '../bytes/base64url.js'
import { fromHex, hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Crypto } from '../crypto/crypto.js'
import { canonicalOf } from '../json/build.js'
import type { Plain } from '../json/value.js'
import { familyOf, type PublicKeyRecord } from '../statement/keys.js'
import type { SignedEntry } from './entry.js'
import { ENVELOPE } from './line.js'
import { type MembersOf, membersFault, type SignedType } from './vocabulary.js'

/**
 * Signed events (DESIGN §5): Ed25519, key purpose `event`, over a domain prefix and the JCS of
 * {origin, type, ...members}. The prefix keeps an event from ever reading as a statement or a
 * snapshot, the origin from being carried into another gate's journal.
 */
const EVENT_DOMAIN = 'capsule-gate/event/v1\n'
const RESERVED = new Set([...ENVELOPE, 'kid', 'sig'])

type Members = { readonly [name: string]: Plain | undefined }
export type EventToSign<T extends SignedType> = {
  readonly origin: string
  readonly type: T
  readonly members: MembersOf<T>
  readonly kid: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}

const message = (origin: string, type: string, members: Members): Uint8Array =>
  utf8(`${EVENT_DOMAIN}${canonicalOf({ ...members, origin, type })}`)

/** The entry to append: the members, then `kid` (hex) and `sig` (base64url). */
export function signEvent<T extends SignedType>(event: EventToSign<T>): SignedEntry<T>
export function signEvent(event: EventToSign<SignedType>): object {
  const { origin, type } = event
  const members: Members = event.members
  const taken = Object.keys(members).find((name) => RESERVED.has(name))
  if (taken !== undefined) throw new TypeError(`an event has no member of its own named ${taken}`)
  const sig = base64url(event.sign(message(origin, type, members)))
  const signed = { ...members, kid: hex(event.kid), sig }
  const fault = membersFault(type, signed)
  if (fault !== null) throw new TypeError(`${type}: ${fault}`)
  return { type, json: JSON.stringify(signed), members: signed }
}

export type EventCheck =
  | { readonly ok: true; readonly kid: string }
  | {
      readonly ok: false
      readonly code:
        | 'unsigned'
        | 'malformed'
        | 'kid_unknown'
        | 'key_purpose'
        | 'alg_mismatch'
        | 'signature_invalid'
    }

/** `line` as JSON.parse gave it; the envelope's seq, prev and at are the chain's matter, not the signature's. */
export function verifyEvent(
  line: { readonly [member: string]: unknown },
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): EventCheck {
  const { kid, sig, origin, type } = line
  if (kid === undefined || sig === undefined) return { ok: false, code: 'unsigned' }
  if (
    typeof kid !== 'string' ||
    typeof sig !== 'string' ||
    typeof origin !== 'string' ||
    typeof type !== 'string'
  ) {
    return { ok: false, code: 'malformed' }
  }
  const members: Record<string, Plain> = Object.create(null)
  for (const [name, value] of Object.entries(line)) {
    if (!RESERVED.has(name)) members[name] = value as Plain
  }
  let signed: Uint8Array
  try {
    signed = message(origin, type, members)
  } catch {
    // A number without a canonical form: nothing we signed.
    return { ok: false, code: 'malformed' }
  }
  return checkSignature(kid, sig, signed, keys, crypto)
}

/** One key, looked up by kid; its record says what it may verify. Never "try all". */
export function checkSignature(
  kid: string,
  sig: string,
  signed: Uint8Array,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): EventCheck {
  const key = keys.find((candidate) => candidate.kid === kid)
  if (key === undefined) return { ok: false, code: 'kid_unknown' }
  if (key.purpose !== 'event') return { ok: false, code: 'key_purpose' }
  if (familyOf(key.alg) !== 'ed25519') return { ok: false, code: 'alg_mismatch' }
  const signature = fromBase64url(sig)
  const publicKey = fromHex(key.public_key)
  if (signature === null || publicKey === null) return { ok: false, code: 'malformed' }
  return crypto.verifyEd25519(publicKey, signed, signature)
    ? { ok: true, kid }
    : { ok: false, code: 'signature_invalid' }
}
