import { parse } from '../json/parse.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { canonicalText, contentOf, MOST_DEPTH } from './canonical.js'

/** The members beside the content, as they stand; null: absent, or no text. */
export type Seal = {
  readonly hash: string | null
  readonly signature: string | null
  /** Empty: there is none. */
  readonly signature_pq: string | null
  readonly signed_at: string | null
  readonly signed_by: string | null
}
/** A sealed capsule: the text that was hashed, what it says, and the seal. */
export type Sealed = {
  readonly canonical: string
  readonly content: JsonObject
  readonly seal: Seal
  /** The text is the canonical form of what it says. A bundle brings its own, which may not be (Anatomy). */
  readonly isCanonical: boolean
}

/** A capsule with its seal among its members, or an entry of a bundle, which has its canonical text as one. */
export function sealedOf(value: JsonValue): Sealed | null {
  if (!isObject(value)) return null
  const given = value.get('canonical')
  if (given === undefined) {
    const canonical = canonicalText(value)
    return canonical === null
      ? null
      : { canonical, content: contentOf(value), seal: sealOf(value), isCanonical: true }
  }
  const parsed = typeof given === 'string' ? parse(given, { maxDepth: MOST_DEPTH }) : null
  if (typeof given !== 'string' || parsed?.ok !== true || !isObject(parsed.value)) return null
  const isCanonical = canonicalText(parsed.value) === given
  return { canonical: given, content: parsed.value, seal: sealOf(value), isCanonical }
}

function sealOf(value: JsonObject): Seal {
  const text = (name: string): string | null => {
    const member = value.get(name)
    return typeof member === 'string' ? member : null
  }
  return {
    hash: text('hash'),
    signature: text('signature'),
    signature_pq: text('signature_pq'),
    signed_at: text('signed_at'),
    signed_by: text('signed_by'),
  }
}
