import type { IrreversibilityClass } from '../../capsule/registries.js'
import { EFFECT_TYPES, IRREVERSIBILITY_CLASSES } from '../../capsule/registries.js'
import { httpMatchOf, isMcpMatch, type ToolRule } from '../model.js'
import { FORWARDED_BY_DEFAULT, isForwardable } from '../route/headers.js'
import { POINTER } from '../route/pointer.js'
import { parseTemplate, type Template } from '../route/template.js'
import { expandAlso } from './also.js'
import { expandArgs } from './args.js'
import { expandHitl } from './hitl.js'
import { expandIntent } from './intent.js'
import { readMatch } from './match.js'
import { qualify, TOOL_NAME } from './names.js'
import type { Fields, Node, Reader } from './tree.js'

export const TOOL_KEYS = [
  'match',
  'definition',
  'action',
  'resource',
  'args',
  'also',
  'irreversibility',
  'effect',
  'success',
  'deadlines',
  'connection',
  'close_delimited',
  'hold_response',
  'capture',
  'digest_salt',
  'bind_headers',
  'forward_headers',
  'response_location',
  'subject',
  'constraints',
  'hitl',
  'intent',
  'thin',
  'cross_principal',
] as const
export const RULE_KEYS = ['tool', ...TOOL_KEYS] as const

/** What the manifest says for all its rules; `server`: they are tools of that MCP server. */
export type RuleSetting = {
  readonly id: string
  readonly version: 'v1' | 'v2'
  readonly server: string | null
}

/** A rule with what is still to be looked at: where it stood, and constraints written inside it. */
export type RuleDraft = {
  readonly rule: ToolRule
  readonly node: Node
  readonly template: Template | null
  readonly inline: ReadonlyMap<string, Node>
}

export function expandRule(
  reader: Reader,
  node: Node,
  keys: readonly string[],
  key: string | null,
  { id: manifestId, version, server }: RuleSetting,
): RuleDraft | undefined {
  const fields = reader.fields(node, keys)
  if (fields === undefined) return undefined
  const match = readMatch(reader, fields.get('match'), { server, key, node })
  if (match === 'wrong') return undefined
  const tool = readTool(reader, node, key === null ? fields.get('tool') : key, match, server)
  if (tool === undefined) return undefined
  const overHttp = httpMatchOf({ match })
  const template = overHttp === null ? null : parseTemplate(overHttp.path)
  const args = expandArgs(reader, fields.get('args'), match, template ?? [])
  const definition = readDefinition(reader, fields.get('definition'), match)
  const also = fields.get('also')
  if (version === 'v1' && also !== undefined) {
    reader.problem(
      also,
      'also is no key of gate.constraints/v1',
      'run capsule-gate manifest migrate',
    )
  }
  const letThrough = version === 'v1' ? undefined : expandAlso(reader, also)
  const effect = readEffect(reader, fields, manifestId, tool)
  const strong = IRREVERSIBILITY_CLASSES.indexOf(effect.irreversibility_class) >= 2
  // What is left of an unread body would be the head of the next request on a shared connection.
  const fresh = strong || letThrough?.body === 'any'
  const fromHeaders = Object.values(args).flatMap(({ from }) =>
    from.in === 'header' ? [from.name] : [],
  )
  const { ids, inline } = readConstraintList(reader, fields.get('constraints'), manifestId)
  const id = /^.{1,128}$/
  const subject = reader.text(fields.get('subject'), id, "an argument's name")
  const rule: ToolRule = {
    tool,
    match,
    ...(definition === undefined ? {} : { definition }),
    action: reader.text(fields.get('action'), TOOL_NAME, 'an action name') ?? tool,
    resource: reader.text(fields.get('resource'), id, 'a resource name') ?? tool,
    args,
    ...(letThrough === undefined ? {} : { also: letThrough }),
    effect,
    success: readSuccess(reader, fields.get('success')),
    deadlines: readDeadlines(reader, fields.get('deadlines')),
    connection:
      reader.oneOf(fields.get('connection'), ['fresh', 'pooled']) ?? (fresh ? 'fresh' : 'pooled'),
    close_delimited: reader.oneOf(fields.get('close_delimited'), ['refuse', 'accept']) ?? 'refuse',
    hold_response: reader.flag(fields.get('hold_response')) ?? false,
    capture: reader.oneOf(fields.get('capture'), ['digest', 'full']) ?? 'digest',
    digest_salt: reader.oneOf(fields.get('digest_salt'), ['none', 'tenant']) ?? 'none',
    // A header that is read is bound, or an approval of one value would serve another; and sent, or
    // it was judged for nothing.
    bind_headers: headerList(reader, fields.get('bind_headers'), fromHeaders),
    forward_headers: headerList(reader, fields.get('forward_headers'), [
      ...FORWARDED_BY_DEFAULT,
      ...fromHeaders,
    ]),
    response_location:
      reader.oneOf(fields.get('response_location'), ['rewrite', 'allow']) ?? 'rewrite',
    ...(subject === undefined ? {} : { subject }),
    constraints: ids,
    hitl: expandHitl(reader, fields.get('hitl')),
    ...expandIntent(reader, fields),
  }
  if (subject !== undefined && !Object.hasOwn(args, subject)) {
    reader.problem(node, `subject names no argument: ${subject}`, 'name one of args')
  }
  return { rule, node, template, inline }
}

