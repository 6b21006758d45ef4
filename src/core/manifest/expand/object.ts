import { UNKNOWN_STATE } from '../../intent/object.js'
import { templateArgs, templatePieces } from '../../intent/object-id.js'
import type { Arg, ObjectModel } from '../model.js'
import { TOOL_NAME } from './names.js'
import type { RuleDraft } from './rule.js'
import { type Fields, type Node, type Reader, record } from './tree.js'

const KEYS = ['type', 'id', 'states', 'transitions']
const STATE = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/
const TEMPLATE = /^(?:[^{}\p{Cc}]|\{[A-Za-z][A-Za-z0-9_]{0,63}\}){1,256}$/u

/** `{type, id: order, states: [open, closed], transitions: {close: {from: open, to: closed}}}`. */
export function expandObject(
  reader: Reader,
  node: Node | undefined,
  drafts: readonly RuleDraft[],
): ObjectModel | undefined {
  const fields = reader.fields(node, KEYS)
  if (node === undefined || fields === undefined) return undefined
  for (const name of ['type', 'id', 'states']) {
    if (!fields.has(name)) reader.problem(node, `the object has no ${name}`, `write ${name}`)
  }
  const type = reader.text(fields.get('type'), TOOL_NAME, "a type's name like order")
  const id = readId(reader, fields.get('id'), drafts)
  const states = readStates(reader, fields.get('states'))
  const transitions = readTransitions(reader, fields, states, drafts)
  if (type === undefined || id === undefined || states === undefined) return undefined
  for (const draft of drafts) {
    if (Object.hasOwn(transitions, draft.rule.action)) checkIdentifies(reader, draft, id)
  }
  return { type, id, states, transitions }
}

function readId(
  reader: Reader,
  node: Node | undefined,
  drafts: readonly RuleDraft[],
): string | undefined {
  const text = reader.text(node, TEMPLATE, 'a template like "{order}" or "booking:{id}"')
  if (text === undefined || node === undefined) return undefined
  const template = text.includes('{') ? text : `{${text}}`
  const names = text.includes('{') ? templateArgs(template) : [text]
  const declaring = drafts.filter(({ rule }) => rule.intent !== undefined)
  const users = declaring.length > 0 ? declaring : drafts
  const lost = names.find((name) => users.every(({ rule }) => !Object.hasOwn(rule.args, name)))
  if (lost !== undefined) {
    const of = declaring.length > 0 ? 'a tool with intent' : 'any tool'
    return reader.problem(
      node,
      `id names no argument of ${of}: ${lost}`,
      'name one of args, as in "{order}" or "booking:{id}"',
    )
  }
  const between = templatePieces(template)
    .filter((_, index) => index % 2 === 0)
    .slice(1, -1)
  if (between.every((literal) => /[:/]/.test(literal))) return template
  return reader.problem(
    node,
    'two objects could have one id: nothing stands between two arguments',
    'write : or / between them, as in "{tenant}:{order}"',
  )
}

function readStates(reader: Reader, node: Node | undefined): readonly string[] | undefined {
  const members = reader.list(node)
  if (node === undefined || members === undefined) return undefined
  if (members.length === 0) {
    return reader.problem(node, 'the object has no states', 'states: [open, closed]')
  }
  const states: string[] = []
  for (const member of members) {
    const state = reader.text(member, STATE, 'a state like open')
    if (state === undefined) continue
    if (state === UNKNOWN_STATE) {
      reader.problem(member, `${state} is the gate's own state`, 'use a name of yours')
    } else if (states.includes(state)) {
      reader.problem(member, `the state ${state} is there twice`, 'list each once')
    } else states.push(state)
  }
  return states
}

function readTransitions(
  reader: Reader,
  fields: Fields,
  states: readonly string[] | undefined,
  drafts: readonly RuleDraft[],
): ObjectModel['transitions'] {
  const out = record<ObjectModel['transitions'][string]>()
  const actions = [...new Set(drafts.map(({ rule }) => rule.action))]
  for (const [action, node] of reader.fields(fields.get('transitions'), null) ?? []) {
    if (!actions.includes(action)) {
      reader.problem(node, `no tool has the action ${action}`, `one of: ${actions.join(', ')}`)
    }
    const members = reader.fields(node, ['from', 'to'])
    if (members === undefined) continue
    const from = readFrom(reader, members.get('from'), states)
    const to = readState(reader, members.get('to'), states)
    if (from.length > 0 && to !== undefined) out[action] = { from, to }
    else if (!members.has('from') || !members.has('to')) {
      reader.problem(node, 'a transition needs both ends', '{from: open, to: closed}')
    }
  }
  return out
}

/** One state, or a list of them. */
function readFrom(
  reader: Reader,
  node: Node | undefined,
  states: readonly string[] | undefined,
): readonly string[] {
  const members = Array.isArray(node?.value) ? reader.list(node) : node === undefined ? [] : [node]
  const from = (members ?? []).flatMap((member) => readState(reader, member, states) ?? [])
  if (node !== undefined && members?.length === 0) {
    reader.problem(node, 'the transition comes from no state', '{from: [open, paid], to: closed}')
  }
  if (node !== undefined && new Set(from).size < from.length) {
    reader.problem(node, 'a state is listed twice', 'list each once')
  }
  return from
}

function readState(
  reader: Reader,
  node: Node | undefined,
  states: readonly string[] | undefined,
): string | undefined {
  const state = reader.text(node, STATE, 'a state like open')
  if (state === undefined || node === undefined) return undefined
  if (states === undefined || states.includes(state)) return state
  return reader.problem(node, `there is no state ${state}`, `one of: ${states.join(', ')}`)
}

const NAMELESS: readonly Arg['type'][] = ['strings', 'object', 'objects']

/** A call that changes an object must always say which, or it would change what another mandate is about. */
function checkIdentifies(reader: Reader, { rule, node }: RuleDraft, id: string): void {
  if (rule.intent === undefined) return
  for (const name of templateArgs(id)) {
    const arg = Object.hasOwn(rule.args, name) ? rule.args[name] : undefined
    const changes = `${rule.tool} changes the object`
    if (arg === undefined) {
      reader.problem(node, `${changes} and has no argument ${name}`, 'add it to args')
    } else if (arg.optional) {
      reader.problem(node, `${changes} and ${name} is optional`, `write ${name}: ${arg.type}`)
    } else if (NAMELESS.includes(arg.type)) {
      const message = `${changes} and ${name} is of the type ${arg.type}, which names none`
      reader.problem(node, message, `write ${name}: string`)
    }
  }
}
