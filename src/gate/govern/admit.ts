import type { Admitted, Matched, Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { advance } from './advance.js'
import { type Refused, refuse } from './exit.js'

/** May this agent call this tool right now? */
export function admit(matched: Matched, parts: Parts): Admitted | Refused {
  const { identified } = matched
  const halt = haltFor(parts.halts(), {
    agent: identified.agent,
    tool: matched.rule.tool,
    operator: matched.world.operator,
  })
  if (halt !== null) return refuse(matched, 'halted', { observed: { ...halt } })
  return advance(matched, { agent: identified })
}
