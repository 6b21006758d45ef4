import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../../src/core/call/call.js'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import type { Seam } from '../../../src/gate/context.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { decide, person } from '../../support/approvals.js'
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
import { type Rig, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

/** What happens between the judgement of a declared call and its first byte, and what is repeated by the gate itself. */
const issuer = mandateIssuer()
let at: Rig
let server: RawUpstream
let upstream: Upstream
let steps: Steps
/** While armed, the first call that comes to the seam waits there. */
let held: { seam: Seam; reached: () => void; gone: Promise<void> } | null = null

const options = {
  manifest: BOOKING,
  policies: BOOKING_POLICIES,
  mandateIssuers: issuer.options,
  seam: async (name: Seam) => {
    if (held?.seam !== name) return
    const { reached, gone } = held
    held = null
    reached()
    await gone
  },
}

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

const send = (made: HttpCall) => at.gate.govern(made, sending(upstream, made))
const call = (action: BookingAction, intent: Claims, more: object = {}, of = steps) =>
  send(bookingCall(action, of.booking, carried(intent, of.mandate), more))
const read = (more: Claims = {}, of = steps) => of.standard('ReadBooking', more)
const lines = async () => (await at.lines()).flatMap((raw) => readLine(raw) ?? [])
const count = async (type: string): Promise<number> =>
  (await lines()).filter((line) => line.type === type).length
/** Resolves when a call waits at the seam; the result lets it go. */
async function stopAt(seam: Seam): Promise<() => void> {
  let release: () => void = () => undefined
  const gone = new Promise<void>((resolve) => {
    release = resolve
  })
  await new Promise<void>((resolve) => {
    held = { seam, reached: resolve, gone }
  })
  return release
}
const opened = async (): Promise<string> => {
  for (;;) {
    const [approval] = await at.gate.parts.state.approvals()
    if (approval !== undefined) return approval.approvalId
    await new Promise((resolve) => setImmediate(resolve))
  }
}
const approve = (id: string) => decide(at.gate, id, person('alice'), { kind: 'approve' })

describe('calls at once', () => {
  it('of one session are both sent, in the order of their steps in the journal', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => call('ReadBooking', read())))
    expect(answers.map(({ kind }) => kind)).toEqual(Array.from({ length: 4 }, () => 'executed'))
    const declared = (await lines()).filter((line) => line.type === 'IDP_SUBMITTED')
    expect(declared.map(({ step_sequence }) => step_sequence)).toEqual([1, 2, 3, 4])
    expect(await count('SESSION_OPENED')).toBe(1)
  })

  it('that change one object go one by one, whatever session they are of', async () => {
    const other = stepsOf(issuer)
    const waiting = stopAt('before_first_byte')
    const first = call('ProcessPayment', steps.standard('ProcessPayment'))
    const release = await waiting
    const second = await call('ProcessPayment', other.standard('ProcessPayment'), {}, other)
    expect(second).toMatchObject({
      code: 'object_state_invalid',
      status: 409,
      problem: { retry_after_seconds: 1 },
    })
    // What changes nothing goes on meanwhile.
    expect(await call('ReadBooking', read({}, other), {}, other)).toMatchObject({
      code: 'executed',
    })
    release()
    expect(await first).toMatchObject({ code: 'executed' })
    expect(await call('ProcessPayment', other.standard('ProcessPayment'), {}, other)).toMatchObject(
      { code: 'object_state_invalid', problem: { object_state: 'paid' } },
    )
    expect(await call('CloseBooking', other.standard('CloseBooking'), {}, other)).toMatchObject({
      code: 'executed',
    })
  })

  it('are not sent once the session waits for a person, also where they were judged before', async () => {
    const waiting = stopAt('before_first_byte')
    const judged = call('ReadBooking', read())
    const release = await waiting
    const urgent = steps.standard('CloseBooking', { hem_urgency: 'REQUIRED' })
    expect(await call('CloseBooking', urgent)).toMatchObject({ kind: 'pending' })
    release()
    expect(await judged).toMatchObject({ kind: 'refused', code: 'judgement_stale' })
    expect(server.requests).toEqual([])
  })

  it('are not sent once something else was sent than declared, before that is on record', async () => {
    const waiting = stopAt('before_first_byte')
    const judged = call('ReadBooking', read())
    const release = await waiting
    const made = bookingCall('ReadBooking', 'b-1', carried(read(), steps.mandate))
    const recording = stopAt('before_capsule')
    const altered = at.gate.govern(made, sending(upstream, { ...made, target: '/v1/bookings/b-2' }))
    const record = await recording
    release()
    expect(await judged).toMatchObject({ code: 'judgement_stale' })
    record()
    expect(await altered).toMatchObject({ kind: 'executed' })
    expect(server.requests).toHaveLength(1)
    expect(await count('IDP_COMMITMENT_GAP')).toBe(1)
  })

  it('of another mission open the session once, and are put before people once', async () => {
    steps = stepsOf(issuer, { claims: { mission_ref: MISSION } })
    const answers = await Promise.all(Array.from({ length: 8 }, () => call('ReadBooking', read())))
    expect(answers.map((answer) => 'code' in answer && answer.code)).toEqual(
      Array.from({ length: 8 }, () => 'intent_mission_mismatch'),
    )
    expect(await count('SESSION_OPENED')).toBe(1)
    expect(await count('IDP_MISSION_REF_MISMATCH_REJECTED')).toBe(8)
    expect(await count('APPROVAL_OPENED')).toBe(1)
  })
})

