import { join } from 'node:path'
import { expect } from '@jest/globals'
import { readJournal } from '../../src/adapters/journal/read/read-journal.js'
import { compareEvidence } from '../../src/cli/ledger/evidence.js'
import { readLine } from '../../src/core/journal/vocabulary.js'

/**
 * After kill -9 at any point: every digest of every line that must have evidence has a record that opens, and what was
 * recovered says how it had been judged. Answers with how many digests and recovered capsules there were.
 */
export async function expectEvidence(
  data: string,
): Promise<{ readonly digests: number; readonly recovered: number }> {
  const report = await compareEvidence({ data, masterKey: join(data, 'keys', 'evidence.key') })
  if (report.kind !== 'compared') throw new Error(report.why)
  expect(report.findings.slice(0, 3)).toEqual([])
  expect(report.erased).toEqual([])
  expect(report.present).toBeGreaterThan(0)
  let recovered = 0
  for await (const { line: raw } of readJournal(join(data, 'journal'))) {
    const line = readLine(raw)
    const told = line?.type === 'CAPSULE' ? line.capsule['dev.capsulegate.recovered'] : undefined
    if (line?.type !== 'CAPSULE' || told === undefined) continue
    recovered++
    expect(told).toBe(true)
    expect(line.capsule.constraints?.map(({ id }) => id)).toContain('dev.capsulegate.cedar')
  }
  return { digests: report.present, recovered }
}
