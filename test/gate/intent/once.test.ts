import { afterEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { decide, fakeTime, person } from '../../support/approvals.js'
import { bookingCall, type Claims, carried, mandateIssuer, stepsOf } from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, type RigOptions, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

/** A declaration that waits for a person is one step, whatever else changes until the call goes on. */
const issuer = mandateIssuer()
const manifest = (more = '', action = 'ReadBooking'): string => `id: com.acme.booking
tools:
  read_booking:
    match: GET /v1/bookings/{booking}
    args: {booking: string}
    action: ${action}
    irreversibility: two_way
    intent: required
${more}`
const FEW = manifest(`    constraints:
      few: {count: {max: 3, per: [$agent], window: 1m}, on_fail: hitl}
`)
const LATER = '    hitl: {on_approval: dispatch}\n'
const CANARY = 'unless { action == Action::"dev.capsulegate.canary" }'
const PERMIT = `@id("all") permit (principal, action, resource) ${CANARY};`
const ASK = `${PERMIT}
@id("ask") @hem("required") forbid (principal, action == Action::"ReadBooking", resource)
unless { context.approval.granted };`

let at: Rig
let server: RawUpstream
let upstream: Upstream
let time: ReturnType<typeof fakeTime>
async function open(options: RigOptions): Promise<void> {
  time = fakeTime()
  const { clock, timer } = time
  const policies = PERMIT
  at = await rig({ policies, mandateIssuers: issuer.options, clock, timer, ...options })
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
}
afterEach(async () => {
  await upstream.close()
  await server.close()
  await at.close()
})

const stepsNow = (claims: object = {}) => {
  const { now } = time.clock
  return stepsOf(issuer, { now, claims: { exp: now() / 1000 + 100_000, ...claims } })
}
const call = (intent: Claims, mandate: string) =>
  bookingCall('ReadBooking', 'b-1', carried(intent, mandate))
const send = (intent: Claims, mandate: string): Promise<Answer> => {
  const made = call(intent, mandate)
  return at.gate.govern(made, sending(upstream, made))
}
const told = (answer: Answer): string => ('code' in answer ? answer.code : answer.kind)
const waiting = (answer: Answer): string => {
  if (answer.kind !== 'pending') throw new Error(told(answer))
  return answer.approvalId
}
const approve = (id: string) => decide(at.gate, id, person('alice'), { kind: 'approve' })
const submitted = async (): Promise<number> =>
  (await at.lines()).filter(({ type }) => type === 'IDP_SUBMITTED').length

describe('one declaration has one effect', () => {
  it('where the window that asked has emptied, and it comes many times at once', async () => {
    await open({ manifest: FEW })
    const { standard, mandate } = stepsNow()
    for (let n = 0; n < 3; n++)
      expect(told(await send(standard('ReadBooking'), mandate))).toBe('executed')
    const declared = standard('ReadBooking')
    waiting(await send(declared, mandate))
    time.advance(61)
    const answers = await Promise.all([1, 2, 3].map(() => send(declared, mandate)))
    expect(answers.map(told).filter((code) => code === 'executed')).toHaveLength(1)
    expect([server.requests.length, await submitted()]).toEqual([4, 4])
  })

  it('where policy asks for nobody any more', async () => {
    await open({ manifest: manifest(), policies: ASK })
    const { standard, mandate } = stepsNow()
    const declared = standard('ReadBooking')
    waiting(await send(declared, mandate))
    at = await at.restart({ policies: PERMIT })
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(declared, mandate)))
    expect(answers.map(told).filter((code) => code === 'executed')).toHaveLength(1)
    expect(server.requests).toHaveLength(1)
    expect(told(await send(declared, mandate))).toBe('intent_duplicate')
  })

  it('where the gate only observes by now', async () => {
    await open({ manifest: manifest(), policies: ASK })
    const { standard, mandate } = stepsNow()
    const declared = standard('ReadBooking')
    waiting(await send(declared, mandate))
    at = await at.restart({ mode: 'observe' })
    const answers: string[] = []
    for (let n = 0; n < 3; n++) answers.push(told(await send(declared, mandate)))
    expect(answers).toEqual(['executed', 'intent_duplicate', 'intent_duplicate'])
    expect(server.requests).toHaveLength(1)
  })
})

describe('what waits is sent as it was declared, or not at all', () => {
  it.each([
    ['the tool is another action by now', manifest(LATER, 'PurgeBooking')],
    [
      'the tool takes no declaration any more',
      manifest(LATER).replace('    intent: required\n', ''),
    ],
  ])('where %s', async (_, changed) => {
    await open({ manifest: manifest(LATER), policies: ASK })
    const { standard, mandate } = stepsNow({ cedar_actions: ['ReadBooking', 'PurgeBooking'] })
    const declared = standard('ReadBooking')
    const id = waiting(await send(declared, mandate))
    await approve(id)
    at = await at.restart({ manifest: changed, policies: PERMIT })
    const made = call(declared, mandate)
    await at.gate.dispatchApproved(() => sending(upstream, made))
    await at.gate.close()
    expect(server.requests).toHaveLength(0)
    const last = (await at.capsules()).at(-1)?.capsule.disposition
    expect(last).toMatchObject({ verdict_class: 'engine_failure' })
  })
})

describe('sessions that demand a person for one request', () => {
  const demand = { hem_urgency: 'REQUIRED' }

  it('do not spend what was granted to another', async () => {
    await open({ manifest: manifest() })
    const [one, two] = [stepsNow(), stepsNow()]
    const first = one.standard('ReadBooking', demand)
    await approve(waiting(await send(first, one.mandate)))
    expect(told(await send(two.standard('ReadBooking', demand), two.mandate))).toBe(
      'approval_pending',
    )
    // Nor where they name it.
    const [approval] = await at.gate.parts.state.approvals()
    const three = stepsNow()
    const other = bookingCall(
      'ReadBooking',
      'b-1',
      carried(three.standard('ReadBooking', demand), three.mandate),
      { approvalId: approval?.approvalId ?? '' },
    )
    expect(told(await at.gate.govern(other, sending(upstream, other)))).toBe('approval_pending')
    expect(server.requests).toHaveLength(0)
    expect(told(await send(first, one.mandate))).toBe('executed')
  })

  it('each go on with their own, before and after it is granted', async () => {
    await open({ manifest: manifest() })
    const own = [stepsNow(), stepsNow()].map((steps) => ({
      mandate: steps.mandate,
      intent: steps.standard('ReadBooking', demand),
    }))
    const ids: string[] = []
    for (const { intent, mandate } of own) ids.push(waiting(await send(intent, mandate)))
    for (const [index, { intent, mandate }] of own.entries()) {
      expect(await send(intent, mandate)).toMatchObject({ kind: 'joined', approvalId: ids[index] })
    }
    for (const id of ids) await approve(id)
    for (const { intent, mandate } of own)
      expect(told(await send(intent, mandate))).toBe('executed')
  })

  it('cannot begin again under a name of their own while they are stopped', async () => {
    await open({ manifest: manifest() })
    const steps = stepsNow({ session_id: undefined })
    waiting(await send(steps.standard('ReadBooking', demand), steps.mandate))
    const elsewhere = steps.standard('ReadBooking', { session_id: 'another' })
    expect(told(await send(elsewhere, steps.mandate))).toBe('intent_session_mismatch')
    expect(server.requests).toHaveLength(0)
  })
})
