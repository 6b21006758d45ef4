import type { Agent } from '../../../core/call/agent.js'
import type { Call } from '../../../core/call/call.js'
import type { Mandate } from '../../../core/intent/model.js'
import { currentState } from '../../../core/intent/object.js'
import type { ObjectModel } from '../../../core/manifest/model.js'
import type { Session } from '../../../ports/state.js'
import type { Parts, World } from '../../context.js'
import { readMandate, type ShownMandate } from '../declare/read-mandate.js'
import { governedObject } from '../governed-object.js'
import { openActions } from './open-actions.js'

/** What an agent plans by (seed intent-declaration-primitive-01 §5.1, PLAN): its object, and what is open to it. */
export type OpenTransitions = {
  readonly kind: 'open'
  readonly soId: string
  readonly soType: string | null
  /** Null: the manifests give its objects no states. */
  readonly state: string | null
  /** Empty where the session was told too often; `tooOften` says so. */
  readonly actions: readonly string[]
  readonly tooOften: boolean
  readonly session: Pick<Session, 'sessionId' | 'lastStep' | 'heldBy'> | null
  /** The phase of a mission that is suspended or over; null: it may go on, or there is none. */
  readonly mission: string | null
}
export type NoTransitions = Exclude<ShownMandate, { kind: 'valid' }>

/** A question under a mandate: it is answered without a capsule, for the holder of the mandate alone. */
export async function openTransitions(
  asked: Pick<Call, 'caller' | 'declared'>,
  agent: Agent,
  parts: Parts,
): Promise<OpenTransitions | NoTransitions> {
  const shown = await readMandate(asked, agent.agent, parts)
  if (shown.kind !== 'valid') {
    if (shown.kind === 'unverifiable') {
      parts.report({ level: 'error', event: 'mandate_unverifiable', detail: shown.why })
    }
    return shown
  }
  const { mandate } = shown
  const { state, advice, clock } = parts
  const world = parts.world()
  const model = modelFor(mandate, world)
  const object = governedObject(mandate.soId, model, await state.object(mandate.soId))
  const tooOften = !advice.mayAdvise(mandate.sessionId ?? mandate.id, clock.now())
  return {
    kind: 'open',
    soId: mandate.soId,
    soType: mandate.soType,
    state: model === null ? null : currentState(model, object.state),
    actions: tooOften ? [] : openActions({ mandate, object, agent }, world),
    tooOften,
    // Without a session of its own all of them are looked through.
    session:
      tooOften && mandate.sessionId === null ? null : await sessionOf(mandate, agent.agent, parts),
    mission: mandate.missionRef === null ? null : await state.mission(mandate.missionRef),
  }
}

/** The states of the mandate's object: those of the manifest that has its actions and its type. */
function modelFor({ actions, soType }: Mandate, world: World): ObjectModel | null {
  for (const { manifest } of world.manifests) {
    const { object, rules } = manifest
    const isOfType = object !== undefined && (soType === null || object.type === soType)
    if (isOfType && rules.some(({ action }) => actions.includes(action))) return object
  }
  return null
}

/** The mandate's own session or, where it names none, the one that it was shown in last. */
async function sessionOf(
  { id, sessionId }: Mandate,
  agent: string,
  { state }: Pick<Parts, 'state'>,
): Promise<OpenTransitions['session']> {
  const own =
    sessionId === null
      ? (await state.sessions()).filter(({ mandates }) => mandates.includes(id))
      : [await state.session(sessionId)]
  const [last] = own
    .filter((session) => session?.agent === agent)
    .sort((a, b) => ((a?.usedAt ?? '') < (b?.usedAt ?? '') ? 1 : -1))
  if (last == null) return null
  const { lastStep, heldBy } = last
  return { sessionId: last.sessionId, lastStep, heldBy }
}
