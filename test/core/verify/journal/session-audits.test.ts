import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { auditDigest, sessionAudit } from '../../../../src/core/intent/audit/session-audit.js'
import { type JournalLine, type Line, readLine } from '../../../../src/core/journal/vocabulary.js'
import { type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { verifyJournal } from './scenario.js'
import { opens, wholeStep, writeStep } from './steps.js'

const closes = (journal: SealedJournal, session_id = 's-1') =>
  journal.event('SESSION_CLOSED', { session_id, reason: 'idle' })
const linesOf = (journal: SealedJournal): Line[] =>
  journal.lines.flatMap((text) => readLine(JSON.parse(text) as JournalLine) ?? [])
const auditOf = (journal: SealedJournal, id = 's-1') => {
  const audit = sessionAudit(linesOf(journal), id, nodeCrypto)
  if (audit === null) throw new Error('no line is of it')
  return audit
}
const audited = (
  journal: SealedJournal,
  audit_digest = auditDigest(auditOf(journal), nodeCrypto),
  more: { session_id?: string; whole?: boolean } = {},
) => journal.event('SESSION_AUDITED', { session_id: 's-1', whole: true, audit_digest, ...more })
const answer = (journal: SealedJournal, text = journal.text(), seals: readonly string[] = []) => {
  const { errors, not_checked } = verifyJournal(text, journal, { seals })
  return { errors, untold: not_checked.includes('session_audits') }
}
const whole = { errors: [], untold: false }

describe('the record of a session', () => {
  it('is derived again from its lines', () => {
    const journal = sealedJournal()
    journal.write(opens(journal))
    const { of, capsule } = writeStep(journal, 1)
    journal.write(opens(journal, 's-2'))
    writeStep(journal, 1, { session_id: 's-2' })
    journal.write(closes(journal))
    expect(auditOf(journal)).toMatchObject({
      agent: 'bot',
      why: 'idle',
      verdicts: { executed: 1 },
      matches: 1,
      intents: [{ event_id: of.event_id, match_result: 'MATCHED', capsule_id: capsule.capsule_id }],
    })
    journal.write(audited(journal))
    expect(answer(journal)).toEqual(whole)
  })

  it.each([
    ['another digest', 'session_audit_mismatch', (j: SealedJournal) => audited(j, 'f'.repeat(64))],
    [
      'a session that is open',
      'session_audit_premature',
      (j: SealedJournal) => audited(j, 'f'.repeat(64), { session_id: 's-2' }),
    ],
  ])('is not that of %s: %s', (_, code, line) => {
    const journal = sealedJournal()
    journal.write(opens(journal), opens(journal, 's-2'))
    writeStep(journal, 1)
    journal.write(closes(journal))
    journal.write(line(journal))
    expect(answer(journal)).toEqual({ errors: [code], untold: false })
  })

  it('is final with the last line of a call that was under way when it was closed', () => {
    const journal = sealedJournal()
    journal.write(opens(journal))
    const { submitted, dispatched, concluded, transitioned, verified } = wholeStep(journal, 1)
    journal.write(submitted, dispatched)
    journal.write(closes(journal))
    const before = sessionAudit(linesOf(journal), 's-1', nodeCrypto)
    expect(before).toMatchObject({ matches: 0, capsules: { count: 0 } })
    journal.write(concluded, transitioned, verified)
    const after = auditOf(journal)
    expect(after).toMatchObject({ matches: 1, capsules: { count: 1 } })
    const { digest } = { digest: auditDigest(after, nodeCrypto) }
    const { errors } = answer(journal)
    // Sent before it was closed, so that is no fault.
    expect(errors).toEqual([])
    journal.write(audited(journal, digest))
    expect(answer(journal)).toEqual(whole)
  })

  it('is not told where its first lines are not here', () => {
    const journal = sealedJournal()
    journal.seal(opens(journal))
    writeStep(journal, 1)
    journal.write(closes(journal))
    journal.write(audited(journal))
    const text = `${journal.lines.slice(2).join('\n')}\n`
    expect(answer(journal, text, journal.seals)).toEqual({ errors: [], untold: true })
    expect(answer(journal)).toEqual(whole)
  })

  it('is no other by what happens in other sessions, before, between or after', () => {
    const session = fc.constantFrom('s-2', 's-3', 's-4')
    const between = fc.array(session, { maxLength: 3 })
    fc.assert(
      fc.property(fc.array(between, { minLength: 2, maxLength: 4 }), (others) => {
        const journal = sealedJournal()
        journal.write(...['s-1', 's-2', 's-3', 's-4'].map((id) => opens(journal, id)))
        const counts = new Map<string, number>()
        const next = (id: string): number => {
          counts.set(id, (counts.get(id) ?? 0) + 1)
          return counts.get(id) ?? 0
        }
        for (const ids of others) {
          writeStep(journal, next('s-1'))
          for (const id of ids) writeStep(journal, next(id), { session_id: id, so_id: id })
        }
        journal.write(closes(journal))
        const record = auditOf(journal)
        expect(record.submitted.count).toBe(others.length)
        expect(record.matches).toBe(others.length)
        expect(record.capsules.count).toBe(others.length)
        writeStep(journal, next('s-2'), { session_id: 's-2', so_id: 's-2' })
        journal.write(audited(journal))
        expect(answer(journal)).toEqual(whole)
      }),
      { numRuns: 12 },
    )
  })
})