/** By its key, or by `tool`; an MCP tool may go without: then it is called by its server and its own name. */
function readTool(
  reader: Reader,
  node: Node,
  named: Node | string | undefined,
  match: ToolRule['match'],
  server: string | null,
): string | undefined {
  if (typeof named === 'string') {
    const value = server === null || named.startsWith(`${server}.`) ? named : `${server}.${named}`
    return reader.text({ value, path: node.path }, TOOL_NAME, 'a tool name like create_refund')
  }
  if (named !== undefined) return reader.text(named, TOOL_NAME, 'a tool name like create_refund')
  const value = isMcpMatch(match) && 'tool' in match ? `${match.server}.${match.tool}` : ''
  return TOOL_NAME.test(value)
    ? value
    : reader.problem(node, 'the rule names no tool', 'write tool: name')
}

function readDefinition(
  reader: Reader,
  node: Node | undefined,
  match: ToolRule['match'],
): string | undefined {
  if (node === undefined) return undefined
  if (isMcpMatch(match) && 'tool' in match && !match.tool.endsWith('*')) {
    return reader.text(node, /^[0-9a-f]{64}$/, 'a digest of 64 hex digits, as tools ls prints it')
  }
  return reader.problem(node, 'only one tool of a server has a definition', 'remove it')
}

function readEffect(
  reader: Reader,
  fields: Fields,
  manifestId: string,
  tool: string,
): ToolRule['effect'] {
  const node = fields.get('effect')
  const short = typeof node?.value === 'string'
  const members = short
    ? undefined
    : reader.fields(node, ['type', 'irreversibility_class', 'external_ref'])
  const named = short ? node : members?.get('type')
  const given = reader.text(named, /^[A-Za-z0-9_.-]{1,255}$/, 'an effect type')
  const registered = EFFECT_TYPES.find((type) => type === given)
  const type =
    registered ?? (given?.includes('.') === true ? given : `${manifestId}.${given ?? tool}`)
  const long = members?.get('irreversibility_class')
  const top = fields.get('irreversibility')
  if (long !== undefined && top !== undefined) {
    reader.problem(top, 'irreversibility is there twice', 'keep one of the two')
  }
  const external = reader.text(members?.get('external_ref'), POINTER, 'a JSON pointer like /id')
  return {
    type,
    irreversibility_class:
      reader.oneOf<IrreversibilityClass>(top ?? long, IRREVERSIBILITY_CLASSES) ??
      'one_way_consequential',
    ...(external === undefined ? {} : { external_ref: external }),
  }
}

const STATUS = /^([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?$/

function readSuccess(reader: Reader, node: Node | undefined): ToolRule['success'] {
  const fields = reader.fields(node, ['status', 'unless'])
  const status = reader.texts(fields?.get('status'), STATUS, 'a status like "200" or "200-299"')
  const unless = (reader.list(fields?.get('unless')) ?? []).flatMap((member) => {
    const parts = reader.fields(member, ['pointer', 'op', 'value'])
    const pointer = reader.text(parts?.get('pointer'), POINTER, 'a JSON pointer like /error')
    const op = reader.oneOf(parts?.get('op'), ['exists', 'equals']) ?? 'exists'
    const value = reader.plain(parts?.get('value'))
    if (pointer === undefined || (op === 'equals') !== (value !== undefined)) {
      reader.problem(member, 'unless needs a pointer, and equals a value', '{pointer: /error}')
      return []
    }
    return [value === undefined ? { pointer, op } : { pointer, op, value }]
  })
  return { status: status.length === 0 ? ['200-299'] : status, unless }
}

const DAY_MS = 86_400_000

function readDeadlines(reader: Reader, node: Node | undefined): ToolRule['deadlines'] {
  const fields = reader.fields(node, ['connect_ms', 'first_byte_ms', 'total_ms'])
  return {
    connect_ms: reader.integer(fields?.get('connect_ms'), 1, DAY_MS) ?? 5_000,
    first_byte_ms: reader.integer(fields?.get('first_byte_ms'), 1, DAY_MS) ?? 30_000,
    total_ms: reader.integer(fields?.get('total_ms'), 1, DAY_MS) ?? 60_000,
  }
}

function headerList(
  reader: Reader,
  node: Node | undefined,
  always: readonly string[],
): readonly string[] {
  const names = (reader.list(node) ?? []).flatMap((member) => {
    const name = reader.text(member, /^[!-~]{1,64}$/, "a header's name")?.toLowerCase()
    if (name === undefined || isForwardable(name)) return name === undefined ? [] : [name]
    reader.problem(member, `the header ${name} is never forwarded`, 'leave it out')
    return []
  })
  return [...new Set([...always, ...names])].sort()
}

function readConstraintList(
  reader: Reader,
  node: Node | undefined,
  manifestId: string,
): { ids: readonly string[]; inline: ReadonlyMap<string, Node> } {
  if (node === undefined || !Array.isArray(node.value)) {
    const inline = reader.fields(node, null) ?? new Map<string, Node>()
    const ids = [...inline.keys()].map((name) => qualify(name, manifestId) ?? name)
    return { ids, inline }
  }
  const names = reader.texts(node, /^.+$/, 'a constraint id')
  const ids = names.map((name) => qualify(name, manifestId) ?? name)
  if (new Set(ids).size < ids.length) {
    reader.problem(node, 'a constraint is listed twice', 'list each once')
  }
  return { ids, inline: new Map() }
}
