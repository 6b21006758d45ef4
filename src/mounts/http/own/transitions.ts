import type { ServerResponse } from 'node:http'
import type { Agent } from '../../../core/call/agent.js'
import type { HttpCall } from '../../../core/call/call.js'
import type { Plain } from '../../../core/json/value.js'
import type { Problem } from '../../../core/verdict/problem.js'
import type { Gate } from '../../../gate/gate.js'
import type {
  NoTransitions,
  OpenTransitions,
} from '../../../gate/intent/advice/open-transitions.js'
import { sendProblem } from '../respond.js'
import { reservedProblem, sendJson } from './problems.js'

const TRANSITIONS = '/.gate/v1/transitions'

export const asksTransitions = ({ method, target }: Pick<HttpCall, 'method' | 'target'>): boolean =>
  method === 'GET' && target === TRANSITIONS

/** `GET /.gate/v1/transitions`: where the object of the caller's mandate is, and what it may do now. */
export async function answerTransitions(
  asked: Pick<HttpCall, 'caller' | 'declared'>,
  agent: Agent,
  res: ServerResponse,
  { read }: Pick<Gate, 'read'>,
): Promise<void> {
  const told = await read.openTransitions(asked, agent)
  if (told.kind === 'open') sendJson(res, transitionsOf(told))
  else sendProblem(res, mandateProblem(told))
}

const TOO_OFTEN = 'You have asked, or were refused, too often: ask again in a minute.'

export const transitionsOf = (told: OpenTransitions): { [name: string]: Plain } => ({
  so_id: told.soId,
  so_type: told.soType,
  state: told.state,
  actions: told.actions,
  ...(told.tooOften ? { hint: TOO_OFTEN } : {}),
  session:
    told.session === null
      ? null
      : {
          session_id: told.session.sessionId,
          last_step: told.session.lastStep,
          held_by: told.session.heldBy,
        },
  mission: told.mission,
})

/** Of another agent's mandate nothing is told but that it is not accepted. */
export function mandateProblem(shown: NoTransitions): Problem {
  switch (shown.kind) {
    case 'missing':
      return reservedProblem('mandate_missing')
    case 'malformed':
      return reservedProblem('mandate_malformed', { fault: shown.fault })
    case 'invalid':
      return reservedProblem('mandate_invalid', { fault: shown.why })
    case 'unverifiable':
      return reservedProblem('mandate_unverifiable')
    case 'revoked':
      return reservedProblem('mandate_revoked')
  }
}
