import { describe, expect, it } from '@jest/globals'
import { type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { verifyJournal } from './scenario.js'
import { opens, submitted, transition, verification, wholeStep, writeStep } from './steps.js'

function found(write: (journal: SealedJournal) => void) {
  const journal = sealedJournal()
  journal.write(opens(journal))
  write(journal)
  const { status, errors, warnings } = verifyJournal(journal.text(), journal)
  return { status, errors, warnings }
}
const whole = { status: 'valid', errors: [], warnings: [] }
const closes = (journal: SealedJournal) =>
  journal.event('SESSION_CLOSED', { session_id: 's-1', reason: 'idle' })

describe('declared calls of an honest gate', () => {
  it('verify, in several sessions and on several objects', () => {
    expect(
      found((journal) => {
        const first = writeStep(journal, 1)
        writeStep(journal, 2)
        writeStep(journal, 7)
        // The same id on another object, in another session.
        const elsewhere = { session_id: 's-2', so_id: 'o-2', idp_id: first.of.idp_id }
        journal.write(opens(journal, 's-2'))
        writeStep(journal, 1, elsewhere)
        journal.write(closes(journal))
      }),
    ).toEqual(whole)
  })

  it('were declared, or dispatched, before the first line given, where that is not the first', () => {
    for (const n of [3, 5]) {
      const journal = sealedJournal()
      const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
      journal.seal(opens(journal), submitted)
      journal.seal(dispatched)
      journal.write(concluded, transitioned, verified)
      const text = `${journal.lines.slice(n).join('\n')}\n`
      const seals = n === 3 ? journal.seals.slice(0, 1) : journal.seals
      const { errors, not_checked } = verifyJournal(text, journal, { seals })
      expect([n, errors]).toEqual([n, []])
      expect(not_checked).toContain('declarations_before')
    }
  })
})

describe('what no honest gate writes', () => {
  const cases: Record<string, [codes: string[], write: (journal: SealedJournal) => void]> = {
    'an id twice for one object': [
      ['declaration_id_repeated'],
      (journal) => {
        const { of } = writeStep(journal, 1)
        writeStep(journal, 2, { idp_id: of.idp_id })
      },
    ],
    'a step that does not count up': [
      ['declaration_step_stale'],
      (journal) => {
        writeStep(journal, 2)
        writeStep(journal, 2)
      },
    ],
    'a dispatch without its declaration': [
      ['dispatch_without_declaration', 'transition_without_declaration'],
      (journal) => {
        const { dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(dispatched)
        journal.write(concluded, transitioned, verified)
      },
    ],
    'a transition of another step than was declared': [
      ['transition_without_declaration', 'transition_step_mismatch'],
      (journal) => {
        const { submitted, dispatched, concluded, of } = wholeStep(journal, 1)
        const moved = transition(of, { step_sequence: 2 })
        journal.write(submitted, dispatched)
        const lines = [journal.event('STATE_TRANSITIONED', moved), verification(journal, moved)]
        journal.write(concluded, ...lines)
      },
    ],
    'a transition that another session declared': [
      ['transition_without_declaration', 'transition_step_mismatch'],
      (journal) => {
        const { submitted, dispatched, concluded, of } = wholeStep(journal, 1)
        const moved = transition(of, { session_id: 's-2' })
        journal.write(submitted, dispatched)
        const lines = [journal.event('STATE_TRANSITIONED', moved), verification(journal, moved)]
        journal.write(concluded, ...lines)
      },
    ],
    'a transition without its record': [
      ['transition_unverified'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        journal.write(concluded, transitioned)
      },
    ],
    'a record in a later batch': [
      ['transition_unverified', 'commitment_without_transition'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        journal.write(concluded, transitioned)
        journal.write(verified)
      },
    ],
    'two records of one transition': [
      ['commitment_without_transition'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified, moved } = wholeStep(
          journal,
          1,
        )
        journal.write(submitted, dispatched)
        journal.write(concluded, transitioned, verified, verification(journal, moved))
      },
    ],
    'a record of a transition that was changed': [
      ['commitment_digest_mismatch'],
      (journal) => {
        const { submitted, dispatched, concluded, moved, verified } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        const changed = journal.event('STATE_TRANSITIONED', { ...moved, to_state: 'closed' })
        journal.write(concluded, changed, verified)
      },
    ],
    'a record that was changed': [
      ['commitment_signature'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, moved } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        const forged = verification(journal, moved, 'MATCHED', { basis: 'judged' })
        journal.write(concluded, transitioned, forged)
      },
    ],
    'a gap that was made a match': [
      ['commitment_signature'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, moved } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        const { json } = verification(journal, moved, 'IDP_COMMITMENT_GAP')
        const type = 'IDP_COMMITMENT_VERIFIED'
        const matched = json.replace('"IDP_COMMITMENT_GAP"', '"MATCHED"')
        journal.write(concluded, transitioned, { type, json: matched })
      },
    ],
    'a record signed by a key for capsules': [
      ['commitment_signature'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, moved } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        const { statement } = journal.keys
        const kid = statement.record.kid
        journal.write(concluded, transitioned, verification(journal, moved, 'MATCHED', { kid }))
      },
    ],
    'a record of another action': [
      ['commitment_step_mismatch'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted, dispatched)
        const { json } = verified
        const other = JSON.stringify({ ...JSON.parse(json), action_id: 'another' })
        journal.write(concluded, transitioned, { ...verified, json: other })
      },
    ],
    'a match with another action than was declared': [
      ['commitment_false_match'],
      (journal) => {
        const { of, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted(journal, of, { requested_action: 'ReadBooking' }), dispatched)
        journal.write(concluded, transitioned, verified)
      },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [codes, write]) => {
    const { status, errors } = found(write)
    expect({ status, errors }).toEqual({ status: 'invalid', errors: codes })
  })
})