describe('a demand for a person', () => {
  it('is not met by the same request without it', async () => {
    expect(await call('ReadBooking', read({ hem_urgency: 'REQUIRED' }))).toMatchObject({
      kind: 'pending',
    })
    expect(await call('ReadBooking', read())).toMatchObject({ code: 'session_pending' })
    const approvalId = await opened()
    expect(await call('ReadBooking', read(), { approvalId })).toMatchObject({
      code: 'session_pending',
    })
    // In a session of its own the request stands for itself, and leaves the item of the other alone.
    const other = stepsOf(issuer)
    expect(await call('ReadBooking', read({}, other), {}, other)).toMatchObject({
      code: 'executed',
    })
    expect((await at.gate.parts.state.session(steps.sessionId))?.heldBy).toBe(approvalId)
    expect(await at.gate.parts.state.approval(approvalId)).toMatchObject({
      state: { kind: 'pending' },
    })
  })

  it('is one step, however often the call comes again', async () => {
    const intent = read({ hem_urgency: 'REQUIRED' })
    await call('ReadBooking', intent)
    const approvalId = await opened()
    expect(await call('ReadBooking', intent)).toMatchObject({ kind: 'joined' })
    expect(await call('ReadBooking', intent, { approvalId })).toMatchObject({ kind: 'joined' })
    // Other octets of the same id are another declaration.
    expect(await call('ReadBooking', { ...intent, later: 1 }, { approvalId })).toMatchObject({
      code: 'intent_duplicate',
    })
    await approve(approvalId)
    expect(await call('ReadBooking', intent, { approvalId })).toMatchObject({ code: 'executed' })
    expect(await call('ReadBooking', intent, { approvalId })).toMatchObject({
      code: 'intent_duplicate',
    })
    expect([await count('IDP_SUBMITTED'), server.requests.length]).toEqual([1, 1])
  })

  it('is one step where the caller waits for the answer', async () => {
    const answer = call('ReadBooking', read({ hem_urgency: 'REQUIRED' }), { waitSeconds: 30 })
    await approve(await opened())
    expect(await answer).toMatchObject({ code: 'executed' })
    expect([await count('IDP_SUBMITTED'), server.requests.length]).toEqual([1, 1])
  })

  it('is one step where the gate sends it by itself, after a restart too', async () => {
    const manifest = BOOKING.replace(
      'intent: required',
      'intent: required\n    hitl: {on_approval: dispatch}',
    )
    at = await at.restart({ manifest })
    await call('ReadBooking', read({ hem_urgency: 'REQUIRED' }))
    await approve(await opened())
    at = await at.restart({ manifest })
    await at.gate.dispatchApproved((frozen) =>
      frozen.kind === 'http' ? sending(upstream, frozen as HttpCall) : null,
    )
    await at.gate.close()
    at = await rig({ ...options, manifest }, at.dir)
    const all = await lines()
    expect(server.requests).toHaveLength(1)
    expect(all.filter(({ type }) => type === 'IDP_SUBMITTED')).toHaveLength(1)
    expect(all.filter(({ type }) => type === 'IDP_COMMITMENT_VERIFIED')).toHaveLength(1)
  })
})

