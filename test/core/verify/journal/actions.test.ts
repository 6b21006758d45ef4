import { describe, expect, it } from '@jest/globals'
import { SMALLEST } from '../../../support/lines.js'
import { type Entry, type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { build, effect, input, outcomeSample, sha256 } from '../../capsule/samples.js'
import { dispatched, ran, refused, verifyJournal } from './scenario.js'

const POLICY = { kind: 'policy' } as const
function found(write: (journal: SealedJournal) => readonly Entry[]) {
  const journal = sealedJournal()
  journal.write(...write(journal))
  const { status, errors, warnings, why } = verifyJournal(journal.text(), journal)
  return { status, errors, warnings, why }
}
const whole = { status: 'valid', errors: [], warnings: [], why: '' }

describe('an action', () => {
  it('that was sent has one dispatch and one conclusion', () => {
    const run = ran()
    expect(found(({ capsule }) => [dispatched(run), capsule(run)])).toEqual(whole)
    const unsent = refused('engine_failure')
    expect(found(({ capsule }) => [dispatched(unsent), capsule(unsent)])).toEqual(whole)
  })

  it('that had an effect was dispatched before: effect_without_dispatch', () => {
    const run = ran()
    expect(found(({ capsule }) => [capsule(run)]).errors).toEqual(['effect_without_dispatch'])
    const late = found(({ capsule }) => [capsule(run), dispatched(run)])
    expect(late.errors).toEqual(['effect_without_dispatch', 'action_id_repeated'])
  })

  it('sent what it was to send: action_request_mismatch', () => {
    const run = ran()
    const other = dispatched(run, { request_digest: sha256('another') })
    expect(found(({ capsule }) => [other, capsule(run)]).errors).toEqual([
      'action_request_mismatch',
    ])
  })

  it('has an id of its own: action_id_repeated', () => {
    const run = ran()
    const again = build({
      ...input({ kind: 'refused', verdict_class: 'denied' }),
      identity: { ...input({ kind: 'timed_out' }).identity, action_id: run.action_id },
    })
    for (const entries of [
      ({ capsule }: SealedJournal) => [dispatched(run), capsule(run), capsule(again)],
      ({ capsule }: SealedJournal) => [dispatched(run), dispatched(run), capsule(run)],
      ({ capsule }: SealedJournal) => [dispatched(run), capsule(run), dispatched(run)],
    ])
      expect(found(entries).errors).toEqual(['action_id_repeated'])
  })

  it('of a route outside the promises, or seen later, needs no dispatch', () => {
    const run = ran()
    const passed = build({
      ...input({
        kind: 'ran',
        verdict_class: 'executed',
        by: POLICY,
        effect,
        observation: { kind: 'claimed', ok: true },
      }),
      identity: { ...input({ kind: 'timed_out' }).identity, action_type: 'fyi' },
    })
    expect(found(({ capsule }) => [capsule(passed)])).toEqual(whole)
    expect(
      found(({ capsule }) => [dispatched(run), capsule(run), capsule(outcomeSample(run), run)]),
    ).toEqual(whole)
  })

  it('is one of thousands, and each of them is remembered', () => {
    const journal = sealedJournal()
    const ids = Array.from({ length: 5000 }, (_, i) => `action ${i}`)
    journal.write(...ids.map((action_id) => dispatched({ action_id })))
    journal.write(...ids.slice(0, 3).map((action_id) => dispatched({ action_id })))
    const { errors, why } = verifyJournal(journal.text(), journal)
    expect(errors).toEqual(['action_id_repeated', 'action_id_repeated', 'action_id_repeated'])
    expect(why).toContain('5000 dispatched actions')
  })
})

describe('a halt', () => {
  const scopes = [
    { kind: 'all' },
    { kind: 'agent', name: 'bot' },
    { kind: 'tool', name: 'create_refund' },
    { kind: 'operator', name: 'acme' },
  ] as const
  it.each(scopes)('of %j lets nothing behind it be sent: action_sent_while_halted', (scope) => {
    const [run, unsent] = [ran(), refused('engine_failure')]
    const halt = (journal: SealedJournal): Entry =>
      journal.event('HALT', { ...SMALLEST.HALT, scope })
    const resume = (journal: SealedJournal): Entry =>
      journal.event('RESUME', { ...SMALLEST.RESUME, scope })
    const sent = found((j) => [halt(j), dispatched(run), resume(j), j.capsule(run)])
    expect(sent.errors).toEqual(['action_sent_while_halted'])
    expect(found((j) => [halt(j), dispatched(unsent), j.capsule(unsent)])).toEqual(whole)
    expect(found((j) => [halt(j), resume(j), dispatched(run), j.capsule(run)])).toEqual(whole)
    // It went before the halt.
    expect(found((j) => [dispatched(run), halt(j), j.capsule(run)])).toEqual(whole)
  })

  it('of a session lets no step of it be sent, and steps of others', () => {
    const run = ran()
    const intent = {
      event_id: 'e-1',
      idp_id: 'idp-1',
      session_id: 's-1',
      so_id: 'so-1',
      step_sequence: 1,
      cedar_action: 'ReadBooking',
      from_state: null,
      to_state: null,
    }
    const errorsUnder = (name: string): unknown =>
      found((j) => [
        j.event('HALT', { ...SMALLEST.HALT, scope: { kind: 'session', name } }),
        dispatched(run, { intent }),
        j.capsule(run),
      ]).errors
    expect(errorsUnder('s-1')).toContain('action_sent_while_halted')
    expect(errorsUnder('s-2')).not.toContain('action_sent_while_halted')
  })

  it('of another agent, tool or operator stops nothing here', () => {
    const run = ran()
    for (const kind of ['agent', 'tool', 'operator'] as const) {
      const scope = { kind, name: 'another' }
      const halt = (j: SealedJournal): Entry => j.event('HALT', { ...SMALLEST.HALT, scope })
      expect(found((j) => [halt(j), dispatched(run), j.capsule(run)])).toEqual(whole)
    }
  })

  it('before a crash: what was recovered says itself that nobody knows, and it is told', () => {
    const recovered = build(input({ kind: 'recovered', evidence: 'present', by: POLICY, effect }))
    const told = found((j) => [
      j.event('HALT', SMALLEST.HALT),
      dispatched(recovered),
      j.capsule(recovered),
    ])
    expect(told).toEqual({ ...whole, warnings: ['action_halted_recovered'] })
  })
})
