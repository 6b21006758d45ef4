import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import { checkSignature } from '../../../src/core/journal/event.js'
import { canonicalOf } from '../../../src/core/json/build.js'
import type { Plain } from '../../../src/core/json/value.js'
import { decide, person } from '../../support/approvals.js'
import { bookingGate, problemIn } from '../../support/booking-gate.js'
import { bookingCall, carried } from '../../support/intents.js'

/** What the seed intent-declaration-primitive-01 demands after the judgement (§5.5, §6, §8): docs/intent.md. */
const gate = bookingGate()
const { call, lines, types } = gate

/** A call whose octets are changed between judgement and wire. */
const altered = () => {
  const declared = carried(gate.steps.standard('ReadBooking'), gate.steps.mandate)
  const made = bookingCall('ReadBooking', gate.steps.booking, declared)
  return gate.send(made, { ...made, target: '/v1/bookings/b-2' })
}
const held = async (): Promise<string> =>
  (await gate.at.gate.parts.state.session(gate.steps.sessionId))?.heldBy ?? ''

describe('verification of a commitment (§5.5)', () => {
  it('follows each transition with a record that is signed by itself and names the very line', async () => {
    await call('ReadBooking', gate.steps.standard('ReadBooking'))
    await call('CloseBooking', gate.steps.standard('CloseBooking'))
    const [transitions, verified, submitted] = [
      await lines('STATE_TRANSITIONED'),
      await lines('IDP_COMMITMENT_VERIFIED'),
      await lines('IDP_SUBMITTED'),
    ]
    expect(transitions).toHaveLength(2)
    for (const [index, transition] of transitions.entries()) {
      const { v, origin, seq, prev, at, type, ...members } = transition
      const found = verified[index]?.record
      if (found === undefined) throw new Error('no record')
      const { kernel_signature, ...record } = found
      expect(submitted[index]).toMatchObject({ step_sequence: transition.step_sequence })
      expect(submitted[index]?.seq).toBeLessThan(seq)
      expect(verified[index]?.seq).toBe(seq + 1)
      expect(record).toEqual({
        idp_id: transition.idp_id,
        state_transition_id: transition.event_id,
        transition_digest: hex(nodeCrypto.sha256(utf8(canonicalOf(members)))),
        verified_at: expect.stringMatching(/Z$/),
        match_result: 'MATCHED',
        basis: 'written',
        kid: expect.any(String),
      })
      expect(isSigned(record, kernel_signature)).toBe(true)
      const forged = { ...record, match_result: 'IDP_COMMITMENT_GAP' }
      expect(isSigned(forged, kernel_signature)).toBe(false)
    }
  })

  it('that fails is a critical finding, and is put before a person with its record', async () => {
    await altered()
    const [gap] = await lines('IDP_COMMITMENT_GAP')
    expect(gap?.record.match_result).toBe('IDP_COMMITMENT_GAP')
    expect(gate.at.reports).toContainEqual(
      expect.objectContaining({ level: 'error', event: 'idp_commitment_gap' }),
    )
    const findings = (await gate.at.capsules()).slice(-2).map(({ capsule }) => capsule.constraints)
    for (const records of findings) {
      const critical = {
        id: 'dev.capsulegate.idp_commitment',
        result: 'fail',
        severity: 'critical',
      }
      expect(records).toContainEqual(expect.objectContaining(critical))
    }
    const [opened] = await lines('APPROVAL_OPENED')
    expect(opened).toMatchObject({ session_id: gate.steps.sessionId, holds: 'session' })
    const shown = await gate.at.gate.parts.evidence.byDigest(opened?.document_digest ?? '')
    expect(shown).toMatchObject({
      value: { value: { idp_summary: { verification_record: gap?.record } } },
    })
  })

  it.each([
    ['resumed', 'approve', 'SESSION_RESUMED', { code: 'executed' }],
    ['ended', 'deny', 'SESSION_CLOSED', { code: 'session_over' }],
  ] as const)(
    'that fails stops the session until it is %s by a person',
    async (_, kind, event, then) => {
      await altered()
      const asked = await held()
      await gate.reopen({})
      const stopped = await call('ReadBooking', gate.steps.standard('ReadBooking'))
      expect(problemIn(stopped).deny_code).toBe('HEM_PENDING')
      const outcome = { kind, reason: 'looked at' } as const
      await decide(gate.at.gate, asked, person('ada'), outcome)
      expect((await types()).slice(-3)).toEqual(['CAPSULE', 'APPROVAL_VOTED', event])
      const next = await call('ReadBooking', gate.steps.standard('ReadBooking'))
      expect(next).toMatchObject(then)
    },
  )

  it('is not shown to its agent', async () => {
    const answers = [await altered(), await call('ReadBooking', gate.steps.standard('ReadBooking'))]
    const told = JSON.stringify(
      answers.map((answer) => ('problem' in answer ? answer.problem : answer.kind)),
    )
    expect(told).not.toMatch(/commitment|match_result|MATCHED|verification/i)
    expect(answers[0]).toMatchObject({ kind: 'executed', code: 'executed' })
  })
})

