import type { Also } from '../../../core/manifest/model.js'
import { fold, pointerTokens } from '../../../core/manifest/route/pointer.js'
import {
  type ArgDraft,
  classOfMethod,
  type Lost,
  type TestDraft,
  type TestValue,
  type ToolDraft,
} from '../draft.js'
import { argName, constraintId, toolName, unique } from '../names.js'
import { type Field, suggestion, testValue, typeOf } from './field.js'
import type { Group } from './learn.js'
import { paramNames } from './shape.js'

type Read = { readonly field: Field; readonly arg: ArgDraft }

/** What was seen of one shape, as a tool: types only, for what was seen is not what is allowed. */
export function toolOf(group: Group, names: Set<string>, lost: string[]): ToolDraft {
  const { method, shape, calls } = group
  const path = `/${shape.map((part) => part ?? 'id').join('/')}`
  const name = unique(names, toolName(`${method.toLowerCase()}_${path}`, method.toLowerCase()))
  const note: Lost = (what) => lost.push(`${name}: ${what}`)

  const found = new Map<string, Read>()
  const taken = new Set<string>()
  const pick = (wanted: string): string => unique(taken, argName(wanted), fold)
  const add = (arg: string, field: Field, from: ArgDraft['from']): void => {
    // An object in which nothing was ever seen is read whole.
    const type = field.objects > 0 ? 'object' : typeOf(field)
    const optional = (field.objects > 0 ? field.objects : field.seen) < calls
    if (type !== null) found.set(arg, { field, arg: { type, optional, from } })
  }

  const fault = openness(group)
  const query = readQuery(group, fault, note)
  const body = readBody(group, fault, note)
  for (const field of query.read) add(pick(field.wanted), field, { query: field.spelling })
  // A name in the query must not be an argument's that is read elsewhere: the gate refuses the pair.
  for (const key of group.query.keys()) taken.add(key)
  // Nor may a member of a body that passes unread look like one.
  const suffix = fault === null ? '' : '_in_path'
  const params = paramNames(shape).map((param) => pick(`${param}${suffix}`))
  params.forEach((param, index) => {
    const field = group.params[index]
    if (field !== undefined) add(param, field, { path: param })
  })
  for (const field of body.read) add(pick(field.wanted), field, { body: field.spelling })
  const unnamed = [...params]
  return {
    name,
    match: { method, path: `/${shape.map((part) => part ?? `{${unnamed.shift()}}`).join('/')}` },
    irreversibility: classOfMethod(method),
    args: Object.fromEntries([...found].map(([arg, read]) => [arg, read.arg])),
    also: alsoOf(group, query.unread, fault === null ? body.unread : 'any'),
    constraints: {},
    tests: testsOf(found, note),
    notes: notesOf(name, calls, found),
  }
}

/** Those that become arguments, and those that pass without being read. */
type Split = { readonly read: Field[]; readonly unread: Field[] }

const spellings = (fields: Iterable<Field>): string[] =>
  [...fields].flatMap((field) => [...field.names])
/** As a manifest can list it. */
const isListable = (name: string): boolean => /^[^\p{Cc}]{1,128}$/u.test(name)

/**
 * Why neither query nor body can be read: where one of them passes whole, a name in it may be an
 * argument's in the other, and the gate would refuse the pair.
 */
function openness({ bodyFault, crowded, bodies, body, query }: Group): string | null {
  if (bodyFault !== null) return bodyFault
  if (crowded) return 'over 64 names'
  if (bodies > 0 && body.size === 0) return 'no member was seen in its bodies'
  return spellings(query.values()).every(isListable) ? null : 'a manifest cannot list its query'
}

/** Only what was seen passes, as it was spelled; everything, where spellings cannot be listed. */
function alsoOf({ crowded, bodies }: Group, query: Field[], body: Field[] | 'any'): Also {
  const names = spellings(query)
  return {
    query: !crowded && names.every(isListable) ? names : 'any',
    body: body !== 'any' ? spellings(body) : bodies > 0 ? 'any' : [],
  }
}

function readQuery({ query, queryFault }: Group, bodyFault: string | null, note: Lost): Split {
  const fault = queryFault ?? bodyFault
  const fields = [...query.values()]
  if (fault !== null) {
    if (query.size > 0) note(`its query is not read: ${fault}`)
    return { read: [], unread: fields }
  }
  const unread = fields.filter((field) => field.fault !== null)
  for (const field of unread) note(`query ${field.spelling}: ${field.fault}; not read`)
  return { read: fields.filter((field) => field.fault === null), unread }
}

function readBody({ body, bodies, query }: Group, fault: string | null, note: Lost): Split {
  const split: Split = { read: [], unread: [] }
  if (fault !== null) {
    if (bodies > 0) note(`its body is not read: ${fault}`)
    return split
  }
  // Parents come before their members.
  const closed: string[] = []
  for (const [key, field] of body) {
    if (closed.some((parent) => key.startsWith(`${parent}/`))) continue
    const why = unreadable(field, query)
    if (why !== null) {
      note(`${field.spelling}: ${why}; not read`)
      split.unread.push(field)
      closed.push(key)
    } else if (field.objects === 0 || ![...body.keys()].some((at) => at.startsWith(`${key}/`))) {
      split.read.push(field)
    }
  }
  return split
}

function unreadable(field: Field, query: Group['query']): string | null {
  if (field.fault !== null) return field.fault
  if (field.objects > 0) return field.seen > 0 ? 'it is not always one type' : null
  if (field.seen === 0) return 'only null was seen'
  if (query.has(fold(pointerTokens(field.spelling).at(-1) ?? ''))) return 'the query has it too'
  return typeOf(field) === null ? 'no one type fits all that was seen' : null
}

/** One observed call: with no bounds it says that the types hold, and is there to grow with them. */
function testsOf(found: ReadonlyMap<string, Read>, note: Lost): readonly TestDraft[] {
  const args: Record<string, TestValue> = Object.create(null)
  for (const [name, { field, arg }] of found) {
    if (field.example === null && arg.type !== 'object') continue
    const value = field.example === null ? null : testValue(name, arg.type, field.example)
    if (value === null) {
      note(`no test was written: ${name} has no exact form there`)
      return []
    }
    args[name] = value
  }
  return [{ args, expect: 'pass' }]
}

/** Bounds are the operator's to set; the largest values seen stand beside the tool, ready to be. */
function notesOf(tool: string, calls: number, found: ReadonlyMap<string, Read>): readonly string[] {
  const lines = [...found].flatMap(([name, { field, arg }]) => {
    const most = 'path' in arg.from ? null : suggestion(arg.type, field)
    if (most === null) return []
    const bound = arg.optional ? `{if_present: ${most}}` : most
    return [`  ${constraintId(tool, name)}: {${name}: ${bound}}`]
  })
  if (lines.length === 0) return []
  const times = calls === 1 ? 'one call' : `${calls} calls`
  return [`the largest seen in ${times}, as bounds:`, 'constraints:', ...lines]
}
