import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { readJournal } from '../../../src/adapters/journal/read/read-journal.js'
import { exportKeyring } from '../../../src/adapters/keys/keyring.js'
import { type Line, readLine } from '../../../src/core/journal/vocabulary.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { verifyLedger } from '../../../src/verify.js'
import { decide, person } from '../../support/approvals.js'
import { draws } from '../../support/draws.js'
import { expectEvidence } from '../../support/evidence.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  type Claims,
  carried,
  MISSION,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type Behaviour, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { OTHER_TOKEN, type Rig, rig, sending, TOKEN, upstreamTo } from '../../support/rig.js'
import { expectHistory } from './invariants.js'

/** Whatever agents, tools, people and restarts do at once: what the journal says afterwards keeps the promises. */
const issuer = mandateIssuer()
/** Its objects go round, so that a history does not end in a closed one. */
const MANIFEST = BOOKING.replace('{from: created, to: paid}', '{from: [created, paid], to: paid}')
  .replace('states: [created, paid, closed]', 'states: [created, paid]')
  .replace('{from: [created, paid], to: closed}', '{from: [created, paid], to: created}')

const ACTIONS = ['ReadBooking', 'ProcessPayment', 'CloseBooking'] as const
const SESSIONS = [
  { agent: 'support-bot', booking: 'b-1', claims: {} },
  { agent: 'support-bot', booking: 'b-2', claims: { mission_ref: MISSION } },
  { agent: 'support-bot', booking: 'b-1', claims: {} },
  { agent: 'other-bot', booking: 'b-1', claims: {} },
  { agent: 'other-bot', booking: 'b-3', claims: { mission_ref: MISSION } },
] as const

const made = fc.record({
  session: fc.nat({ max: SESSIONS.length - 1 }),
  action: fc.constantFrom(...ACTIONS),
  thin: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
  urgent: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  unsure: fc.boolean(),
  mission: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  how: fc.oneof(
    { weight: 6, arbitrary: fc.constant('confirm' as const) },
    fc.constantFrom('fail' as const, 'cut' as const),
  ),
  altered: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
})
const sent = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('new' as const), made }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('again' as const),
      of: fc.nat(),
      otherOctets: fc.boolean(),
      named: fc.boolean(),
    }),
  },
)
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('calls' as const),
      calls: fc.array(sent, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('decide' as const),
      of: fc.nat(),
      outcome: fc.constantFrom('approve' as const, 'approve' as const, 'deny' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ op: 'restart' as const }) },
)
type Made = typeof made extends fc.Arbitrary<infer T> ? T : never
type Sent = typeof sent extends fc.Arbitrary<infer T> ? T : never
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** How often each answer came: a suite that never saw a promise tried says nothing about it. */
const answers = new Map<string, number>()

/** A call as it was made, to be made again. */
type Past = { readonly made: Made; readonly intent: Claims; approvalId: string | null }

