import { UNKNOWN_STATE } from '../../../core/intent/object.js'
import type { LineOf } from '../../../core/journal/vocabulary.js'
import type { ObjectState } from '../../../ports/state.js'
import type { GovernedDump } from './dump.js'

export type Governed = ReturnType<typeof createGoverned>

const isTerminal = (phase: string): boolean => phase !== 'ACTIVE'

/** What operators and confirmed transitions established of mandates, missions and objects. */
export function createGoverned() {
  const revoked = new Set<string>()
  const missions = new Map<string, string>()
  const objects = new Map<string, ObjectState>()

  return {
    isRevoked: (mandateId: string): boolean => revoked.has(mandateId),
    mission: (missionRef: string): string | null => missions.get(missionRef) ?? null,
    object: (soId: string): ObjectState | null => objects.get(soId) ?? null,
    /** As calls are judged: null where nothing is on record, UNKNOWN_STATE where it is not known any more. */
    judged(soId: string): string | null {
      const known = objects.get(soId)
      return known === undefined ? null : (known.state ?? UNKNOWN_STATE)
    },
    allRevoked: (): string[] => [...revoked].sort(),
    missions: (): ReadonlyMap<string, string> => new Map([...missions].sort(byName)),

    revoked: ({ mandate_id }: LineOf<'MANDATE_REVOKED'>): void => void revoked.add(mandate_id),
    missionSet({ mission_ref, phase }: LineOf<'MISSION_SET'>): void {
      if (isTerminal(phase)) missions.set(mission_ref, phase)
      else missions.delete(mission_ref)
    },
    objectSet({ so_id, state }: LineOf<'OBJECT_SET'>): void {
      objects.set(so_id, { state, principal: objects.get(so_id)?.principal ?? null })
    },
    transitioned({ so_id, from_state, to_state, principal }: LineOf<'STATE_TRANSITIONED'>): void {
      // Only an action that may change the object names its principal.
      if (from_state === to_state && principal === undefined) return
      const last = principal ?? objects.get(so_id)?.principal ?? null
      objects.set(so_id, { state: to_state, principal: last })
    },
    /** Where the action may have changed the object, its state is not known any more. */
    resulted({ so_id, from_state, to_state }: LineOf<'ACTION_RESULT_RECORDED'>): void {
      if (from_state === to_state) return
      objects.set(so_id, { state: to_state, principal: objects.get(so_id)?.principal ?? null })
    },
    dump: (): GovernedDump => ({
      revoked: [...revoked].sort(),
      missions: [...missions].sort(byName),
      objects: [...objects].sort(byName),
    }),
    load(dump: GovernedDump): void {
      revoked.clear()
      missions.clear()
      objects.clear()
      for (const id of dump.revoked) revoked.add(id)
      for (const [ref, phase] of dump.missions) missions.set(ref, phase)
      for (const [soId, state] of dump.objects) objects.set(soId, state)
    },
  }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1
