import type { Mandate } from '../../../core/intent/model.js'
import {
  currentState,
  isPossible,
  transitionOf,
  UNKNOWN_STATE,
} from '../../../core/intent/object.js'
import type { Session } from '../../../ports/state.js'
import type { Admitted, Intended, OnRecord, Parts } from '../../context.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { haltFor } from '../../operate/halt.js'
import { demandsPerson } from '../demands-person.js'
import { governedObject } from '../governed-object.js'

/** What the call stands on, after its declaration is on record: session, mission, state of the object, mandate. */
export async function mayProceed(
  admitted: Admitted,
  { intent, mandate }: { readonly intent: OnRecord; readonly mandate: Mandate },
  parts: Parts,
): Promise<Intended | Refused> {
  const { actionId, rule, manifest, agent, world } = admitted
  const model = manifest.object ?? null
  // One transition of an object at a time: another would be judged in a state that is about to change.
  const changes = model !== null && transitionOf(model, rule.action) !== undefined
  const claim = changes ? await parts.state.claim(`object ${mandate.soId}`, actionId) : null
  const onRecord = await parts.state.object(mandate.soId)
  const object = governedObject(mandate.soId, model, onRecord)
  const { state } = object
  const known = advance(admitted, { intent, mandate, object })

  const { sessionId } = intent.intent
  const about = { agent: agent.agent, operator: world.operator, sessionId }
  const halt = haltFor(parts.halts(), about)
  if (halt !== null) return refuse(known, 'halted', { observed: { ...halt } })
  const session = await parts.state.session(sessionId)
  if (session === null) return refuse(known, 'session_over')
  const waits = await waitsFor(known, session, parts)
  if (waits !== null) return refuse(known, 'session_pending', {}, { approval_id: waits })
  for (const mission of new Set([mandate.missionRef, intent.intent.missionRef])) {
    const phase = mission === null ? null : await parts.state.mission(mission)
    if (phase !== null) return refuse(known, 'mission_invalid', { observed: phase })
  }
  if (claim?.kind === 'held') {
    const details = { retry_after_seconds: 1 }
    return refuse(known, 'object_state_invalid', { observed: 'in_transition' }, details)
  }
  if (!isReachable(known)) {
    const now = model === null ? (state ?? UNKNOWN_STATE) : currentState(model, state)
    return refuse(known, 'object_state_invalid', { observed: now }, { object_state: now })
  }
  if (!mandate.actions.includes(rule.action)) return refuse(known, 'mandate_scope')
  const last = onRecord?.principal ?? null
  if (rule.cross_principal === 'refuse' && last !== null && last !== principalOf(known, parts)) {
    return refuse(known, 'cross_principal')
  }
  return known
}

/** The pseudonym of the human principal behind a call; without one, of its agent. */
export const principalOf = (
  { mandate, agent }: Pick<Intended, 'mandate' | 'agent'>,
  { tenant }: Pick<Parts, 'tenant'>,
): string => tenant.principal(mandate?.principal ?? agent.agent)

/**
 * The request to people that stops the session. Not where it is about this very call, and a person has granted it or
 * this declaration demands one too: the same call without that demand must not run before they have decided.
 */
async function waitsFor(
  known: Intended,
  { heldBy: held }: Session,
  parts: Parts,
): Promise<string | null> {
  if (held === null) return null
  const approval = await parts.state.approval(held)
  const isAboutThis =
    approval?.agent === known.agent.agent &&
    approval.holds === 'call' &&
    approval.requestDigest === known.requestDigest &&
    (approval.state.kind === 'approved' || demandsPerson(known))
  return isAboutThis ? null : held
}

function isReachable(known: Intended): boolean {
  const { rule, object } = known
  if (!isInPermittedState(known)) return false
  return object?.model == null || isPossible(object.model, object.state, rule.action)
}

/** In one of the states that the mandate names, where it names any. */
export function isInPermittedState({ mandate, object }: Intended): boolean {
  const permitted = mandate?.permittedStates ?? null
  if (permitted === null) return true
  const { model = null, state = null } = object ?? {}
  const now = model === null ? state : currentState(model, state)
  return now !== null && permitted.includes(now)
}
