import type { ArgType } from '../../../core/manifest/model.js'
import type { ArgDraft } from '../draft.js'
import { conditionsOf } from './conditions.js'
import { type Found, isRecord, otherDemands, type Reader, type Settled, typesOf } from './schema.js'

/** One scalar, or a list in a body; null, and listed as lost, for what a manifest has no type for. */
export function argOf(
  { schema, nullable }: Settled,
  where: string,
  from: ArgDraft['from'],
  required: boolean,
  { resolve, note }: Reader,
): Found | null {
  const unread = (why: string): null => {
    note(`${where}: ${why}; not read`)
    return null
  }
  const alternatives = ALTERNATIVES.filter((key) => schema[key] !== undefined)
  if (alternatives.length > 0) return unread(`${alternatives.join(', ')} has no counterpart`)
  const types = typesOf(schema)
  const [only, ...more] = types
  if (only === undefined) return unread('no type')
  if (more.length > 0) return unread(`several types (${types.join(', ')})`)
  // A list in a query or header has as many spellings as there are servers.
  const items =
    only === 'array' && 'body' in from && schema.prefixItems === undefined
      ? resolve(schema.items)
      : undefined
  const type = isRecord(items) ? LISTS.get(typesOf(items).join()) : SCALARS.get(only)
  if (type === undefined) return unread(`${only} has no counterpart here`)
  if (type === 'decimal') {
    const float = typeof schema.format === 'string' ? ` (${schema.format})` : ''
    note(
      `${where}: number${float} becomes an exact decimal; notation like 1e3 and more than 4 digits after the point are refused`,
    )
  }
  if (type === 'objects' && isRecord(items)) {
    const inside = otherDemands(items, 'type')
    if (inside.length > 0)
      note(`${where}: read whole; what is in it (${inside.join(', ')}) is not checked`)
  }
  const conditions = conditionsOf(schema, type, isRecord(items) ? items : null, where, note)
  return { type, optional: !required || nullable, from, conditions }
}

const ALTERNATIVES = ['oneOf', 'anyOf', 'allOf', 'not', 'if'] as const
const SCALARS: ReadonlyMap<string, ArgType> = new Map([
  ['string', 'string'],
  ['integer', 'integer'],
  ['boolean', 'boolean'],
  ['number', 'decimal'],
])
const LISTS: ReadonlyMap<string, ArgType> = new Map([
  ['string', 'strings'],
  ['object', 'objects'],
])
