import { canonicalNormalized, canonicalOfSource } from '../json/canonical.js'
import type { CanonicalText } from '../json/parse.js'
import type { JsonObject } from '../json/value.js'

/**
 * What depends on `format_version`: which bytes the content address covers. A later format is one more codec here; nothing else asks for the version.
 */
export type Codec = {
  readonly format_version: string
  /** Top-level members outside the content address: only a signature protects them (seed §5.1). */
  readonly outside: readonly string[]
  /** The text whose SHA-256 is capsule_id; null when a number has no reproducible form. */
  canonicalForm(capsule: JsonObject, source: CanonicalText | null): string | null
}

const OUTSIDE = ['capsule_id', 'chain'] as const

export const FORMAT_2: Codec = {
  format_version: '2',
  outside: OUTSIDE,
  canonicalForm: (capsule, source) =>
    source === null
      ? canonicalNormalized(capsule, OUTSIDE)
      : canonicalOfSource(source, capsule, OUTSIDE),
}

const CODECS: readonly Codec[] = [FORMAT_2]

export const codecFor = (format_version: unknown): Codec | null =>
  CODECS.find((codec) => codec.format_version === format_version) ?? null
