import type { CedarValue } from '../../../ports/policy.js'
import { type ArgumentUse, bucketOf, mergeUses } from '../load/argument-buckets.js'
import { agentOf } from '../load/scope.js'
import type { LoadedPolicy } from '../policy-set.js'
import type { ActionShape } from '../schema.js'
import type { CedarRequest } from './request.js'

/** What of the context policies use, and how: the names that lead to it, in a fixed order. */
export type Uses = readonly (readonly [path: readonly string[], use: ArgumentUse])[]

/**
 * How policies about an agent use the context: nothing else of it can change its decision. For each agent that policies
 * name, and for all others, to whom only policies that name no agent apply.
 */
export function usesByAgent(
  policies: readonly LoadedPolicy[],
  { args, intent }: ActionShape,
): (agent: string) => Uses {
  const allArgs = byValue(args.map(({ name }) => name))
  const allIntent = byValue(intent === undefined ? [] : ['idp', 'mandate'])
  const usesOf = (agent: string | null): Uses => {
    const about = policies.filter(({ scope }) => {
      const named = agentOf(scope)
      return named === null || named === agent
    })
    return [
      ...merged(about.map(({ uses }) => uses ?? allArgs)).map(
        ([name, use]) => [['args', name], use] as const,
      ),
      ...merged(about.map(({ intentUses }) => intentUses ?? allIntent)).map(
        ([path, use]) => [path.split('.'), use] as const,
      ),
    ]
  }
  const named = new Map<string, Uses>()
  for (const { scope } of policies) {
    const agent = agentOf(scope)
    if (agent !== null && !named.has(agent)) named.set(agent, usesOf(agent))
  }
  const others = usesOf(null)
  return (agent) => named.get(agent) ?? others
}

const byValue = (names: readonly string[]): ReadonlyMap<string, ArgumentUse> =>
  new Map(names.map((name) => [name, 'value']))

/** Sorted by name. */
function merged(uses: readonly ReadonlyMap<string, ArgumentUse>[]): [string, ArgumentUse][] {
  const all = new Map<string, ArgumentUse>()
  for (const each of uses) {
    for (const [name, use] of each) all.set(name, mergeUses(all.get(name) ?? [], use))
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1))
}

/**
 * All that a decision depends on besides the slice and the grant: who, on what, and what is used of the context, in its
 * order: the bucket of what is only compared, the value of the rest. What is absent is null, which nothing in a context
 * is.
 */
export function keyOf(
  { principal, resource, entities, context }: CedarRequest,
  uses: Uses,
): string {
  const key: unknown[] = [principal.id, resource.id]
  for (const { attrs, parents } of entities) key.push(attrs, parents)
  for (const [path, use] of uses) {
    const value = valueAt(context, path)
    if (value === undefined) key.push(null)
    else key.push(use === 'value' ? value : (bucketOf(value, use) ?? value))
  }
  return JSON.stringify(key)
}

/** Own members only: an argument called `constructor` is absent unless it was sent. */
function valueAt(
  context: CedarRequest['context'],
  path: readonly string[],
): CedarValue | undefined {
  let at: unknown = context
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as { readonly [name: string]: unknown })[name]
  }
  return at as CedarValue
}
