import type { QueryReading } from './reading.js'
import { resemblance } from './resemble.js'
import type { QueryPair, Target } from './target.js'

export type QueryRead =
  | {
      readonly ok: true
      /** By wire name, of the names that arguments are read from. */
      readonly values: ReadonlyMap<string, string>
      readonly notJudged: readonly QueryPair[]
      /** Names that the rule neither reads nor lets through. */
      readonly notRead: readonly string[]
    }
  | { readonly ok: false; readonly detail: string }

/** Names that every server takes as they stand. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]+$/
const NOTHING: QueryRead = { ok: true, values: new Map(), notJudged: [], notRead: [] }

export function readQuery(target: Target | null, reading: QueryReading): QueryRead {
  if (target === null || target.query.length === 0) return NOTHING
  const { splitAtSemicolons } = target
  if (splitAtSemicolons !== null && reading.args.size > 0) {
    return refuse('the query holds a raw ";"')
  }
  const values = new Map<string, string>()
  const notJudged: QueryPair[] = []
  const notRead: string[] = []
  for (const pair of target.query) {
    const [name, value] = pair
    if (reading.args.has(name)) {
      if (values.has(name)) return refuse(`the query holds ${JSON.stringify(name)} twice`)
      values.set(name, value)
      continue
    }
    const fault = faultOf(name, reading)
    if (fault !== null) return refuse(fault)
    if (isLet(name, reading)) notJudged.push(pair)
    else notRead.push(name)
  }
  for (const [name] of splitAtSemicolons ?? []) {
    const fault = faultOf(name, reading)
    if (fault !== null) return refuse(fault)
    if (!isLet(name, reading)) notRead.push(name)
  }
  return { ok: true, values, notJudged, notRead }
}

/** Null where `also` spells the name, or nothing resembles it. */
const faultOf = (name: string, { listed, guarded }: QueryReading): string | null =>
  listed.has(name) ? null : resemblance('query', name, guarded)

function isLet(name: string, reading: QueryReading): boolean {
  if (reading.listed.has(name)) return true
  switch (reading.let) {
    case 'any':
      return true
    case 'plain_names':
      return PLAIN_NAME.test(name)
    case 'listed':
      return false
  }
}

const refuse = (detail: string): QueryRead => ({ ok: false, detail })
