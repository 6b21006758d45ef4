import { nameUuid } from '../bytes/name-uuid.js'
import type { Hashing } from '../crypto/crypto.js'
import type { ArgValue } from '../manifest/constraint/typed-value.js'
import type { ObjectModel } from '../manifest/model.js'
import type { Args } from '../manifest/route/read-result.js'

/** Under which the ids of named objects are computed; docs/manifest.md tells it to issuers of mandates. */
export const OBJECT_NAMESPACE = '8d2972ab-6517-4b02-be51-40b4b3fa8dc2'

const ARGUMENT = /\{([A-Za-z][A-Za-z0-9_]{0,63})\}/
/**
 * Versions 1 to 7. One of version 8 is hashed like any other name: the id of `order-1` is such a UUID, and an
 * argument that holds it must not be taken for `order-1`.
 */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-7][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** `booking:{id}`: literal text and names of arguments by turns, beginning and ending with literal text. */
export const templatePieces = (template: string): readonly string[] => template.split(ARGUMENT)

/** The arguments that a template names. */
export const templateArgs = (template: string): readonly string[] =>
  templatePieces(template).filter((_, index) => index % 2 === 1)

/**
 * Which governed object a call is about: the filled template where that is a UUID, else a UUID computed from the
 * object's type and the filled template. Null when an argument is absent, or a list or an object.
 */
export function objectIdOf(
  model: Pick<ObjectModel, 'type' | 'id'>,
  args: Args,
  crypto: Hashing,
): string | null {
  const name = objectName(model.id, args)
  if (name === null) return null
  if (UUID.test(name)) return name.toLowerCase()
  return nameUuid(OBJECT_NAMESPACE, `${model.type}\n${name}`, crypto)
}

/**
 * Where a template has several arguments their values are percent-encoded, so that the `:` or `/` between them is
 * never part of a value and two objects never have one name.
 */
function objectName(template: string, args: Args): string | null {
  const pieces = templatePieces(template)
  const several = pieces.length > 3
  const filled: string[] = []
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 0) {
      filled.push(piece)
      continue
    }
    const value = textOf(args.get(piece))
    if (value === null) return null
    filled.push(several ? encodeURIComponent(value) : value)
  }
  return filled.join('')
}

function textOf(arg: ArgValue | undefined): string | null {
  switch (arg?.type) {
    case 'string':
    case 'decimal':
      return arg.value
    case 'integer':
    case 'boolean':
      return String(arg.value)
    default:
      return null
  }
}
