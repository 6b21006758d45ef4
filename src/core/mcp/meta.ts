import type { Member } from '../json/spans.js'
import { membersOf } from '../json/spans.js'
import { isObject, type JsonObject } from '../json/value.js'

/** The gate's own keys: what an agent tells the gate, and the gate an agent. No server gets or sends them. */
export const OWN_PREFIX = 'dev.capsulegate/'
export const OWN = {
  idempotencyKey: `${OWN_PREFIX}idempotency-key`,
  approval: `${OWN_PREFIX}approval`,
  /** A declaration as a JSON object, and a mandate. */
  intent: `${OWN_PREFIX}intent`,
  mandate: `${OWN_PREFIX}mandate`,
  wait: `${OWN_PREFIX}wait`,
  action: `${OWN_PREFIX}action`,
  capsule: `${OWN_PREFIX}capsule`,
  verdict: `${OWN_PREFIX}verdict`,
  problem: `${OWN_PREFIX}problem`,
} as const

/** Mapped, never copied: tokens are unique among the clients of one server only if the gate makes them. */
export const PROGRESS_TOKEN = 'progressToken'
const PROTOCOL = 'io.modelcontextprotocol/'
const TRACE: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])

/** What passes in `_meta`, either way: the protocol's own keys, traces, and what the operator lists. */
export const passesInMeta = (name: string, listed: ReadonlySet<string>): boolean =>
  !name.startsWith(OWN_PREFIX) && (name.startsWith(PROTOCOL) || TRACE.has(name) || listed.has(name))

/** The members of an object's `_meta`; none where it has none. */
export function metaMembers(members: readonly Member[]): readonly Member[] {
  const meta = members.find(({ name }) => name === '_meta')
  return meta === undefined || !meta.value.startsWith('{') ? [] : membersOf(meta.value)
}

export function metaOf(value: JsonObject): JsonObject {
  const meta = value.get('_meta')
  return isObject(meta) ? meta : new Map()
}

/** The object without what may not pass in its `_meta`, and with `more` in it instead. */
export function withMeta(
  members: readonly Member[],
  listed: ReadonlySet<string>,
  more: readonly string[] = [],
): string {
  const passing = metaMembers(members)
    .filter(({ name }) => passesInMeta(name, listed))
    .map(({ text }) => text)
  const meta = [...passing, ...more]
  const rest = members.filter(({ name }) => name !== '_meta').map(({ text }) => text)
  return `{${[...rest, ...(meta.length === 0 ? [] : [`"_meta":{${meta.join(',')}}`])].join(',')}}`
}
