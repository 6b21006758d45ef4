import { isArray, isObject, type JsonValue } from '../../json/value.js'
import { escapePointer } from './pointer.js'
import type { Member } from './reading.js'
import { type Guarded, plain, readAs, resemblance } from './resemble.js'

export type MembersRead =
  | {
      readonly ok: true
      /** By argument; what is null or not there is missing. */
      readonly values: ReadonlyMap<string, JsonValue>
      readonly notJudged: readonly (readonly [pointer: string, value: JsonValue])[]
      /** Pointers of members that the rule neither reads nor lets through. */
      readonly notRead: readonly string[]
    }
  | { readonly ok: false; readonly detail: string }

/** One walk over a body: the arguments in it, and everything beside them. */
export function readMembers(
  body: JsonValue,
  root: Member,
  notInBody: readonly Guarded[],
): MembersRead {
  const walk: Walk = { values: new Map(), notJudged: [], notRead: [], notInBody, fault: null }
  visit(body, root, '', root.below, walk)
  return walk.fault === null ? { ok: true, ...walk } : { ok: false, detail: walk.fault }
}

type Walk = {
  readonly values: Map<string, JsonValue>
  readonly notJudged: [string, JsonValue][]
  readonly notRead: string[]
  readonly notInBody: readonly Guarded[]
  fault: string | null
}

/** `below` is what holds for members that no argument and no `also` pointer names. */
function visit(
  value: JsonValue,
  member: Member,
  pointer: string,
  below: Member['below'],
  walk: Walk,
): void {
  if (value !== null) for (const arg of member.args) walk.values.set(arg, value)
  const inner = member.below === 'refused' ? below : member.below
  // Nothing below is looked for: all of it is the argument's, or was let through.
  if (member.members.size === 0 && pointer !== '') {
    if (inner === 'let_through') walk.notJudged.push([pointer, value])
    return
  }
  if (isObject(value)) {
    for (const [name, child] of value) {
      const at = `${pointer}/${escapePointer(name)}`
      const known = member.members.get(name)
      if (known !== undefined) visit(child, known, at, inner, walk)
      else {
        walk.fault ??= lookAlike(name, member, pointer === '' ? walk.notInBody : null)
        leave(child, at, inner, walk)
      }
    }
  } else if (isArray(value)) {
    for (const [index, child] of value.entries()) {
      const at = `${pointer}/${index}`
      const known = member.members.get(String(index))
      if (known !== undefined) visit(child, known, at, inner, walk)
      else leave(child, at, inner, walk)
    }
  } else if (value !== null) leave(value, pointer, inner, walk)
}

function leave(value: JsonValue, pointer: string, below: Member['below'], walk: Walk): void {
  switch (below) {
    case 'read':
      return
    case 'let_through':
      walk.notJudged.push([pointer, value])
      return
    case 'refused':
      walk.notRead.push(pointer)
  }
}

/** Protobuf's JSON takes `userId` for `user_id`, Go and Jackson ignore letter case. */
function lookAlike(
  name: string,
  member: Member,
  /** Only at the top, where handlers merge a body with the query. */
  notInBody: readonly Guarded[] | null,
): string | null {
  const meant = member.plain.get(plain(name))
  if (meant !== undefined) return readAs('body', name, meant)
  return notInBody === null ? null : resemblance('body', name, notInBody)
}
