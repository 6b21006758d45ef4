import { describe, expect, it } from '@jest/globals'
import { type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { dispatched, ran, refused, verifyJournal } from './scenario.js'
import {
  opens,
  recovered,
  step,
  submitted,
  transition,
  verification,
  wholeStep,
  writeStep,
} from './steps.js'

function found(write: (journal: SealedJournal) => void) {
  const journal = sealedJournal()
  journal.write(opens(journal))
  write(journal)
  const { status, errors, warnings } = verifyJournal(journal.text(), journal)
  return { status, errors, warnings }
}
const whole = { status: 'valid', errors: [], warnings: [] }

describe('declared calls that were dispatched', () => {
  it('may be left by a crash without a record: what was sent is not known', () => {
    expect(
      found((journal) => {
        const { submitted, dispatched, concluded, of } = wholeStep(journal, 1, {}, recovered())
        journal.write(submitted, dispatched)
        const result = { ...transition(of), result: 'unconfirmed' } as const
        journal.write(concluded, journal.event('ACTION_RESULT_RECORDED', result))
        // Where its evidence is gone nothing vouches for its step.
        const lost = wholeStep(journal, 2, {}, recovered())
        journal.write(lost.submitted, lost.dispatched)
        journal.write(lost.concluded)
      }),
    ).toEqual(whole)
  })

  it('may be on record and not sent', () => {
    expect(
      found((journal) => {
        const { submitted, dispatched, concluded } = wholeStep(
          journal,
          1,
          {},
          refused('engine_failure'),
        )
        journal.write(submitted, dispatched)
        journal.write(concluded)
      }),
    ).toEqual(whole)
  })

  it('are judged by their batch when its head is there', () => {
    const journal = sealedJournal()
    const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
    journal.write(opens(journal), submitted, dispatched)
    for (const line of [concluded, transitioned]) {
      journal.writeBare(2, line)
      const { status, errors } = verifyJournal(journal.text(), journal)
      expect([status, errors]).toEqual(['incomplete', []])
    }
    journal.write(verified)
    expect(verifyJournal(journal.text(), journal).status).toBe('valid')
  })
})

describe('what no honest gate writes', () => {
  const cases: Record<string, [codes: string[], write: (journal: SealedJournal) => void]> = {
    'a transition that says what was declared, of a call that did something else': [
      ['transition_step_mismatch'],
      (journal) => {
        const { of, concluded, dispatched } = wholeStep(journal, 1)
        const cedar_action = 'ReadBooking'
        const moved = transition(of, { cedar_action })
        journal.write(submitted(journal, of, { requested_action: cedar_action }), dispatched)
        const lines = [journal.event('STATE_TRANSITIONED', moved), verification(journal, moved)]
        journal.write(concluded, ...lines)
      },
    ],
    'a transition of another declared step than was sent': [
      ['transition_step_mismatch'],
      (journal) => {
        const { of } = writeStep(journal, 1)
        const { submitted, dispatched, concluded, capsule } = wholeStep(journal, 2)
        const moved = transition({ ...of, action_id: capsule.action_id })
        journal.write(submitted, dispatched)
        const lines = [journal.event('STATE_TRANSITIONED', moved), verification(journal, moved)]
        journal.write(concluded, ...lines)
      },
    ],
    'what was declared and sent, and never compared': [
      ['transition_missing'],
      (journal) => {
        const { submitted, dispatched, concluded } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        journal.write(concluded)
      },
    ],
    'the same where its dispatch is silent and its capsule names the declaration': [
      ['transition_missing'],
      (journal) => {
        const extensions = { 'dev.capsulegate.intent_ref': 'e-1' }
        const capsule = ran(undefined, { extensions })
        journal.write(submitted(journal, step(capsule, 1)), dispatched(capsule))
        journal.write(journal.capsule(capsule))
      },
    ],
    'a transition in a later batch than its capsule': [
      ['transition_missing', 'transition_without_dispatch'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        journal.write(concluded)
        journal.write(transitioned, verified)
      },
    ],
    'a transition of what was declared and never sent': [
      ['transition_without_dispatch'],
      (journal) => {
        const { submitted, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted)
        journal.write(transitioned, verified)
      },
    ],
    'a transition of what was dispatched and, by its capsule, not sent': [
      ['transition_without_dispatch'],
      (journal) => {
        const notSent = refused('engine_failure')
        const parts = wholeStep(journal, 1, {}, notSent)
        journal.write(parts.submitted, parts.dispatched)
        journal.write(parts.concluded, parts.transitioned, parts.verified)
      },
    ],
    'two transitions of one call': [
      ['transition_without_dispatch'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified, of } = wholeStep(
          journal,
          1,
        )
        const again = transition(of)
        journal.write(submitted, dispatched)
        const lines = [journal.event('STATE_TRANSITIONED', again), verification(journal, again)]
        journal.write(concluded, transitioned, verified, ...lines)
      },
    ],
    'an unconfirmed result without a record, where no crash was': [
      ['result_unverified'],
      (journal) => {
        const { submitted, dispatched, concluded, of } = wholeStep(journal, 1)
        const result = { ...transition(of), result: 'unconfirmed' } as const
        journal.write(submitted, dispatched)
        journal.write(concluded, journal.event('ACTION_RESULT_RECORDED', result))
      },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [codes, write]) => {
    const { status, errors } = found(write)
    expect({ status, errors }).toEqual({ status: 'invalid', errors: codes })
  })
})
