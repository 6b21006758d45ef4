import { describe, expect, it } from '@jest/globals'
import { LINES, type LineType } from '../../../../src/core/journal/vocabulary.js'
import { SMALLEST } from '../../../support/lines.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import { verifyJournal } from './scenario.js'

const SIGNED = (Object.keys(LINES) as LineType[]).filter(
  (type): type is Exclude<LineType, 'CAPSULE'> =>
    LINES[type].signed && !['HEAD', 'SEGMENT_SEALED', 'ADOPTED'].includes(type),
)

/** A fault of its own: the session is not over, or no person let it go on. */
const ALONE: { readonly [T in LineType]?: readonly string[] } = {
  SESSION_AUDITED: ['session_audit_premature'],
  SESSION_RESUMED: ['session_resumed_unasked'],
}

describe.each(SIGNED)('%s', (type) => {
  const journal = sealedJournal()
  const { json } = journal.event(type, SMALLEST[type])
  const errorsOf = (members: string): readonly string[] => {
    const own = sealedJournal({ keys: journal.keys })
    own.write({ type, json: members })
    return verifyJournal(own.text(), own).errors
  }

  it('holds with its signature, and not with another: event_signature', () => {
    expect(errorsOf(json)).toEqual(ALONE[type] ?? [])
    const other = json.replace(/("sig":")(.)/, (_, start, c) => start + (c === 'A' ? 'B' : 'A'))
    expect(errorsOf(other)).toEqual(['event_signature'])
  })

  it('does not hold with a member more, nor unsigned: event_signature, event_unsigned', () => {
    expect(errorsOf(json.replace('{', '{"also":1,'))).toEqual(['event_signature'])
    expect(errorsOf(JSON.stringify(SMALLEST[type]))).toEqual(['event_unsigned'])
  })
})

it('the signature of one type is none of another', () => {
  const journal = sealedJournal()
  const { json } = journal.event('HALT', SMALLEST.HALT)
  journal.write({ type: 'RESUME', json })
  expect(verifyJournal(journal.text(), journal).errors).toEqual(['event_signature'])
})

it('a number of a signed line has one spelling: journal_line_malformed', () => {
  const journal = sealedJournal()
  const { json } = journal.event('APPROVAL_OPENED', SMALLEST.APPROVAL_OPENED)
  const { quorum } = SMALLEST.APPROVAL_OPENED
  for (const spelled of [`${quorum}.0`, `${quorum}e0`]) {
    const own = sealedJournal({ keys: journal.keys })
    const members = json.replace(`"quorum":${quorum}`, `"quorum":${spelled}`)
    own.write({ type: 'APPROVAL_OPENED', json: members })
    expect(verifyJournal(own.text(), own).errors).toEqual(['journal_line_malformed'])
  }
})
