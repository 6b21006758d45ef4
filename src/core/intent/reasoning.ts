import { FieldFault, type Fields, textField } from './fields.js'
import type { Intent } from './model.js'
import { uuidsIn } from './uuid.js'

type Reasoning = NonNullable<Intent['reasoning']>
/** What the other members of the declaration say. */
export type Around = Pick<Intent, 'idpId' | 'soId' | 'mandateId' | 'sessionId' | 'missionRef'> & {
  readonly goalId: string
}

const MOST_TYPE = 256
const MOST_DESCRIPTION = 1000

/**
 * The reasoning basis (seed intent-declaration-primitive-01 §4.3). Types that are not registered are read like
 * any other.
 */
export function readReasoning(fields: Fields, around: Around): Reasoning {
  const type = textField(fields, 'type', MOST_TYPE)
  const description = textField(fields, 'description', MOST_DESCRIPTION)
  if (type === 'MISSION_STAGE' && around.missionRef === null) {
    throw new FieldFault('mission_ref', 'is required where the reasoning type is MISSION_STAGE')
  }
  if (type === 'INSTRUCTION' && !namesSource(description, around)) {
    throw new FieldFault(
      `${fields.path}description`,
      'does not name the mandate_id or session_id the instruction came from',
    )
  }
  return { type, description }
}

/**
 * The own mandate or session, or a UUID that is nothing else of this declaration: the mandate or session of the
 * agent that gave the instruction, which the gate need not know.
 */
function namesSource(description: string, around: Around): boolean {
  const { idpId, soId, goalId, missionRef } = around
  const others: readonly (string | null)[] = [idpId, soId, goalId, missionRef]
  return (
    isNamed(description, around.mandateId) ||
    isNamed(description, around.sessionId) ||
    uuidsIn(description).some((uuid) => !others.includes(uuid.toLowerCase()))
  )
}

/** Standing by itself: a session called `a` is not named by every text with an `a` in it. */
function isNamed(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    const end = at + id.length
    // Two code units hold the one character that stands next to it.
    const before = text.slice(Math.max(0, at - 2), at)
    const after = text.slice(end, end + 2)
    if (!/[\p{L}\p{N}_-]$/u.test(before) && !/^[\p{L}\p{N}_-]/u.test(after)) return true
  }
  return false
}
