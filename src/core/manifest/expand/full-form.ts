import { KINDS, type MemberType, membersOf } from '../constraint/kinds.js'
import type { CompareOp, Predicate, Threshold } from '../model.js'
import type { Node, Reader } from './tree.js'

export const COMPARE_OPS = ['lt', 'lte', 'gt', 'gte', 'eq', 'ne'] as const
export const MAX_WINDOW_SECONDS = 31_536_000
const INPUT = /^\$?[A-Za-z][A-Za-z0-9_]{0,63}$/
const ALL_KINDS = Object.keys(KINDS) as readonly Predicate['kind'][]

/** The predicate as the model has it: its members are read as its kind lists them. */
export function readPredicate(reader: Reader, node: Node | undefined): Predicate | undefined {
  const open = reader.fields(node, null)
  if (node === undefined || open === undefined) return undefined
  const kind = reader.oneOf(open.get('kind'), ALL_KINDS)
  if (kind === undefined) {
    return open.has('kind')
      ? undefined
      : reader.problem(node, 'the predicate has no kind', `kind: ${ALL_KINDS.join(' | ')}`)
  }
  const members = membersOf(kind)
  const names = members.map(({ name }) => name)
  const fields = reader.fields(node, ['kind', ...names])
  if (fields === undefined) return undefined
  const predicate: { [name: string]: unknown } = { kind }
  for (const { name, type } of members) {
    const value = readMember(reader, type, fields.get(name))
    if (value !== undefined) predicate[name] = value
  }
  const given = ({ name }: { readonly name: string }): boolean => name in predicate
  const choice = members.filter(({ optional }) => optional)
  const complete =
    members.every((member) => member.optional || given(member)) &&
    (choice.length < 2 || choice.some(given))
  if (complete) return predicate as Predicate
  return reader.problem(node, `${kind} is not complete`, `it needs ${names.join(', ')}`)
}

function readMember(reader: Reader, type: MemberType, node: Node | undefined): unknown {
  switch (type) {
    case 'input':
      return reader.text(node, INPUT, "an input's name")
    case 'op':
      return reader.oneOf<CompareOp>(node, COMPARE_OPS)
    case 'scope':
      return reader.texts(node, INPUT, "an input's name")
    case 'seconds':
      return reader.integer(node, 1, MAX_WINDOW_SECONDS)
    case 'predicate':
      return readPredicate(reader, node)
    case 'predicates': {
      const of = (reader.list(node) ?? []).flatMap((member) => readPredicate(reader, member) ?? [])
      return of.length === 0 ? undefined : of
    }
    default:
      return readThreshold(reader, node)
  }
}

function readThreshold(reader: Reader, node: Node | undefined): Threshold | undefined {
  const fields = reader.fields(node, ['threshold', 'by'])
  const threshold = reader.text(fields?.get('threshold'), /^.{1,128}$/, "a threshold's name")
  const by = reader.text(fields?.get('by'), INPUT, "an input's name")
  if (threshold === undefined) return undefined
  return by === undefined ? { threshold } : { threshold, by }
}