describe('an Enriched DENY (§6)', () => {
  const unsure = () => gate.steps.standard('CloseBooking', { confidence_level: 0.7999 })

  it('has every member, and the declaration as it was received', async () => {
    const intent = unsure()
    const problem = problemIn(await call('CloseBooking', intent))
    expect(problem).toMatchObject({
      result: 'DENY',
      deny_code: 'POLICY_DENY',
      deny_reason: expect.any(String),
      idp_received: intent,
      available_actions: ['AdvanceMissionStage', 'ProcessPayment', 'ReadBooking'],
      suggested_paths: [],
      hem_available: true,
      timestamp: expect.stringMatching(/Z$/),
    })
  })

  it('shows no policy, threshold or condition, and names actions for so many a minute', async () => {
    const { idp_received, ...told } = problemIn(await call('CloseBooking', unsure()))
    expect(JSON.stringify(told)).not.toMatch(/closing-needs|confidence|0\.8|context|forbid/)
    let last: readonly string[] = []
    for (let i = 0; i < 20; i++)
      last = problemIn(await call('CloseBooking', unsure())).available_actions
    expect(last).toEqual([])
  })

  it('that says a person can be asked is kept: the same call with REQUIRED is put before one', async () => {
    expect(problemIn(await call('CloseBooking', unsure())).hem_available).toBe(true)
    const urgent = { ...unsure(), hem_urgency: 'REQUIRED' }
    expect(await call('CloseBooking', urgent)).toMatchObject({ kind: 'pending' })
    const [document] = await Promise.all(
      (await lines('APPROVAL_OPENED')).map(({ document_digest }) =>
        gate.at.gate.parts.evidence.byDigest(document_digest),
      ),
    )
    expect(document).toMatchObject({ value: { value: { approval_lifts: false, holds: 'call' } } })
    const meanwhile = problemIn(await call('ReadBooking', gate.steps.standard('ReadBooking')))
    expect(meanwhile).toMatchObject({ deny_code: 'HEM_PENDING', hem_available: false })
  })
})

describe('replay (§8.4)', () => {
  it('of an id or a step is refused after a restart too, from a snapshot or from lines alone', async () => {
    const first = gate.steps.standard('ReadBooking')
    await call('ReadBooking', first)
    const withoutSnapshot = (dir: string) => rmSync(join(dir, 'data', 'journal', 'snapshot'))
    for (const between of [undefined, withoutSnapshot]) {
      await gate.reopen({}, between)
      expect(problemIn(await call('ReadBooking', first)).error_code).toBe('IDP_DUPLICATE')
      const stale = gate.steps.standard('ReadBooking', { step_sequence: 1 })
      expect(problemIn(await call('ReadBooking', stale))).toMatchObject({ last_committed: 1 })
    }
    expect(await lines('IDP_SUBMITTED')).toHaveLength(1)
  })

  it('is no matter of ids that were refused: corrected, the same id may come again', async () => {
    const wrong = gate.steps.standard('ReadBooking', { confidence_level: 7 })
    expect(problemIn(await call('ReadBooking', wrong)).field).toBe('confidence_level')
    expect(await call('ReadBooking', { ...wrong, confidence_level: 0.7 })).toMatchObject({
      code: 'executed',
    })
  })
})

function isSigned(record: { readonly kid: string }, signature: string): boolean {
  const signed = utf8(canonicalOf({ ...record } as { [name: string]: Plain }))
  return checkSignature(record.kid, signature, signed, gate.at.gate.data.keys(), nodeCrypto).ok
}
