import { type Also, LET_EVERYTHING, type Manifest, type ToolRule } from '../model.js'
import { pointerTokens } from './pointer.js'
import { type Guarded, guard, plain } from './resemble.js'

/**
 * What a rule reads of a request and what it lets through unread, worked out once per rule. Anything
 * else refuses the call: frameworks act on what the gate ignores (DESIGN §3 "Reading requests").
 */
export type Reading = {
  readonly query: QueryReading
  /** Null: the rule reads no body. Then a body is refused, or passes whole (`also.body: any`). */
  readonly members: Member | null
  /** What then becomes of a body. */
  readonly unread: 'refused' | 'let_through'
  /** A call without a body cannot be this tool's. */
  readonly needsBody: boolean
  /** Arguments read elsewhere than in the body: there they would be a second value. */
  readonly notInBody: readonly Guarded[]
}
export type QueryReading = {
  /** Wire names that arguments are read from. */
  readonly args: ReadonlySet<string>
  readonly let: 'any' | 'plain_names' | 'listed'
  readonly listed: ReadonlySet<string>
  /** Names that would be a second value of some argument. */
  readonly guarded: readonly Guarded[]
}
/** A member of the body: which arguments it is, and what may stand below it. */
export type Member = {
  readonly args: string[]
  /** Everything below is read (an argument, `$body`), or let through by `also`. */
  below: 'read' | 'let_through' | 'refused'
  readonly members: Map<string, Member>
  /** Letters and digits of the members' names, to find look-alikes. */
  readonly plain: Map<string, string>
}

export function readingOf(rule: ToolRule, manifest: Manifest): Reading {
  const also = rule.also ?? LET_EVERYTHING
  const members = membersOf(rule, manifest, also)
  return {
    query: queryReading(rule, also),
    members,
    unread: also.body === 'any' ? 'let_through' : 'refused',
    needsBody:
      readsWholeBody(rule, manifest) ||
      Object.values(rule.args).some(({ from, optional }) => from.in === 'body' && !optional),
    notInBody: guardedOutside(rule, 'body'),
  }
}

/** Null without a body argument, `$body` or a listed pointer: the body is then not read as JSON. */
function membersOf(rule: ToolRule, manifest: Manifest, also: Also): Member | null {
  const root = newMember(also.body === 'any' ? 'let_through' : 'refused')
  const whole = readsWholeBody(rule, manifest)
  if (whole) root.below = 'read'
  let reads = whole
  for (const [name, { from }] of Object.entries(rule.args)) {
    if (from.in !== 'body') continue
    const leaf = memberAt(root, pointerTokens(from.pointer))
    leaf.args.push(name)
    leaf.below = 'read'
    reads = true
  }
  for (const pointer of also.body === 'any' ? [] : also.body) {
    const leaf = memberAt(root, pointerTokens(pointer))
    if (leaf.below === 'refused') leaf.below = 'let_through'
    reads = true
  }
  return reads ? root : null
}

const readsWholeBody = (rule: ToolRule, manifest: Manifest): boolean =>
  rule.constraints.some((id) =>
    Object.values(manifest.constraints[id]?.select ?? {}).includes('$body'),
  )

export const newMember = (below: Member['below']): Member => ({
  args: [],
  below,
  members: new Map(),
  plain: new Map(),
})

function memberAt(root: Member, tokens: readonly string[]): Member {
  let at = root
  for (const token of tokens) {
    let next = at.members.get(token)
    if (next === undefined) {
      next = newMember('refused')
      at.members.set(token, next)
      if (plain(token) !== '') at.plain.set(plain(token), token)
    }
    at = next
  }
  return at
}

function queryReading(rule: ToolRule, also: Also): QueryReading {
  const args = new Set<string>()
  for (const { from } of Object.values(rule.args)) if (from.in === 'query') args.add(from.name)
  const twoWay = rule.effect.irreversibility_class === 'two_way'
  return {
    args,
    let: also.query === 'any' ? 'any' : twoWay ? 'plain_names' : 'listed',
    listed: new Set(also.query === 'any' ? [] : also.query),
    guarded: [...[...args].map((name) => guard(name)), ...guardedOutside(rule, 'query')],
  }
}

/** By the argument's own name and by its name on the wire: handlers that merge know either. */
function guardedOutside(rule: ToolRule, part: 'query' | 'body'): readonly Guarded[] {
  return Object.entries(rule.args).flatMap(([name, { from }]) => {
    if (from.in === part) return []
    if (from.in !== 'body') return [guard(name), guard(from.name)]
    const tokens = pointerTokens(from.pointer)
    return [guard(name), guard(tokens.at(-1) ?? name), guard(tokens.join('_'), tokens)]
  })
}
