import type { Header, ReadCall } from '../../call/call.js'
import { headersOf } from '../../call/parts.js'
import type { JsonValue } from '../../json/value.js'
import { type ArgValue, type Raw, typedValue } from '../constraint/typed-value.js'
import type { ArgType } from '../model.js'
import type { Match, RouteArg } from './match.js'
import { readBody } from './read-body.js'
import { readQuery } from './read-query.js'
import { type Args, type NotJudged, type NotRead, type ReadRefusal, refuse } from './read-result.js'

export type ArgsRead =
  | {
      readonly ok: true
      readonly args: Args
      /** The exact JSON text, where the rule reads the body. */
      readonly body: string | null
      readonly notJudged: NotJudged
      /** Refuses the call, but in observe mode. */
      readonly notRead: NotRead
    }
  | ReadRefusal

type Matched = Extract<Match, { ok: true }>

export function readArgs(matched: Matched, call: ReadCall): ArgsRead {
  const { reading } = matched.route
  const body = readBody(reading, call)
  if (!body.ok) return body
  const query = readQuery(matched.target, reading.query)
  if (!query.ok) return refuse('arg_ambiguous', query.detail)
  const args = new Map<string, ArgValue>()
  for (const prepared of matched.route.args) {
    const { name, arg } = prepared
    const raw = find(prepared, matched, call, query.values, body.values)
    if (raw.kind === 'ambiguous') return refuse('arg_ambiguous', raw.detail, name)
    if (raw.kind === 'absent') {
      if (arg.optional) continue
      return refuse('arg_missing', `${name} is required`, name)
    }
    const value = typedValue(arg.type, raw)
    if (value === null) return refuse('arg_type', `${name} is not ${NOUN[arg.type]}`, name)
    args.set(name, value)
  }
  return {
    ok: true,
    args,
    body: body.text,
    notJudged: { query: query.notJudged, members: body.notJudged, body: body.unread },
    notRead: { query: query.notRead, members: body.notRead },
  }
}

const NOUN: Readonly<Record<ArgType, string>> = {
  string: 'a string',
  integer: 'a whole number',
  decimal: 'an exact decimal in plain notation',
  boolean: 'true or false',
  strings: 'a list of strings',
  object: 'an object',
  objects: 'a list of objects',
}

function find(
  { name, arg }: RouteArg,
  matched: Matched,
  call: ReadCall,
  query: ReadonlyMap<string, string>,
  members: ReadonlyMap<string, JsonValue>,
): Raw | Unfound {
  const { from } = arg
  switch (from.in) {
    case 'body': {
      const value = members.get(name)
      return value === undefined ? ABSENT : { kind: 'json', value }
    }
    case 'query':
      return textOf(query.get(from.name))
    case 'path':
      return textOf(matched.params.get(from.name))
    case 'header':
      return findHeader(from.name, headersOf(call))
  }
}

type Unfound = { readonly kind: 'absent' } | { readonly kind: 'ambiguous'; readonly detail: string }
const ABSENT = { kind: 'absent' } as const
const textOf = (value: string | undefined): Raw | Unfound =>
  value === undefined ? ABSENT : { kind: 'text', value }

function findHeader(wanted: string, headers: readonly Header[]): Raw | Unfound {
  let only: string | undefined
  for (const [name, value] of headers) {
    if (name !== wanted) continue
    if (only !== undefined) {
      return { kind: 'ambiguous', detail: `the header ${wanted} occurs twice` }
    }
    only = value
  }
  return textOf(only)
}
