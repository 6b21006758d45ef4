import type { Admitted, Matched, Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { advance } from './advance.js'
import { type Refused, refuse } from './exit.js'

/** May this agent call this tool right now? */
export function admit(matched: Matched, parts: Parts): Admitted | Refused {
  const { identified: agent, rule, world } = matched
  const call = { agent: agent.agent, tool: rule.tool, operator: world.operator }
  const halt = haltFor(parts.halts(), call)
  return halt === null
    ? advance(matched, { agent })
    : refuse(matched, 'halted', { observed: { ...halt } })
}
