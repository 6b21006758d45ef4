import { parse } from '../../../core/json/parse.js'
import { isObject, type JsonObject } from '../../../core/json/value.js'
import { escapePointer, fold } from '../../../core/manifest/route/pointer.js'
import { mediaFault } from '../../../core/manifest/route/read-body.js'
import { readTarget, type Target } from '../../../core/manifest/route/target.js'
import type { ToolDraft } from '../draft.js'
import { type Field, newField, see } from './field.js'
import { type Shape, shapeKey, shapeOf } from './shape.js'
import { toolOf } from './tool.js'

/** A call that reached the API and was answered with success. */
export type Observed = {
  readonly method: string
  readonly target: string
  readonly contentType: string | null
  readonly body: Uint8Array
}

const MAX_GROUPS = 256
const MAX_FIELDS = 64
const MAX_DEPTH = 4

export function createLearner() {
  const groups = new Map<string, Group>()
  let unread = 0
  let over = 0

  return {
    see(call: Observed): void {
      const read = readTarget(call.target)
      if (!read.ok) {
        unread++
        return
      }
      const shape = shapeOf(read.target.segments)
      const key = shapeKey(call.method, shape)
      if (!groups.has(key) && groups.size === MAX_GROUPS) {
        over++
        return
      }
      const group = groups.get(key) ?? newGroup(call.method, shape)
      groups.set(key, group)
      seeCall(group, call, read.target)
    },
    tools(): { readonly tools: readonly ToolDraft[]; readonly lost: readonly string[] } {
      const lost: string[] = []
      const names = new Set<string>()
      const tools = [...groups.values()].map((group) => toolOf(group, names, lost))
      if (unread > 0) lost.push(`${unread} calls: their targets cannot be read`)
      if (over > 0) lost.push(`${over} calls: left out: over ${MAX_GROUPS} kinds of path`)
      return { tools, lost }
    },
  }
}

/** All calls of one method and path shape, folded as they come: a year of traffic is never held. */
export type Group = ReturnType<typeof newGroup>

const newGroup = (method: string, shape: Shape) => ({
  method,
  shape,
  calls: 0,
  /** Calls that had a body. */
  bodies: 0,
  params: shape.filter((part) => part === null).map(() => newField('', '')),
  /** By folded name: servers differ on whether case matters, so the gate reads one spelling only. */
  query: new Map<string, Field>(),
  /** By folded pointer; objects have a field too. */
  body: new Map<string, Field>(),
  /** Why no argument is read there, once one call had no such thing to read. */
  queryFault: null as string | null,
  bodyFault: null as string | null,
  crowded: false,
})

function seeCall(group: Group, call: Observed, target: Target): void {
  const first = group.calls++ === 0
  const ids = target.segments.filter((_, index) => group.shape[index] === null)
  ids.forEach(({ text }, index) => {
    const param = group.params[index]
    if (param !== undefined) see(param, { kind: 'text', value: text }, first)
  })
  seeQuery(group, target, first)
  // A call without a body makes every argument in it optional, and is read all the same.
  if (call.body.length === 0) return
  group.bodies++
  if (group.bodyFault !== null) return
  const body = jsonObject(call)
  if (typeof body === 'string') group.bodyFault = body
  else seeMembers(group, body, [], '', first)
}

/** As manifests spell what they read from a query. */
const READABLE = /^[^\p{Cc}[\]]{1,128}$/u

function seeQuery(group: Group, { query, splitAtSemicolons }: Target, first: boolean): void {
  if (splitAtSemicolons !== null) group.queryFault = 'a query with a raw ";" in it is not read'
  const here = new Set<string>()
  for (const [name, value] of [...query, ...(splitAtSemicolons ?? [])]) {
    const bare = name.split('[', 1)[0] ?? ''
    const field = fieldOf(group, group.query, fold(bare), bare, bare)
    if (field === null) continue
    field.names.add(name)
    if (!READABLE.test(bare)) field.fault = 'a manifest cannot name it'
    if (name !== bare) field.fault = 'a list in a query has as many spellings as servers'
    if (here.has(fold(bare))) field.fault = 'it is in one query twice'
    here.add(fold(bare))
    see(field, { kind: 'text', value }, first)
  }
}

function fieldOf(
  group: Group,
  fields: Map<string, Field>,
  key: string,
  spelling: string,
  wanted: string,
): Field | null {
  const known = fields.get(key)
  if (known !== undefined) {
    known.names.add(spelling)
    if (known.spelling !== spelling) known.fault = `it is also spelled ${spelling}`
    return known
  }
  if (fields.size === MAX_FIELDS) {
    group.crowded = true
    return null
  }
  const field = newField(spelling, wanted)
  fields.set(key, field)
  return field
}

/** Once arguments are read from a body, any other kind of body is refused. */
function jsonObject({ body, contentType }: Observed): JsonObject | string {
  const fault = mediaFault(contentType === null ? [] : [['content-type', contentType]])
  if (fault !== null) return fault
  const parsed = parse(body)
  if (!parsed.ok) return 'a body was seen that is not JSON'
  return isObject(parsed.value) ? parsed.value : 'a body was seen that is no JSON object'
}

function seeMembers(
  group: Group,
  object: JsonObject,
  path: readonly string[],
  pointer: string,
  first: boolean,
): void {
  for (const [name, value] of object) {
    const at = `${pointer}/${escapePointer(name)}`
    const names = [...path, name]
    const field = fieldOf(group, group.body, fold(at), at, names.join('_'))
    // To the gate a null member is absent, yet its name is there.
    if (field === null || value === null) continue
    if (!isObject(value)) see(field, { kind: 'json', value }, first)
    else if (path.length === MAX_DEPTH) field.fault = 'it is nested too deeply'
    else {
      field.objects++
      seeMembers(group, value, names, at, first)
    }
  }
}
