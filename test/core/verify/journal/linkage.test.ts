import { describe, expect, it } from '@jest/globals'
import { SMALLEST } from '../../../support/lines.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import { refused, verifyJournal, wholeJournal } from './scenario.js'

const journal = wholeJournal()
const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

describe('the chain of lines', () => {
  const cases: Record<string, [change: (lines: string[]) => string, code: string]> = {
    'an empty line between two': [(l) => joined(l.toSpliced(5, 0, '')), 'journal_line_empty'],
    'a line of spaces': [(l) => joined(l.toSpliced(5, 0, '  ')), 'journal_line_empty'],
    'an empty line at the end': [(l) => `${joined(l)}\n`, 'journal_line_empty'],
    'spaces at the end': [(l) => `${joined(l)} `, 'journal_line_empty'],
    'an empty line at the start': [(l) => `\n${joined(l)}`, 'journal_line_empty'],
    'a space at the start': [(l) => ` ${joined(l)}`, 'journal_line_empty'],
    'an origin that changes': [
      (l) => joined(l.with(5, (l[5] ?? '').replace('gate-1', 'gate-2'))),
      'journal_origin_changed',
    ],
    'a version that goes down': [
      (l) => joined(l.with(5, (l[5] ?? '').replace('"v":2', '"v":1'))),
      'journal_version',
    ],
    'a version nobody knows': [
      (l) => joined(l.with(5, (l[5] ?? '').replace('"v":2', '"v":3'))),
      'journal_version',
    ],
  }
  for (const [name, [change, code]] of Object.entries(cases))
    it(`${name}: ${code}`, () => {
      const { status, errors } = verifyJournal(change([...journal.lines]), journal)
      expect(status).toBe('invalid')
      expect(errors).toContain(code)
    })

  it('an origin renamed in every line, with the chain made anew, is found by the signatures', () => {
    const renamed = sealedJournal({ origin: 'gate-2' })
    for (const line of journal.lines) {
      const { v, origin, seq, prev, at, type, ...members } = JSON.parse(line)
      renamed.writeBare(2, { type, json: JSON.stringify(members) })
      void [v, origin, seq, prev, at]
    }
    const { status, errors } = verifyJournal(renamed.text(), journal)
    expect(status).toBe('invalid')
    expect(errors).toContain('event_signature')
  })
})

describe('a journal of version 1', () => {
  const older = (): ReturnType<typeof sealedJournal> => {
    const made = sealedJournal()
    made.writeBare(1, made.capsule(refused('denied')))
    made.sealVersion1()
    made.writeBare(1, made.event('CONFIG_CHANGED', SMALLEST.CONFIG_CHANGED))
    return made
  }

  it('cannot be told: no head covers it', () => {
    const made = older()
    const { status, errors, why } = verifyJournal(made.text(), made)
    expect([status, errors]).toEqual(['incomplete', []])
    expect(why).toBe(
      'a journal of version 1: no signed head covers it; `capsule-gate journal adopt`',
    )
  })

  it('has seals whose signature holds, whatever members they have', () => {
    const made = older()
    const { statement } = made.keys
    const unknown = verifyJournal(made.text(), made, { keys: [statement.record] })
    expect([unknown.status, unknown.errors]).toEqual(['incomplete', []])
    const { head, ...seal } = JSON.parse(made.lines[1] ?? '')
    const more = {
      upto: 1,
      hash: head,
      time: seal.at,
      lines: 1,
      capsules: 1,
      counts: { CAPSULE: 1 },
    }
    const text = `${made.lines[0]}\n${JSON.stringify({ ...seal, ...more })}\n`
    expect(verifyJournal(text, made).errors).toEqual(['seal_signature'])
  })

  it('goes on behind an ADOPTED line, and is whole by the heads behind it', () => {
    const made = older()
    made.adopt()
    made.seal(made.capsule(refused('denied')))
    const { status, errors, complete, not_checked } = verifyJournal(made.text(), made)
    expect([status, errors]).toEqual(['valid', []])
    expect(complete).toMatchObject({ lines: 2, capsules: 1 })
    expect(not_checked).toContain('lines_before_adoption')
  })

  it('does not become version 2 by itself: journal_version', () => {
    const made = older()
    made.write(made.capsule(refused('denied')))
    expect(verifyJournal(made.text(), made).errors).toContain('journal_version')
  })

  it('is adopted where its last line is, and once', () => {
    const moved = older()
    moved.adopt({ upto: 1 })
    expect(verifyJournal(moved.text(), moved).errors).toContain('journal_adoption_mismatch')
    const twice = older()
    twice.adopt()
    twice.adopt()
    expect(verifyJournal(twice.text(), twice).errors).toContain('journal_adoption_misplaced')
    const first = sealedJournal()
    first.adopt({ upto: 1 })
    expect(verifyJournal(first.text(), first).errors).toContain('journal_adoption_misplaced')
  })

  it('holds unsigned lines only where the adoption names them: event_unsigned', () => {
    const halt = { type: 'HALT', json: JSON.stringify({ scope: { kind: 'all' }, by: 'ops' }) }
    const named = older()
    named.writeBare(1, halt)
    named.adopt({ unsigned: [4] })
    const accepted = verifyJournal(named.text(), named)
    expect([accepted.status, accepted.errors]).toEqual(['valid', []])
    expect(accepted.not_checked).toContain('unsigned_lines_adopted')
    const unnamed = older()
    unnamed.writeBare(1, halt)
    unnamed.adopt()
    expect(verifyJournal(unnamed.text(), unnamed).errors).toEqual(['event_unsigned'])
    const never = older()
    never.writeBare(1, halt)
    expect(verifyJournal(never.text(), never).errors).toEqual(['event_unsigned'])
  })

  it('has its seals checked too: seal_signature, seal_mismatch', () => {
    const made = older()
    const forged = made
      .text()
      .replace(/("sig":")(.)/, (_, start, c) => start + (c === 'A' ? 'B' : 'A'))
    expect(verifyJournal(forged, made).errors).toContain('seal_signature')
    const root = made.text().replace(/("root":")([0-9a-f]{64})/, `$1${'0'.repeat(64)}`)
    expect(verifyJournal(root, made).errors).toContain('seal_mismatch')
  })
})
