import type { JsonValue } from '../../json/value.js'
import type { ArgValue } from '../constraint/typed-value.js'
import type { QueryPair } from './target.js'

export type Args = ReadonlyMap<string, ArgValue>

/** What the rule lets through without reading it (`also`, plain query names of a two-way tool). */
export type NotJudged = {
  readonly query: readonly QueryPair[]
  readonly members: readonly (readonly [pointer: string, value: JsonValue])[]
  /** There is a body, and the rule does not read it. */
  readonly body: boolean
}
/** Query names and JSON pointers that the rule neither reads nor lets through. */
export type NotRead = { readonly query: readonly string[]; readonly members: readonly string[] }

export type ReadRefusal = {
  readonly ok: false
  readonly code: 'body_unreadable' | 'body_not_read' | 'arg_missing' | 'arg_type' | 'arg_ambiguous'
  readonly detail: string
  /** The argument's name, when one is to blame. */
  readonly arg?: string
}
export const refuse = (code: ReadRefusal['code'], detail: string, arg?: string): ReadRefusal =>
  arg === undefined ? { ok: false, code, detail } : { ok: false, code, detail, arg }
