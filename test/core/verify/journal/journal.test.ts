import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { verifyLedger, verifyLedgerStream } from '../../../../src/verify.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import { dispatched, ran, refused, verifyJournal, wholeJournal } from './scenario.js'

describe('an honest journal', () => {
  const journal = wholeJournal()
  const last = journal.heads.at(-1)
  if (last === undefined) throw new Error('no head')

  it('is whole up to its last head, and says what only a later head would tell', () => {
    const { status, errors, why, complete, not_checked } = verifyJournal(journal.text(), journal)
    expect({ status, errors, why }).toEqual({ status: 'valid', errors: [], why: '' })
    const { upto, time, lines, capsules } = last
    expect(complete).toEqual({ ok: true, upto, time, lines, capsules })
    expect(not_checked).toEqual(['journal_tail'])
  })

  it('gives the same answer as a stream, and with noble', async () => {
    const want = verifyLedger(journal.text(), { keys: journal.keyring, crypto: nodeCrypto }).journal
    const bytes = new TextEncoder().encode(journal.text())
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.slice(at, at + 1000)
    }
    const stream = verifyLedgerStream(chunks(), { keys: journal.keyring })
    let next = await stream.next()
    while (!next.done) next = await stream.next()
    expect(next.value.journal).toEqual(want)
  })

  it('cut back to any of its heads is whole up to that one, and says which', () => {
    for (const head of journal.heads) {
      const text = journal.lines
        .slice(0, head.upto + 1)
        .map((line) => `${line}\n`)
        .join('')
      const { complete, status, why } = verifyJournal(text, journal)
      // A call that was in flight then has no conclusion there.
      if (status === 'valid') expect(complete).toMatchObject({ ok: true, upto: head.upto })
      else expect(why).toMatch(/^1 dispatched actions have no conclusion/)
      expect(verifyJournal(text, journal, { head: JSON.stringify(last) }).status).toBe(
        head === last ? 'valid' : 'invalid',
      )
    }
  })
})

describe('what cannot be told is not valid', () => {
  it('without keys: nothing wrong, nothing vouched for', () => {
    const journal = wholeJournal()
    const { journal: whole } = verifyLedger(journal.text(), { crypto: nodeCrypto })
    expect(whole).toMatchObject({ status: 'incomplete', findings: [] })
    expect(whole?.not_checked).toEqual(['event_signatures', 'head_signatures', 'journal_tail'])
    expect(whole?.complete).toEqual({
      ok: false,
      why: ['no keyring was given (--keys), so no signature was checked'],
    })
  })

  it('with a key missing from the keyring, of events or of statements', () => {
    const journal = wholeJournal()
    const { statement, event } = journal.keys
    const noEvents = verifyJournal(journal.text(), journal, { keys: [statement.record] })
    expect(noEvents).toMatchObject({ status: 'incomplete', errors: [] })
    expect(noEvents.not_checked).toContain('unknown_keys')
    expect(noEvents.warnings).toContain('event_key_unknown')
    expect(noEvents.warnings).toContain('head_key_unknown')
    expect(noEvents.why).toContain(`the keyring has no key ${event.record.kid}`)
    const noStatements = verifyJournal(journal.text(), journal, { keys: [event.record] })
    expect(noStatements.status).toBe('incomplete')
    expect(new Set(noStatements.errors)).toEqual(new Set(['signature_kid_unknown']))
    expect(noStatements.results.every(({ ok, derived }) => derived === null || !ok)).toBe(true)
  })

  it('lines behind the last head, whole or torn', () => {
    const journal = wholeJournal()
    journal.writeBare(2, journal.capsule(refused('denied')))
    const behind = verifyJournal(journal.text(), journal)
    expect([behind.status, behind.errors]).toEqual(['incomplete', []])
    expect(behind.why).toMatch(/^1 lines stand behind the last signed head, of line \d+/)
    const cut = verifyJournal(wholeJournal().text().slice(0, -1), journal)
    expect([cut.status === 'valid', cut.why]).toEqual([false, expect.stringContaining('line feed')])
  })

  it('a journal without any head', () => {
    const journal = sealedJournal()
    journal.writeBare(2, journal.capsule(refused('denied')))
    const { status, why } = verifyJournal(journal.text(), journal)
    expect([status, why]).toEqual(['incomplete', 'no signed head covers it'])
  })

  it('a type that only a later version knows', () => {
    const journal = sealedJournal()
    journal.write({ type: 'LATER', json: '{}' }, { type: 'LATER', json: '{}' })
    const { status, why, warnings } = verifyJournal(journal.text(), journal)
    expect([status, warnings]).toEqual(['incomplete', ['journal_type_unknown']])
    expect(why).toContain('lines of type LATER, which this version does not know, from line 1 on')
  })

  it('a call whose conclusion is not there', () => {
    const journal = sealedJournal()
    journal.write(dispatched(ran()), journal.capsule(refused('denied')))
    const { status, errors, why } = verifyJournal(journal.text(), journal)
    expect([status, errors]).toEqual(['incomplete', []])
    expect(why).toMatch(/1 dispatched actions have no conclusion \(in flight, or left by a crash\)/)
  })

  it('but a journal of events alone is whole by its head', () => {
    const journal = sealedJournal()
    journal.write(journal.event('HALT', { scope: { kind: 'all' }, by: 'ops' }))
    expect(verifyJournal(journal.text(), journal)).toMatchObject({
      status: 'valid',
      complete: { lines: 1, capsules: 0 },
    })
  })
})