const respond = (status: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}`

async function play(steps: readonly Step[]): Promise<void> {
  let at: Rig | null = null
  const unrecorded: string[] = []
  const altered = new Set<string>()
  const arrived = new Set<string>()
  const past: Past[] = []
  /** A tool that looks into the journal the moment a request reaches it. */
  const behave: Behaviour = async (peer) => {
    for (;;) {
      const { head } = await peer.request()
      const action = /^x-action: (.+)$/im.exec(head)?.[1]?.trim() ?? ''
      arrived.add(action)
      const lines = ((await at?.lines()) ?? []).flatMap((raw) => readLine(raw) ?? [])
      const dispatched = lines.find(
        (line) => line.type === 'ACTION_DISPATCHED' && line.action_id === action,
      )
      const event = dispatched?.type === 'ACTION_DISPATCHED' ? dispatched.intent?.event_id : ''
      if (!lines.some((line) => line.type === 'IDP_SUBMITTED' && line.event_id === event)) {
        unrecorded.push(action)
      }
      if (/^x-how: cut/im.test(head)) return peer.reset()
      await peer.write(
        respond(/^x-how: fail/im.test(head) ? '422 Unprocessable Content' : '200 OK'),
      )
    }
  }
  const server: RawUpstream = await rawUpstream(behave)
  const upstream = upstreamTo(server.origin)
  at = await rig({ manifest: MANIFEST, policies: BOOKING_POLICIES, mandateIssuers: issuer.options })
  const sessions: readonly Steps[] = SESSIONS.map((each) => stepsOf(issuer, each))

  async function send({ made, intent, approvalId }: Past, named: boolean): Promise<Answer> {
    const { session, action } = made
    const steps = sessions[session] as Steps
    const bearer = SESSIONS[session]?.agent === 'other-bot' ? OTHER_TOKEN : TOKEN
    const call = bookingCall(action, steps.booking, carried(intent, steps.mandate), {
      caller: { bearer, certificate: null, asserted: null, source: '127.0.0.1' },
      ...(named && approvalId !== null ? { approvalId } : {}),
    })
    const gate = (at as Rig).gate
    const answer = await gate.govern(call, (dispatch) => {
      const { actionId } = dispatch
      const headers = [...call.headers, ['x-action', actionId], ['x-how', made.how]] as const
      if (!made.altered) return sending(upstream, { ...call, headers })(dispatch)
      altered.add(actionId)
      const target = '/v1/bookings/b-elsewhere/close'
      const other = { ...call, headers, method: 'POST', target }
      return sending(
        upstream,
        action === 'CloseBooking' ? { ...other, target: '/v1' } : other,
      )(dispatch)
    })
    const code = answer.kind === 'joined' || answer.kind === 'replayed' ? answer.kind : answer.code
    answers.set(code, (answers.get(code) ?? 0) + 1)
    return answer
  }

  async function one(each: Sent): Promise<void> {
    if (each.op === 'new') {
      const { made } = each
      const steps = sessions[made.session] as Steps
      const hasMission = 'mission_ref' in (SESSIONS[made.session]?.claims ?? {})
      const more = {
        ...(hasMission && made.mission ? { mission_ref: MISSION } : {}),
        ...(made.mission ? {} : { mission_ref: randomUUID() }),
        hem_urgency: made.urgent ? 'REQUIRED' : 'NONE',
        confidence_level: made.unsure ? 0.5 : 0.9,
      }
      const intent = made.thin ? steps.thin(made.action) : steps.standard(made.action, more)
      const call: Past = { made, intent, approvalId: null }
      past.push(call)
      const answer = await send(call, false)
      if (answer.kind === 'pending') call.approvalId = answer.approvalId
      expect(answer).not.toMatchObject({ code: 'gate_failed' })
      expect(answer.kind).not.toBe('unrecorded')
      return
    }
    const earlier = past[each.of % Math.max(1, past.length)]
    if (earlier === undefined) return
    const intent = each.otherOctets ? { ...earlier.intent, later: true } : earlier.intent
    const answer = await send({ ...earlier, intent }, each.named)
    expect(answer).not.toMatchObject({ code: 'gate_failed' })
    expect(answer.kind).not.toBe('unrecorded')
  }

  try {
    for (const each of steps) {
      if (each.op === 'calls') await Promise.all(each.calls.map(one))
      else if (each.op === 'restart') at = await at.restart()
      else {
        const open = await at.gate.parts.state.approvals()
        const approval = open[each.of % Math.max(1, open.length)]
        if (approval === undefined) continue
        const outcome =
          each.outcome === 'approve'
            ? ({ kind: 'approve' } as const)
            : ({ kind: 'deny', reason: 'no' } as const)
        await decide(at.gate, approval.approvalId, person('alice'), outcome)
      }
    }
    await at.gate.close()
    await expectWhole(at, { unrecorded, altered, arrived })
  } finally {
    await upstream.close()
    await server.close()
    await at.close()
  }
}

async function expectWhole(
  { dir, reports }: Rig,
  seen: {
    readonly unrecorded: readonly string[]
    readonly altered: ReadonlySet<string>
    readonly arrived: ReadonlySet<string>
  },
): Promise<void> {
  const lines: Line[] = []
  let text = ''
  for await (const { line, raw } of readJournal(join(dir, 'data', 'journal'))) {
    text += `${Buffer.from(raw).toString('utf8').replace(/\n$/, '')}\n`
    const read = readLine(line)
    if (read !== null) lines.push(read)
  }
  expect(seen.unrecorded).toEqual([])
  expectHistory(lines, seen)
  const { keys } = exportKeyring(join(dir, 'data', 'keys'))
  const { results, journal } = verifyLedger(text, { keys, crypto: nodeCrypto })
  expect(journal).toMatchObject({ status: 'valid', complete: { ok: true } })
  expect(results.filter(({ ok }) => !ok).slice(0, 3)).toEqual([])
  const errors = reports.filter(
    ({ level, event }) => level === 'error' && event !== 'idp_commitment_gap',
  )
  expect(errors).toEqual([])
  if (lines.some(({ type }) => type === 'IDP_SUBMITTED')) await expectEvidence(join(dir, 'data'))
}

describe('any history of declared calls', () => {
  it('leaves a journal that keeps every promise of declarations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14, size: 'max' }), play),
      { numRuns: draws(100, 10), endOnFailure: true },
    )
    process.stdout.write(`${JSON.stringify(Object.fromEntries(answers))}\n`)
  }, 600_000)
})
