import { type ServerTool, serverToolOf } from '../../core/call/parts.js'
import type { Admitted, Matched, Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { advance } from './advance.js'
import { type Refused, refuse } from './exit.js'

/**
 * May this agent call this tool right now? At once, but for tools of MCP servers, whose description is
 * looked up.
 */
export function admit(
  matched: Matched,
  parts: Parts,
): Admitted | Refused | Promise<Admitted | Refused> {
  const { identified: agent, rule, world } = matched
  const call = { agent: agent.agent, tool: rule.tool, operator: world.operator }
  const halt = haltFor(parts.halts(), call)
  if (halt !== null) return refuse(matched, 'halted', { observed: { ...halt } })
  const called = serverToolOf(matched.call)
  return called === null ? advance(matched, { agent }) : admitDescribed(matched, called, parts)
}

/**
 * A tool is called only while its server describes it as the manifest says or, where that says nothing, as it
 * was first seen or accepted: what an agent reads there steers it. Neither mode relaxes this (DESIGN §6).
 */
async function admitDescribed(
  matched: Matched,
  { server, tool, definition, notTold }: ServerTool,
  parts: Parts,
): Promise<Admitted | Refused> {
  const pin = await parts.state.pin(server, tool)
  const wanted = matched.rule.definition ?? pin?.definition
  // The server may have shown another description to somebody else since this caller read it.
  const last = pin === null ? wanted : (pin.changed ?? pin.definition)
  if (wanted === undefined || (definition === wanted && last === wanted)) {
    return advance(matched, { agent: matched.identified })
  }
  // Of a server that says nothing it is not known whether it changed anything, and nothing is sent to it.
  if (notTold) return refuse(matched, 'upstream_unreachable', { observed: 'server_not_ready' })
  const seen = definition === wanted ? last : definition
  return refuse(matched, 'tool_changed', { observed: { pinned: wanted, seen } })
}
