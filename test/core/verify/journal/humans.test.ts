import { describe, expect, it } from '@jest/globals'
import { type Entry, type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { sha256 } from '../../capsule/samples.js'
import {
  approvedRun,
  dispatched,
  disposed,
  itemClosed,
  opened,
  over,
  refused,
  verifyJournal,
  voted,
} from './scenario.js'

type Batches = readonly (readonly Entry[])[]
function found(write: (journal: SealedJournal) => Batches, v: 1 | 2 = 2) {
  const journal = sealedJournal()
  for (const batch of write(journal)) {
    if (v === 2) journal.write(...batch)
    else journal.writeBare(1, ...batch)
  }
  if (v === 1) journal.adopt()
  const { status, errors, not_checked } = verifyJournal(journal.text(), journal)
  return { status, errors, not_checked }
}
const whole = { status: 'valid', errors: [], not_checked: ['journal_tail'] }

/** Asked, voted on, dispatched, executed. */
const approval =
  (votes: (journal: SealedJournal, asked: ReturnType<typeof refused>) => Entry[], quorum = 1) =>
  (journal: SealedJournal): Batches => {
    const asked = refused('hitl_dispatched')
    const run = approvedRun(asked)
    return [
      [journal.capsule(asked), opened(journal, asked, { quorum })],
      votes(journal, asked),
      [dispatched(run)],
      [journal.capsule(run)],
    ]
  }

describe('what ran on a person’s word', () => {
  it('had the votes of its quorum, of distinct persons', () => {
    expect(found(approval((j, asked) => [voted(j, asked, 'dana', 'approve')]))).toEqual(whole)
    const two = (j: SealedJournal, asked: ReturnType<typeof refused>): Entry[] => [
      voted(j, asked, 'dana', 'approve'),
      voted(j, asked, 'eli', 'approve'),
    ]
    expect(found(approval(two, 2))).toEqual(whole)
  })

  const wrong: Record<string, Parameters<typeof approval>> = {
    'no vote at all': [() => []],
    'one vote of two': [(j, asked) => [voted(j, asked, 'dana', 'approve')], 2],
    'two votes of one person': [
      (j, asked) => [voted(j, asked, 'dana', 'approve'), voted(j, asked, 'dana', 'approve')],
      2,
    ],
    'a machine’s vote': [(j, asked) => [voted(j, asked, 'bot', 'approve', { by: 'machine' })]],
    'a refusal': [(j, asked) => [voted(j, asked, 'dana', 'deny')]],
    'a vote under another document': [
      (j, asked) => [voted(j, asked, 'dana', 'approve', { document_digest: sha256('other') })],
    ],
    'a vote on another capsule': [
      (j, asked) => [voted(j, asked, 'dana', 'approve', { on: sha256('other') })],
    ],
    'a vote on another approval': [
      (j, asked) => [voted(j, asked, 'dana', 'approve', { approval_id: 'other' })],
    ],
    'a quorum of none': [() => [], 0],
  }
  for (const [name, args] of Object.entries(wrong))
    it(`with ${name}: human_without_votes`, () => {
      expect(found(approval(...args)).errors).toEqual(['human_without_votes'])
    })

  it('with the vote behind it: human_without_votes, in the same batch too', () => {
    const written = (j: SealedJournal): Batches => {
      const asked = refused('hitl_dispatched')
      const run = approvedRun(asked)
      return [
        [j.capsule(asked), opened(j, asked)],
        [dispatched(run), j.capsule(run), voted(j, asked, 'dana', 'approve')],
      ]
    }
    expect(found(written).errors).toEqual(['human_without_votes'])
  })

  it('with a vote whose signature does not hold: event_signature, human_without_votes', () => {
    const forged = approval((j, asked) => {
      const { type, json } = voted(j, asked, 'dana', 'deny')
      return [{ type, json: json.replace('"deny"', '"approve"') }]
    })
    expect(found(forged).errors).toEqual(['event_signature', 'human_without_votes'])
  })

  it('without being asked about: human_without_request', () => {
    const asked = refused('hitl_dispatched')
    const run = approvedRun(asked)
    const written = (j: SealedJournal): Batches => [
      [j.capsule(asked)],
      [voted(j, asked, 'dana', 'approve')],
      [dispatched(run), j.capsule(run)],
    ]
    expect(found(written).errors).toEqual(['human_without_request'])
  })

  it('was approved as that request: human_request_mismatch', () => {
    const asked = refused('hitl_dispatched')
    const run = approvedRun(asked)
    const written = (j: SealedJournal): Batches => [
      [j.capsule(asked), opened(j, asked, { request_digest: sha256('another') })],
      [voted(j, asked, 'dana', 'approve')],
      [dispatched(run), j.capsule(run)],
    ]
    expect(found(written).errors).toEqual(['human_request_mismatch'])
  })

  it('after an escalation needs votes on the escalated item', () => {
    const written =
      (late: boolean) =>
      (j: SealedJournal): Batches => {
        const asked = refused('hitl_dispatched')
        const escalated = refused('escalated', over(asked))
        const run = approvedRun(escalated)
        const on = late ? { on: escalated.capsule_id } : {}
        const vote = voted(j, asked, 'dana', 'approve', on)
        return [
          [j.capsule(asked), opened(j, asked)],
          late ? [j.capsule(escalated)] : [vote],
          late ? [vote] : [j.capsule(escalated)],
          [dispatched(run), j.capsule(run)],
        ]
      }
    expect(found(written(true))).toEqual(whole)
    expect(found(written(false)).errors).toEqual(['human_without_votes'])
  })
})

describe.each(['deny', 'defer'] as const)('a person who says %s', (outcome) => {
  const written =
    (votes: (j: SealedJournal, asked: ReturnType<typeof refused>) => Entry[]) =>
    (j: SealedJournal): Batches => {
      const asked = refused('hitl_dispatched')
      return [
        [j.capsule(asked), opened(j, asked, { quorum: 3 })],
        [j.capsule(disposed(outcome, asked)), ...votes(j, asked)],
      ]
    }
  it('is enough alone, and the vote stands beside the capsule', () => {
    expect(found(written((j, asked) => [voted(j, asked, 'dana', outcome)]))).toEqual(whole)
  })
  it('said it and nothing else: human_without_votes', () => {
    const other = outcome === 'deny' ? 'defer' : 'deny'
    for (const votes of [
      () => [],
      (j: SealedJournal, asked: ReturnType<typeof refused>) => [voted(j, asked, 'dana', other)],
      (j: SealedJournal, asked: ReturnType<typeof refused>) => [voted(j, asked, 'dana', 'approve')],
    ])
      expect(found(written(votes)).errors).toEqual(['human_without_votes'])
  })
  it('did so in version 1 as well', () => {
    const before = found(
      written((j, asked) => [voted(j, asked, 'dana', outcome)]),
      1,
    )
    expect([before.status, before.errors]).toEqual(['valid', []])
    expect(
      found(
        written(() => []),
        1,
      ).errors,
    ).toEqual(['human_without_votes'])
  })
})

describe('a blocked item that a person closed', () => {
  const written =
    (closed: (j: SealedJournal, blocked: ReturnType<typeof refused>) => Entry[]) =>
    (j: SealedJournal): Batches => {
      const blocked = refused('blocked')
      return [
        [j.capsule(blocked)],
        [j.capsule(disposed('withdraw', blocked)), ...closed(j, blocked)],
      ]
    }
  it('has a signed line that says so: human_without_request', () => {
    expect(found(written((j, blocked) => [itemClosed(j, blocked)]))).toEqual(whole)
    expect(found(written(() => [])).errors).toEqual(['human_without_request'])
    expect(found(written((j) => [itemClosed(j, refused('blocked'))])).errors).toEqual([
      'human_without_request',
    ])
  })
  it('in version 1 had none, which is told', () => {
    const { status, errors, not_checked } = found(
      written(() => []),
      1,
    )
    expect([status, errors]).toEqual(['valid', []])
    expect(not_checked).toContain('closed_items_of_version_1')
  })
})
