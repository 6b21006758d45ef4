import { recordActor } from '../../../src/gate/operate/actor.js'
import { signed } from '../../../src/gate/signed-event.js'
import type { Dispatch } from '../../../src/ports/dispatch.js'
import { answered, decide, person } from '../../support/approvals.js'
import {
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import type { Rig } from '../../support/rig.js'

export const ISSUER = mandateIssuer()

type Told = {
  readonly at: Rig
  readonly now: () => number
  readonly secret: string
}
const sent: Dispatch = async () => answered()
const cutOff: Dispatch = async () => ({
  observation: { kind: 'sent', cause: 'reset', deadline: false },
  held: null,
})
/** Something else than was declared was put on the wire. */
const altered: Dispatch = async () => ({
  ...answered(),
  wrote: { kind: 'http', head: 'GET /v1/elsewhere HTTP/1.1\r\n\r\n', body: new Uint8Array() },
})

/** Every line that declarations, mandates and sessions leave. */
export async function declaredCalls(told: Told): Promise<void> {
  const { at, now, secret } = told
  const steps = stepsOf(ISSUER, { now })
  const words = { declared_goal: { goal_id: MISSION, description: secret } }
  const call = async (
    of: Steps,
    action: BookingAction,
    expected: string,
    more: Claims = {},
    dispatch = sent,
  ): Promise<void> => {
    const declared = carried(of.standard(action, { ...words, ...more }), of.mandate)
    const answer = await at.gate.govern(bookingCall(action, of.booking, declared), dispatch)
    const code = 'code' in answer ? answer.code : answer.kind
    if (code !== expected) throw new Error(`${action}: ${code} instead of ${expected}`)
  }
  const decideSession = async (outcome: 'approve' | 'deny'): Promise<void> => {
    const [asked] = (await at.gate.data.state.approvals()).filter(
      ({ holds }) => holds === 'session',
    )
    if (asked === undefined) throw new Error('nobody was asked about the session')
    const said = outcome === 'deny' ? { kind: outcome, reason: secret } : { kind: outcome }
    await decide(at.gate, asked.approvalId, person(`alice-${secret}`), said)
  }
  await call(steps, 'ReadBooking', 'executed')
  await call(steps, 'CloseBooking', 'policy_denied', { confidence_level: 0.2 })
  await call(steps, 'CloseBooking', 'executed')
  await call(steps, 'ReadBooking', 'outcome_unknown', {}, cutOff)
  await call(steps, 'ReadBooking', 'executed', {}, altered)
  await decideSession('approve')
  await call(steps, 'ReadBooking', 'executed', { audit_accessible: false }, altered)
  await decideSession('deny')
  await at.gate.sessionsAudited()
  const mission = stepsOf(ISSUER, { now, booking: 'b-2', claims: { mission_ref: MISSION } })
  await call(mission, 'ReadBooking', 'intent_mission_mismatch')
  await operatorsSay(at, steps, secret)
}

async function operatorsSay({ gate }: Rig, { jti, soId }: Steps, secret: string): Promise<void> {
  const { parts } = gate
  const by = () => recordActor(`olga-${secret}`, { did: 'said' }, parts)
  await gate.data.journal.append([
    signed('MANDATE_REVOKED', { mandate_id: jti, ...(await by()) }, parts),
  ])
  const phase = { mission_ref: MISSION, phase: 'SUSPENDED' } as const
  await gate.data.journal.append([signed('MISSION_SET', { ...phase, ...(await by()) }, parts)])
  const state = { so_id: soId, state: 'created' }
  await gate.data.journal.append([signed('OBJECT_SET', { ...state, ...(await by()) }, parts)])
}
