import type { QueryReading } from './reading.js'
import { isMethodOverride, resembles } from './resemble.js'
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
  if (target.semicolon && reading.args.size > 0) return refuse('the query holds a raw ";"')
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
    if (reading.listed.has(name)) {
      notJudged.push(pair)
      continue
    }
    const clash = reading.guarded.find((guarded) => resembles(name, guarded))
    if (clash !== undefined) {
      const taken = JSON.stringify(name)
      return refuse(`the query holds ${taken}, which servers may read as ${clash.shown}`)
    }
    if (isMethodOverride(name)) {
      return refuse(`the query holds ${JSON.stringify(name)}, which servers may take for a method`)
    }
    if (isLet(name, reading)) notJudged.push(pair)
    else notRead.push(name)
  }
  return { ok: true, values, notJudged, notRead }
}

function isLet(name: string, reading: QueryReading): boolean {
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
