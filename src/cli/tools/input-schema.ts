import type { Lost } from '../init/draft.js'
import { isOpen, membersOf } from '../init/schema/members.js'
import {
  type Found,
  isRecord,
  type Json,
  otherDemands,
  resolver,
  type Schema,
  settle,
} from '../init/schema/schema.js'

export type Input = {
  readonly args: readonly (readonly [wanted: string, found: Found])[]
  /** Pointers to what the tool takes and a manifest cannot read: it passes without being judged. */
  readonly unread: readonly string[] | 'any'
  /** It does not say that other members than these are invalid. */
  readonly isLoose: boolean
}

const ROOT = 'the arguments'
/** Nobody judges a call by more; a policy request could not hold them either. */
const MAX_ARGS = 256

/** The arguments of a tool by its `inputSchema`; or why it cannot be governed. */
export function readInput(given: Json, note: Lost): Input | string {
  const reader = { resolve: resolver(given), note, root: ROOT }
  const schema = isRecord(given) ? settle(given, ROOT, reader)?.schema : undefined
  if (schema === undefined) return 'it has no inputSchema that can be read'
  const isLoose = !isOpen(schema) && !isClosed(schema)
  if (describesNothing(schema)) return { args: [], unread: [], isLoose }
  const args: Input['args'][number][] = []
  const unread: string[] = []
  let isWhole = false
  for (const member of membersOf(schema, true, reader)) {
    if (member.kind === 'arg') args.push([member.name, member.found])
    else if (member.kind === 'unread') unread.push(member.pointer)
    else isWhole = true
    if (args.length + unread.length > MAX_ARGS) return `it has more than ${MAX_ARGS} arguments`
  }
  return { args, unread: isWhole ? 'any' : unread, isLoose }
}

const isClosed = ({ additionalProperties, unevaluatedProperties }: Schema): boolean =>
  additionalProperties === false || unevaluatedProperties === false

/** `{type: object}` is how tools without arguments are described. */
const describesNothing = (schema: Schema): boolean =>
  !isOpen(schema) &&
  otherDemands(schema, 'type', 'additionalProperties', 'unevaluatedProperties').length === 0
