import type { MembersOf } from '../../core/journal/vocabulary.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

export type Phase = MembersOf<'MISSION_SET'>['phase']
export const PHASES = ['ACTIVE', 'SUSPENDED', 'FAILED', 'ABANDONED'] as const satisfies Phase[]

/**
 * An operator says in which phase a mission is. Calls under one that is not active are refused, and those judged
 * already are not sent. `false`: it is in that phase, and nothing was recorded.
 */
export async function setMission(
  missionRef: string,
  phase: Phase,
  by: string,
  parts: Parts,
): Promise<boolean> {
  const now = (await parts.state.mission(missionRef)) ?? 'ACTIVE'
  if (now === phase) return false
  const members = { mission_ref: missionRef, phase }
  const who = await recordActor(by, { did: 'MISSION_SET', ...members }, parts)
  await parts.journal.append([signed('MISSION_SET', { ...members, ...who }, parts)])
  return true
}
