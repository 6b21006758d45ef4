import type { Parts, World } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

export type ObjectSetting =
  | { readonly kind: 'set' | 'unchanged' }
  /** No loaded manifest has objects in such a state; these are the states they have. */
  | { readonly kind: 'no_such_state'; readonly states: readonly string[] }

/**
 * An operator says in which state an object is, as after an outcome that nobody saw. Calls judged in another state
 * and not sent yet are stale.
 */
export async function setObject(
  soId: string,
  state: string,
  by: string,
  parts: Parts,
): Promise<ObjectSetting> {
  const states = statesOf(parts.world())
  if (!states.includes(state)) return { kind: 'no_such_state', states }
  if ((await parts.state.object(soId))?.state === state) return { kind: 'unchanged' }
  const members = { so_id: soId, state }
  const who = await recordActor(by, { did: 'OBJECT_SET', ...members }, parts)
  await parts.journal.append([signed('OBJECT_SET', { ...members, ...who }, parts)])
  return { kind: 'set' }
}

/** An object's id does not tell of which manifest it is, so that every one counts. */
const statesOf = ({ manifests }: World): readonly string[] =>
  [...new Set(manifests.flatMap(({ manifest }) => manifest.object?.states ?? []))].sort()
