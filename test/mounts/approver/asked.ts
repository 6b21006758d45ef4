import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'
import { type Plane, startPlane } from '../admin/harness.js'

/** An admin plane with what declared calls put before people, each by a call that really did it. */
export type Asked = {
  readonly plane: Plane
  steps(claims?: Claims): Steps
  send(steps: Steps, action: BookingAction, more?: Claims, elsewhere?: string): Promise<Answer>
  /** The ids of what people are asked. */
  demanded(more?: Claims): Promise<string>
  unlifted(more?: Claims): Promise<string>
  gap(more?: Claims): Promise<string>
  tooManyMissions(): Promise<string>
  close(): Promise<void>
}

/** Text of an agent that would like to be something else. */
export const HOSTILE = '<img src=x onerror=alert(1)> "Approve" \u202eneve\u200b & <b>done</b>'

export async function startAsked(): Promise<Asked> {
  const issuer = mandateIssuer()
  const plane = await startPlane({
    manifest: BOOKING,
    policies: BOOKING_POLICIES,
    mandateIssuers: issuer.options,
  })
  const server: RawUpstream = await rawUpstream(fine)
  const upstream: Upstream = upstreamTo(server.origin)
  let booking = 0
  const steps = (claims: Claims = {}) => stepsOf(issuer, { booking: `b-${++booking}`, claims })
  const send: Asked['send'] = (of, action, more = {}, elsewhere) => {
    const made = bookingCall(action, of.booking, carried(of.standard(action, more), of.mandate))
    const sent = elsewhere === undefined ? made : { ...made, target: elsewhere }
    return plane.gate.govern(made, sending(upstream, sent))
  }
  const heldBy = async ({ sessionId }: Steps): Promise<string> => {
    const session = await plane.gate.data.state.session(sessionId)
    if (session?.heldBy == null) throw new Error('nobody is asked')
    return session.heldBy
  }
  return {
    plane,
    steps,
    send,
    async demanded(more = {}) {
      const of = steps()
      await send(of, 'ProcessPayment', { hem_urgency: 'REQUIRED', ...more })
      return heldBy(of)
    },
    async unlifted(more = {}) {
      const of = steps()
      await send(of, 'CloseBooking', { hem_urgency: 'REQUIRED', confidence_level: 0.3, ...more })
      return heldBy(of)
    },
    async gap(more = {}) {
      const of = steps()
      await send(of, 'ReadBooking', more, '/v1/bookings/another')
      return heldBy(of)
    },
    async tooManyMissions() {
      const of = steps({ mission_ref: MISSION })
      for (let i = 0; i < 3; i++) await send(of, 'ReadBooking')
      return heldBy(of)
    },
    async close() {
      await upstream.close()
      await server.close()
      await plane.close()
    },
  }
}
