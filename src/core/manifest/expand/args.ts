import {
  type Arg,
  type ArgSource,
  type ArgType,
  httpMatchOf,
  isMcpMatch,
  type ToolRule,
} from '../model.js'
import { isForwardable } from '../route/headers.js'
import { escapePointer, POINTER } from '../route/pointer.js'
import type { Template } from '../route/template.js'
import { ARG_NAME } from './names.js'
import { type Fields, type Node, type Reader, record } from './tree.js'

const TYPES = ['string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'] as const
/** A text in a path, query or header is none of these. */
const BODY_ONLY: readonly ArgType[] = ['strings', 'object', 'objects']
const PARTS = ['body', 'query', 'path', 'header'] as const
const WITH_BODY = ['POST', 'PUT', 'PATCH']

/** `amount: decimal`, `note: string?`, or `{type, optional, body: /a/b | query: n | path: n | header: n}`. */
export function expandArgs(
  reader: Reader,
  node: Node | undefined,
  match: ToolRule['match'],
  template: Template,
): Record<string, Arg> {
  const out = record<Arg>()
  const params = isResource(match) ? RESOURCE : template
  for (const [name, member] of reader.fields(node, null) ?? []) {
    if (!ARG_NAME.test(name)) {
      reader.problem(member, `"${name}" is no argument name`, 'use letters, digits and _')
      continue
    }
    const arg = expandArg(reader, member, name, match, params)
    if (arg !== undefined) out[name] = arg
  }
  // What a resource is read by is part of the call, whether the rule says more of it or not.
  if (isResource(match)) out[URI] ??= { type: 'string', optional: false, from: OF_RESOURCE }
  return out
}

/** The argument that every rule on resources has. */
const URI = 'uri'
const OF_RESOURCE: ArgSource = { in: 'path', name: URI }
const RESOURCE: Template = [{ kind: 'param', name: URI }]
const isResource = (match: ToolRule['match']): boolean => isMcpMatch(match) && 'resource' in match

function expandArg(
  reader: Reader,
  node: Node,
  name: string,
  match: ToolRule['match'],
  template: Template,
): Arg | undefined {
  const fallback = (): ArgSource => {
    if (template.some((part) => part.kind === 'param' && part.name === name)) {
      return { in: 'path', name }
    }
    const overHttp = httpMatchOf({ match })
    return overHttp === null || WITH_BODY.includes(overHttp.method)
      ? { in: 'body', pointer: `/${escapePointer(name)}` }
      : { in: 'query', name }
  }
  if (typeof node.value === 'string') {
    const optional = node.value.endsWith('?')
    const word = { value: optional ? node.value.slice(0, -1) : node.value, path: node.path }
    const type = reader.oneOf<ArgType>(word, TYPES)
    return type && checked(reader, node, { type, optional, from: fallback() }, match, template)
  }
  const fields = reader.fields(node, ['type', 'optional', 'from', ...PARTS])
  if (fields === undefined) return undefined
  const type = reader.oneOf<ArgType>(fields.get('type'), TYPES)
  if (type === undefined) {
    return fields.has('type')
      ? undefined
      : reader.problem(node, 'the argument has no type', `type: ${TYPES.join(' | ')}`)
  }
  const optional = reader.flag(fields.get('optional')) ?? false
  const from = readSource(reader, node, fields)
  if (from === 'wrong') return undefined
  return checked(reader, node, { type, optional, from: from ?? fallback() }, match, template)
}

function readSource(reader: Reader, node: Node, fields: Fields): ArgSource | undefined | 'wrong' {
  const long = fields.get('from')
  const short = PARTS.filter((part) => fields.has(part))
  if (short.length + (long === undefined ? 0 : 1) > 1) {
    reader.problem(node, 'the argument has two places', 'keep one of body, query, path, header')
    return 'wrong'
  }
  const [part] = short
  if (part !== undefined) return source(reader, part, fields.get(part)) ?? 'wrong'
  if (long === undefined) return undefined
  const members = reader.fields(long, ['in', 'pointer', 'name'])
  const where = reader.oneOf(members?.get('in'), PARTS)
  if (members === undefined || where === undefined) {
    reader.problem(long, 'from needs a place', `in: ${PARTS.join(' | ')}`)
    return 'wrong'
  }
  return source(reader, where, members.get(where === 'body' ? 'pointer' : 'name')) ?? 'wrong'
}

function source(
  reader: Reader,
  part: (typeof PARTS)[number],
  node: Node | undefined,
): ArgSource | undefined {
  switch (part) {
    case 'body': {
      const pointer = reader.text(node, POINTER, 'a JSON pointer like /order/id')
      if (pointer !== '') return pointer === undefined ? undefined : { in: part, pointer }
      return reader.problem(node ?? { path: '' }, 'the pointer is empty', 'write /order/id')
    }
    case 'query':
    case 'path': {
      const name = reader.text(node, /^[^\u0000-\u001f]{1,128}$/, 'a name')
      return name === undefined ? undefined : { in: part, name }
    }
    case 'header': {
      const name = reader.text(node, /^[!-~]{1,64}$/, "a header's name")?.toLowerCase()
      if (name === undefined || node === undefined) return undefined
      if (isForwardable(name)) return { in: part, name }
      return reader.problem(node, `the header ${name} never reaches the tool`, 'read another one')
    }
  }
}

function checked(
  reader: Reader,
  node: Node,
  arg: Arg,
  match: ToolRule['match'],
  template: Template,
): Arg | undefined {
  const { from } = arg
  if (httpMatchOf({ match }) === null && from.in !== 'body') {
    const own = isResource(match) && from.in === 'path' && from.name === URI
    if (!own) {
      const what = match === null ? 'a tool without match' : 'a tool of a server'
      return reader.problem(node, `${what} has a body only`, 'use body: /name')
    }
  }
  if (from.in === 'path' && !template.some((p) => p.kind === 'param' && p.name === from.name)) {
    return reader.problem(
      node,
      `the path has no {${from.name}}`,
      `write {${from.name}} as a whole segment of match`,
    )
  }
  if (BODY_ONLY.includes(arg.type) && from.in !== 'body') {
    return reader.problem(node, `${arg.type} are read from the body only`, 'use body: /name')
  }
  if (from.in === 'path' && arg.optional) {
    return reader.problem(node, 'a path parameter is always there', 'drop optional')
  }
  return arg
}
