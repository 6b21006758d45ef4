import type { Agent } from '../../../core/call/agent.js'
import { availableActions } from '../../../core/intent/available-actions.js'
import type { Mandate } from '../../../core/intent/model.js'
import type { Governed, World } from '../../context.js'

const MOST_ACTIONS = 32

/**
 * The mandate's actions in this state of its object, by the heads of policies alone: names, never conditions (seed
 * intent-declaration-primitive-01 §8.3).
 */
export function openActions(
  { mandate, object, agent }: { mandate: Mandate; object: Governed; agent: Agent },
  world: World,
  refused: string | null = null,
): readonly string[] {
  const resources = new Map<string, string[]>()
  for (const { manifest } of world.manifests) {
    for (const { action, resource } of manifest.rules) {
      resources.set(action, [...(resources.get(action) ?? []), resource])
    }
  }
  const { agent: principal, roles } = agent
  return availableActions({
    model: object.model,
    state: object.state,
    mandateActions: mandate.actions,
    permittedStates: mandate.permittedStates,
    refused,
    most: MOST_ACTIONS,
    mayPermit: (action) =>
      (resources.get(action) ?? []).some((resource) =>
        world.policy.mayPermit({ principal, roles, action, resource }),
      ),
  })
}
