import { describe, expect, it } from '@jest/globals'
import { SMALLEST } from '../../../support/lines.js'
import { type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { build, input } from '../../capsule/samples.js'
import { disposed, over, refused, verifyJournal, voted } from './scenario.js'
import {
  asks,
  gapStep,
  opens,
  resumes,
  resumption,
  sentStep,
  step,
  submitted,
  wholeStep,
  writeGap,
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
type Reason = 'idle' | 'refused' | 'unanswered' | 'nobody_to_ask'
const closes = (journal: SealedJournal, reason: Reason = 'idle') =>
  journal.event('SESSION_CLOSED', { session_id: 's-1', reason })

describe('a session of an honest gate', () => {
  const cases: Record<string, (journal: SealedJournal) => void> = {
    'stops no other session, and no longer than until a person resumed it': (journal) => {
      const asked = gapStep(journal, 1)
      journal.write(opens(journal, 's-2'))
      writeStep(journal, 1, { session_id: 's-2' })
      journal.write(...resumption(journal, asked))
      writeStep(journal, 2)
    },
    'leaves on record what was under way and was not sent': (journal) => {
      const later = refused('denied')
      const of = step(later, 2)
      gapStep(journal, 1)
      journal.write(submitted(journal, of), sentStep(of))
      journal.write(
        journal.capsule(later),
        journal.event('CEDAR_DENY_RECORDED', { ...SMALLEST.CEDAR_DENY_RECORDED, ...of }),
      )
    },
    'goes on when both of two gaps were resumed, in any order': (journal) => {
      const [first, second] = [wholeStep(journal, 1), wholeStep(journal, 2)]
      const [one, two] = [refused('hitl_dispatched'), refused('hitl_dispatched')]
      journal.write(first.submitted, second.submitted, first.dispatched, second.dispatched)
      writeGap(journal, first, asks(journal, one))
      writeGap(journal, second, asks(journal, two))
      journal.write(...resumption(journal, two))
      journal.write(...resumption(journal, one))
      writeStep(journal, 3)
    },
    'is resumed after its request was postponed and passed on': (journal) => {
      const asked = gapStep(journal, 1)
      const deferral = disposed('defer', asked)
      journal.write(journal.capsule(deferral), voted(journal, asked, 'dana', 'defer'))
      const passed = build(input({ kind: 'refused', verdict_class: 'escalated' }, over(deferral)))
      journal.write(journal.capsule(passed))
      journal.write(...resumption(journal, asked, passed))
      writeStep(journal, 2)
    },
    'ends when a person refuses that it goes on': (journal) => {
      const asked = gapStep(journal, 1)
      const lines = [
        journal.capsule(disposed('deny', asked)),
        voted(journal, asked, 'dana', 'deny'),
      ]
      journal.write(...lines, closes(journal, 'refused'))
    },
    'ends with its gap where nobody can be asked': (journal) => {
      const parts = wholeStep(journal, 1)
      journal.write(parts.submitted, parts.dispatched)
      const unattended = journal.capsule(refused('blocked'))
      writeGap(journal, parts, [unattended, closes(journal, 'nobody_to_ask')])
    },
    'is over, and what was under way then turns out to be a gap': (journal) => {
      const parts = wholeStep(journal, 1)
      const asked = refused('hitl_dispatched')
      journal.write(parts.submitted, parts.dispatched)
      journal.write(closes(journal))
      writeGap(journal, parts, asks(journal, asked))
      // Nothing can be resumed: policy takes the request back.
      const taken = build(input({ kind: 'refused', verdict_class: 'resolved' }, over(asked)))
      journal.write(journal.capsule(taken))
    },
  }
  it.each(Object.entries(cases))('%s', (_, write) => {
    expect(found(write)).toEqual(whole)
  })

  it('is resumed where the request to people stands in lines that are not here', () => {
    const journal = sealedJournal()
    const asked = refused('hitl_dispatched')
    journal.seal(opens(journal), ...asks(journal, asked))
    journal.write(...resumption(journal, asked))
    writeStep(journal, 1)
    const text = `${journal.lines.slice(4).join('\n')}\n`
    const { errors } = verifyJournal(text, journal, { seals: journal.seals })
    expect(errors).toEqual([])
  })
})

describe('what no honest gate writes', () => {
  const cases: Record<string, [codes: string[], write: (journal: SealedJournal) => void]> = {
    'a session that is opened again': [
      ['session_reopened'],
      (journal) => journal.write(closes(journal), opens(journal)),
    ],
    'a session that is resumed after its end': [
      ['session_reopened'],
      (journal) => journal.write(closes(journal), resumes(journal, refused('denied'))),
    ],
    'a call that is sent after the end of its session': [
      ['action_sent_in_stopped_session'],
      (journal) => {
        const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
        journal.write(submitted, closes(journal), dispatched)
        journal.write(concluded, transitioned, verified)
      },
    ],
    'a call that is sent behind a gap': [
      ['action_sent_in_stopped_session'],
      (journal) => {
        gapStep(journal, 1)
        writeStep(journal, 2)
      },
    ],
    'a call that is sent while people are asked about its session': [
      ['action_sent_in_stopped_session'],
      (journal) => {
        journal.write(...asks(journal, refused('hitl_dispatched')))
        writeStep(journal, 1)
      },
    ],
    'a call that is sent behind two gaps, of which one was resumed': [
      ['action_sent_in_stopped_session'],
      (journal) => {
        const [first, second] = [wholeStep(journal, 1), wholeStep(journal, 2)]
        const [one, two] = [refused('hitl_dispatched'), refused('hitl_dispatched')]
        journal.write(first.submitted, second.submitted, first.dispatched, second.dispatched)
        writeGap(journal, first, asks(journal, one))
        writeGap(journal, second, asks(journal, two))
        journal.write(...resumption(journal, one))
        writeStep(journal, 3)
      },
    ],
    'one request for two gaps': [
      ['gap_without_request', 'action_sent_in_stopped_session'],
      (journal) => {
        const [first, second] = [wholeStep(journal, 1), wholeStep(journal, 2)]
        const asked = refused('hitl_dispatched')
        journal.write(first.submitted, second.submitted, first.dispatched, second.dispatched)
        writeGap(journal, first, asks(journal, asked))
        writeGap(journal, second, asks(journal, asked).slice(1))
        journal.write(...resumption(journal, asked))
        writeStep(journal, 3)
      },
    ],
    'a gap about which nobody was asked': [
      ['gap_without_request'],
      (journal) => {
        const parts = wholeStep(journal, 1)
        journal.write(parts.submitted, parts.dispatched)
        writeGap(journal, parts, [])
      },
    ],
    'a gap about which people were asked as of any call': [
      ['gap_without_request'],
      (journal) => {
        const parts = wholeStep(journal, 1)
        journal.write(parts.submitted, parts.dispatched)
        writeGap(journal, parts, asks(journal, refused('hitl_dispatched'), { holds: 'call' }))
      },
    ],
    'a session that is resumed although nobody decided': [
      ['session_resumed_unasked', 'action_sent_in_stopped_session'],
      (journal) => {
        const asked = gapStep(journal, 1)
        journal.write(resumes(journal, asked))
        writeStep(journal, 2)
      },
    ],
    'a session that is resumed although nobody was asked': [
      ['session_resumed_unasked'],
      (journal) => journal.write(resumes(journal, refused('denied'))),
    ],
    'a session that is resumed in a later batch than the decision': [
      ['session_resumed_unasked'],
      (journal) => {
        const [granted, vote, resumed] = resumption(journal, gapStep(journal, 1))
        if (granted === undefined || vote === undefined || resumed === undefined) throw new Error()
        journal.write(granted, vote)
        journal.write(resumed)
      },
    ],
    'a session that is resumed although it was refused': [
      ['session_resumed_unasked'],
      (journal) => {
        const asked = gapStep(journal, 1)
        const refusal = [
          journal.capsule(disposed('deny', asked)),
          voted(journal, asked, 'dana', 'deny'),
        ]
        journal.write(...refusal, resumes(journal, asked))
      },
    ],
    'a session that is resumed by what was decided about another': [
      ['session_resumed_unasked', 'action_sent_in_stopped_session'],
      (journal) => {
        gapStep(journal, 1)
        const asked = refused('hitl_dispatched')
        journal.write(opens(journal, 's-2'), ...asks(journal, asked, { session_id: 's-2' }))
        journal.write(...resumption(journal, asked))
        writeStep(journal, 2)
      },
    ],
    'one decision that resumes twice': [
      ['session_resumed_unasked'],
      (journal) => {
        const asked = gapStep(journal, 1)
        journal.write(...resumption(journal, asked), resumes(journal, asked))
      },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [codes, write]) => {
    const { status, errors } = found(write)
    expect({ status, errors }).toEqual({ status: 'invalid', errors: codes })
  })
})
