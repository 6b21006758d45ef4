import { hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Sha3 } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { dumps, NoPythonNumber, quoteUnicode } from '../python/dumps.js'

export type Input = string | Uint8Array
export type No = { readonly ok: false; readonly code: string }

/** Not part of what is hashed (CPS, verification): metadata outside the content. */
export const SEAL_KEYS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const
const SEAL: ReadonlySet<string> = new Set(SEAL_KEYS)

/** CPython's own parser ends at about as many levels. */
export const MOST_DEPTH = 1000

/** The canonical form of a document, and SHA3-256 of it: of an object without its seal. */
export function canonicalOf(
  json: Input,
  crypto: Sha3,
): { readonly ok: true; readonly canonical: string; readonly hash: string } | No {
  const parsed = parse(json, { maxDepth: MOST_DEPTH })
  if (!parsed.ok) return { ok: false, code: parsed.code }
  const canonical = canonicalText(parsed.value)
  return canonical === null
    ? { ok: false, code: 'number_without_form' }
    : { ok: true, canonical, hash: cpsHash(canonical, crypto) }
}

/** Null: it holds a number that has no canonical form. */
export function canonicalText(value: JsonValue): string | null {
  try {
    return dumps(isObject(value) ? contentOf(value) : value, { quote: quoteUnicode })
  } catch (error) {
    if (error instanceof NoPythonNumber) return null
    throw error
  }
}

export const cpsHash = (canonical: string, { sha3_256 }: Sha3): string =>
  hex(sha3_256(utf8(canonical)))

/** Without the seal. */
export const contentOf = (value: JsonObject): JsonObject =>
  [...SEAL].some((key) => value.has(key))
    ? new Map([...value].filter(([name]) => !SEAL.has(name)))
    : value
