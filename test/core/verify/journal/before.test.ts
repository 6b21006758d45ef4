import { describe, expect, it } from '@jest/globals'
import { verifyJournal, wholeJournal } from './scenario.js'

/** Segments 1 and 2 are sealed, the third is open. */
const journal = wholeJournal()
const ends = journal.seals.map((seal) => journal.lines.indexOf(seal) + 1)
const from = (line: number): string =>
  journal.lines
    .slice(line)
    .map((text) => `${text}\n`)
    .join('')
const [first = 0, second = 0] = ends

describe('a journal that begins in the middle', () => {
  it('cannot be told, wherever it begins', () => {
    for (const line of [1, 2, first, first + 2, second]) {
      const { status, errors, why, not_checked } = verifyJournal(from(line), journal)
      expect([line, status, errors]).toEqual([line, 'incomplete', []])
      expect(why).toContain(`it begins with line ${line + 1}: the lines before it are not here`)
      expect(not_checked).toContain('earlier_journal_lines')
    }
  })

  it('behind archived segments whose seals are kept is whole', () => {
    for (const kept of [1, 2]) {
      const seals = journal.seals.slice(0, kept)
      const { status, errors, complete, not_checked } = verifyJournal(
        from(ends[kept - 1] ?? 0),
        journal,
        { seals },
      )
      expect([status, errors]).toEqual(['valid', []])
      expect(complete).toMatchObject({ ok: true, lines: journal.heads.at(-1)?.lines })
      expect(not_checked).toContain('archived_segments')
      expect(not_checked).toContain('halts_before')
    }
  })

  it('counts what began before it instead of calling it wrong', () => {
    const seals = journal.seals.slice(0, 1)
    const { begun_before, not_checked } = verifyJournal(from(first), journal, { seals })
    // The approved call is dispatched here, and was asked about in segment 1.
    expect(begun_before).toEqual({ actions: 0, approvals: 1 })
    expect(not_checked).toContain('approvals_begun_before')
  })

  it('needs the seal of every segment before it, each as it was written', () => {
    const [one = '', two = ''] = journal.seals
    const told = (seals: readonly string[]) => {
      const { status, errors } = verifyJournal(from(second), journal, { seals })
      return [status, errors]
    }
    expect(told([one, two])).toEqual(['valid', []])
    expect(told([two])).toEqual(['incomplete', []])
    expect(told([one])).toEqual(['incomplete', []])
    expect(told([one, one])).toEqual(['incomplete', []])
    expect(told([one, two.replace('"segment":2', '"segment":3')])).toEqual([
      'invalid',
      ['seal_kept_broken'],
    ])
    expect(
      told([
        one.replace(/("root":")(.)/, (_, name, digit) => `${name}${digit === 'f' ? '0' : 'f'}`),
        two,
      ])[0],
    ).toBe('invalid')
  })

  it('is held to what the seal counted', () => {
    const lines = journal.lines.slice(second)
    const text = lines.toSpliced(0, 2).map((line) => `${line}\n`)
    const { status } = verifyJournal(text.join(''), journal, { seals: journal.seals })
    expect(status).toBe('incomplete')
  })
})