describe('a declaration that cannot be written', () => {
  const failing = async (
    part: 'journal' | 'evidence',
    isIt: (given: unknown) => boolean,
    run: () => Promise<void>,
  ): Promise<void> => {
    const { journal, evidence } = at.gate.parts
    const no = () => Promise.reject(new Error('no room'))
    const { append } = journal
    const { put } = evidence
    if (part === 'journal') {
      journal.append = (entries, more) => (isIt(entries) ? no() : append(entries, more))
    } else evidence.put = (record, more) => (isIt(record) ? no() : put(record, more))
    try {
      await run()
    } finally {
      Object.assign(journal, { append })
      Object.assign(evidence, { put })
    }
  }
  const has = (text: string) => (given: unknown) => JSON.stringify(given).includes(text)

  it('is not acted on, and comes again when there is room', async () => {
    const intent = read()
    await failing('journal', has('IDP_SUBMITTED'), async () => {
      expect(await call('ReadBooking', intent)).toMatchObject({
        kind: 'unrecorded',
        code: 'record_unavailable',
        status: 503,
      })
    })
    expect(server.requests).toEqual([])
    // The step stays used: a later one may stand on it.
    expect(await call('ReadBooking', intent)).toMatchObject({ code: 'executed' })
    expect(await count('SESSION_OPENED')).toBe(1)
    expect(await count('MANDATE_PRESENTED')).toBe(1)
  })

  it('is not acted on where its key is not kept, and stays one that came, because its line did', async () => {
    const intent = read()
    await failing('evidence', has('"name":"key"'), async () => {
      expect(await call('ReadBooking', intent)).toMatchObject({ code: 'record_unavailable' })
    })
    expect(server.requests).toEqual([])
    expect(await count('IDP_SUBMITTED')).toBe(1)
    expect(await call('ReadBooking', intent)).toMatchObject({ code: 'intent_duplicate' })
  })

  it('is one that came where only what follows it could not be written', async () => {
    const intent = steps.standard('ProcessPayment')
    await failing('journal', has('ACTION_DISPATCHED'), async () => {
      expect(await call('ProcessPayment', intent)).toMatchObject({ code: 'record_unavailable' })
    })
    expect(server.requests).toEqual([])
    expect(await call('ProcessPayment', intent)).toMatchObject({ code: 'intent_duplicate' })
    // What it held of its object is given up.
    expect(await call('ProcessPayment', steps.standard('ProcessPayment'))).toMatchObject({
      code: 'executed',
    })
  })

  it('leaves no session behind where it was the first of another mission', async () => {
    steps = stepsOf(issuer, { claims: { mission_ref: MISSION } })
    await failing('journal', has('SESSION_OPENED'), async () => {
      expect(await call('ReadBooking', read())).toMatchObject({ code: 'record_unavailable' })
    })
    expect(await at.gate.parts.state.session(steps.sessionId)).toBeNull()
    expect(await call('ReadBooking', read({ mission_ref: MISSION }))).toMatchObject({
      code: 'executed',
    })
    expect(await count('SESSION_OPENED')).toBe(1)
  })
})

describe('a session that was idle', () => {
  it('is closed once by however many calls find it so, and stays closed', async () => {
    let now = Date.now()
    at = await at.restart({ clock: { now: () => now, monotonic: () => now } })
    steps = stepsOf(issuer, { now: () => now })
    await call('ReadBooking', read())
    now += 2 * 3_600_000
    const later = stepsOf(issuer, { now: () => now, sessionId: steps.sessionId })
    later.standard('ReadBooking')
    const answers = await Promise.all(
      [1, 2, 3].map(() => call('ReadBooking', read({}, later), {}, later)),
    )
    expect(answers.map((answer) => 'code' in answer && answer.code)).toEqual(
      Array.from({ length: 3 }, () => 'session_over'),
    )
    expect(await count('SESSION_CLOSED')).toBe(1)
  })
})

describe('what a declared call waits for', () => {
  it('is the disk, twice: before its first byte and before its answer', async () => {
    const file = join(at.dir, 'syncs')
    writeFileSync(file, '')
    const seams = `${new URL('../../support/count-seams.mjs', import.meta.url).href}?file=${encodeURIComponent(file)}`
    at = await at.restart({ recorder: { in: 'thread', seams } })
    const waits: number[] = []
    for (let n = 0; n < 4; n++) {
      const before = readFileSync(file).length
      expect(await call('ReadBooking', read())).toMatchObject({ code: 'executed' })
      waits.push(readFileSync(file).length - before)
    }
    expect(waits).toEqual([2, 2, 2, 2])
  })
})
