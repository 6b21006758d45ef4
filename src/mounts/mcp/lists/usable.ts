import type { Agent } from '../../../core/call/agent.js'
import { isMcpMatch } from '../../../core/manifest/model.js'
import type { Route } from '../../../core/manifest/route/match.js'
import { matchServer } from '../../../core/manifest/route/match-server.js'
import type { World } from '../../../gate/context.js'

/** Something of a server that a list names. A template stands for many resources. */
export type Usable = {
  readonly server: string
  readonly part: 'tool' | 'prompt' | 'resource' | 'template'
  readonly name: string
}
type Judges = Pick<World, 'router' | 'policy' | 'mode'>

const METHOD = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const

/** Whether a rule names it, and policy's scope does not rule this caller out whatever the arguments. */
export function mayUse(usable: Usable, agent: Agent, judges: Judges): boolean {
  return routesFor(usable, judges).some(({ rule, manifest }) => {
    if (judges.mode === 'observe' || manifest.mode === 'observe') return true
    const { action, resource } = rule
    return judges.policy.mayPermit({ principal: agent.agent, roles: agent.roles, action, resource })
  })
}

function routesFor({ server, part, name }: Usable, { router }: Judges): readonly Route[] {
  if (part !== 'template') {
    const found = matchServer(router, { kind: 'server', server, method: METHOD[part], name })
    return found.ok ? [found.route] : []
  }
  const literal = name.split('{')[0] ?? ''
  return (router.byServer.get(server) ?? []).filter(({ rule: { match } }) => {
    if (!isMcpMatch(match) || !('resource' in match)) return false
    const fixed = match.resource.endsWith('*') ? match.resource.slice(0, -1) : match.resource
    return fixed.startsWith(literal) || (match.resource !== fixed && literal.startsWith(fixed))
  })
}
