import type { IrreversibilityClass } from '../capsule/registries.js'
import type { Hashing } from '../crypto/crypto.js'
import { jsonDigestOf } from '../json/build.js'
import { isObject, type JsonObject } from '../json/value.js'

/**
 * JSON-DIGEST of a tool as its server lists it, every member of it: name, description, schemas, annotations. Null
 * for one that has no canonical form (a number in it is a float or too large), which can not be pinned.
 */
export const definitionDigest = (definition: JsonObject, hashing: Hashing): string | null =>
  jsonDigestOf(definition, hashing)

/**
 * The class that a tool's annotations amount to. What they leave out is taken at its worst, as the protocol has it;
 * `destructiveHint` means nothing for a tool that only reads.
 */
export function hintedClass(definition: JsonObject): IrreversibilityClass {
  const annotations = definition.get('annotations')
  if (!isObject(annotations)) return 'one_way_consequential'
  if (annotations.get('readOnlyHint') === true) return 'two_way'
  return annotations.get('destructiveHint') === false
    ? 'one_way_recoverable'
    : 'one_way_consequential'
}
