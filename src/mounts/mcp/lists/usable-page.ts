import type { Agent } from '../../../core/call/agent.js'
import { membersOf } from '../../../core/json/spans.js'
import type { JsonObject } from '../../../core/json/value.js'
import type { ListMethod } from '../../../core/mcp/methods.js'
import type { McpGate, Served } from '../options.js'
import { type Definitions, entriesOf, type Listed } from './definitions.js'
import { mayUse, type Usable } from './usable.js'

/** What a list holds, what its entries are found by, and what part of a server they are. */
const OF: Readonly<
  Record<ListMethod, { readonly list: string; readonly by: string; readonly part: Usable['part'] }>
> = {
  'tools/list': { list: 'tools', by: 'name', part: 'tool' },
  'prompts/list': { list: 'prompts', by: 'name', part: 'prompt' },
  'resources/list': { list: 'resources', by: 'uri', part: 'resource' },
  'resources/templates/list': { list: 'resourceTemplates', by: 'uriTemplate', part: 'template' },
}

/**
 * One page of a list with what its caller could use: a rule names it, policy does not rule it out from the
 * start, and it is what was accepted. Entries that stay are as the server wrote them.
 */
export async function usablePage(
  method: ListMethod,
  { text, value }: { readonly text: string; readonly value: JsonObject },
  agent: Agent,
  of: {
    readonly gate: Pick<McpGate, 'read'>
    readonly served: Pick<Served, 'name'>
    readonly definitions: Definitions
  },
): Promise<string> {
  const { list, by, part } = OF[method]
  const entries = entriesOf(text, value, list)
  if (part === 'tool') await of.definitions.seen(entries)
  const changed = part === 'tool' ? await changedTools(of) : new Set<string>()
  const judges = of.gate.read.judges()
  const stays = ({ value: entry }: Listed): boolean => {
    const name = entry.get(by)
    if (typeof name !== 'string' || changed.has(name)) return false
    return mayUse({ server: of.served.name, part, name }, agent, judges)
  }
  const kept = entries.filter(stays).map((entry) => entry.text)
  const members = membersOf(text).map((member) => {
    if (member.name === list) return `${JSON.stringify(list)}:[${kept.join(',')}]`
    // It is this caller's list: no cache may give it to another.
    if (member.name === 'cacheScope') return '"cacheScope":"private"'
    return member.text
  })
  return `{${members.join(',')}}`
}

async function changedTools(of: {
  readonly gate: Pick<McpGate, 'read'>
  readonly served: Pick<Served, 'name'>
}): Promise<ReadonlySet<string>> {
  const pins = await of.gate.read.pins()
  return new Set(
    pins.flatMap(({ server, tool, changed }) =>
      server === of.served.name && changed !== null ? [tool] : [],
    ),
  )
}
