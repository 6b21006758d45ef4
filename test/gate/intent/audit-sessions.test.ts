import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { fromUtf8 } from '../../../src/core/bytes/text.js'
import type { HttpCall } from '../../../src/core/call/call.js'
import { sessionAudit } from '../../../src/core/intent/audit/session-audit.js'
import { type Line, readLine } from '../../../src/core/journal/vocabulary.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { verifyLedger } from '../../../src/verify.js'
import { decide, person } from '../../support/approvals.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

let at: Rig
let server: RawUpstream
let upstream: Upstream
let steps: Steps
const issuer = mandateIssuer()
const options = { manifest: BOOKING, policies: BOOKING_POLICIES, mandateIssuers: issuer.options }

beforeEach(async () => {
  at = await rig(options)
  steps = stepsOf(issuer)
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})

const send = (made: HttpCall, sent = made) => at.gate.govern(made, sending(upstream, sent))
const call = (action: BookingAction, intent: Claims) =>
  send(bookingCall(action, steps.booking, carried(intent, steps.mandate)))
const linesOf = async (): Promise<Line[]> =>
  (await at.lines()).flatMap((raw) => readLine(raw) ?? [])
const audited = async () => {
  await at.gate.sessionsAudited()
  return (await linesOf()).filter((line) => line.type === 'SESSION_AUDITED')
}
async function verified() {
  const text = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
  const { journal, results } = verifyLedger(text, { keys: at.gate.data.keys(), crypto: nodeCrypto })
  const findings = [...results.flatMap((result) => result.findings), ...(journal?.findings ?? [])]
  return {
    status: journal?.status,
    codes: findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
  }
}

/** A gap, and a person who does not let the session go on. */
async function endByRefusal(): Promise<void> {
  const declared = carried(steps.standard('ReadBooking'), steps.mandate)
  const made = bookingCall('ReadBooking', 'b-1', declared)
  await send(made, { ...made, target: '/v1/bookings/b-2' })
  const opened = (await linesOf()).find((line) => line.type === 'APPROVAL_OPENED')
  if (opened?.type !== 'APPROVAL_OPENED') throw new Error('nobody was asked')
  await decide(at.gate, opened.approval_id, person('carol'), { kind: 'deny', reason: 'no' })
}

describe('the audit record of a session', () => {
  it('is written when it is closed, and says what it was', async () => {
    await call('ReadBooking', steps.standard('ReadBooking'))
    await call('CloseBooking', steps.standard('CloseBooking', { confidence_level: 0.2 }))
    await call('ReadBooking', steps.thin('ReadBooking', { audit_accessible: false }))
    expect(await audited()).toEqual([])
    await endByRefusal()
    const [line, ...others] = await audited()
    expect(others).toEqual([])
    const bytes = await at.gate.read.publicDocument(line?.audit_digest ?? '')
    const text = fromUtf8(bytes ?? new Uint8Array())
    const record = JSON.parse(text ?? '')
    const lines = await linesOf()
    expect(sessionAudit(lines, steps.sessionId, nodeCrypto)).toEqual(record)
    const submitted = lines.filter((each) => each.type === 'IDP_SUBMITTED')
    expect(record).toMatchObject({
      session_id: steps.sessionId,
      agent: 'support-bot',
      why: 'refused',
      mandates: [steps.jti],
      verdicts: { denied: 1, executed: 3, hitl_dispatched: 1, resolved: 1 },
      capsules: { count: 6 },
      submitted: { count: 4 },
      matches: 2,
      denials: 1,
      mismatches: 0,
      approvals: [{ holds: 'session', outcome: 'resolved' }],
      alerts: [{ alert_trigger: 'IDP_COMMITMENT_GAP', severity: 'CRITICAL' }],
      restricted: [submitted[2]?.event_id],
    })
    expect(record.intents.map((each: Claims) => each.match_result)).toEqual([
      'MATCHED',
      null,
      'MATCHED',
      'IDP_COMMITMENT_GAP',
    ])
    // Of a restricted one nothing is told but that it was there, and what came of it.
    expect(Object.keys(record.intents[2]).sort()).toEqual([
      'audit_accessible',
      'capsule_id',
      'event_id',
      'match_result',
    ])
    expect(text).not.toContain('settle the booking')
    expect(text).not.toContain('alice')
    expect(await verified()).toEqual({ status: 'valid', codes: [] })
  })

  it('is written at the next start where a crash prevented it, once', async () => {
    await call('ReadBooking', steps.standard('ReadBooking'))
    const { dir } = at
    // As if the process had died with the closing line: nothing that comes after it is written.
    Object.assign(at.gate.data.evidence, { putPublic: () => Promise.reject(new Error('gone')) })
    await endByRefusal()
    expect(await audited()).toEqual([])
    await at.gate.close()
    at = { ...(await rig(options, dir)), close: at.close }
    expect(await audited()).toHaveLength(1)
    await at.gate.close()
    at = { ...(await rig(options, dir)), close: at.close }
    expect(await audited()).toHaveLength(1)
    expect(await verified()).toEqual({ status: 'valid', codes: [] })
  })
})
