import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { firstWrong, removeFolders, runsSoFar, wrongIn } from '../support/power-loss/cases.js'
import { door } from '../support/power-loss/door.js'
import type { Plan } from '../support/power-loss/scenario.js'

jest.unstable_mockModule('../../src/adapters/disk/files.js', () => door)
const { journalRun } = await import('../support/power-loss/journal-run.js')
const { evidenceRun } = await import('../support/power-loss/evidence-run.js')

/**
 * The power goes at each named point of the two stores, and at any operation of the disk; what the disk may have by
 * then is drawn from a seed (test/support/power-loss/chance.ts), the store is opened on it and asked for all that it
 * had confirmed.
 */
afterAll(() => {
  process.stdout.write(`power loss in the stores: ${runsSoFar()} runs\n`)
  removeFolders()
})

describe('a journal', () => {
  const cases: [string, number, Plan][] = [
    ['before_write', 8, { when: { seam: 'before_write', within: 20 } }],
    ['after_write', 8, { when: { seam: 'after_write', within: 20 } }],
    ['before_sync', 8, { when: { seam: 'before_sync', within: 20 } }],
    ['after_sync', 8, { when: { seam: 'after_sync', within: 20 } }],
    ['before_seal', 8, { when: { seam: 'before_seal', within: 5 } }],
    ['after_seal', 8, { when: { seam: 'after_seal', within: 5 } }],
    ['before_snapshot', 8, { when: { seam: 'before_snapshot', within: 3 } }],
    ['after_snapshot', 8, { when: { seam: 'after_snapshot', within: 3 } }],
    ['any operation', 40, { when: { operation: 120 } }],
    ['any operation after a kill', 25, { when: { operation: 120 }, mode: 'after a kill' }],
    ['any operation, and again', 25, { when: { operation: 120 }, mode: 'again' }],
  ]
  it.each(cases)('at %s', async (name, count, plan) => {
    expect(await wrongIn(`journal at ${name}`, count, (run) => journalRun(run, plan))).toEqual([])
  })
})

describe('an evidence store', () => {
  const cases: [string, number, Plan][] = [
    ['before_evidence_write', 8, { when: { seam: 'before_evidence_write', within: 20 } }],
    ['after_evidence_write', 8, { when: { seam: 'after_evidence_write', within: 20 } }],
    ['before_evidence_sync', 8, { when: { seam: 'before_evidence_sync', within: 10 } }],
    ['after_evidence_sync', 8, { when: { seam: 'after_evidence_sync', within: 10 } }],
    ['before_key_overwrite', 8, { when: { seam: 'before_key_overwrite', within: 2 } }],
    ['after_key_overwrite', 8, { when: { seam: 'after_key_overwrite', within: 2 } }],
    ['before_index_swap', 8, { when: { seam: 'before_index_swap', within: 3 } }],
    ['after_index_swap', 8, { when: { seam: 'after_index_swap', within: 3 } }],
    ['any operation', 40, { when: { operation: 120 } }],
    ['any operation after a kill', 25, { when: { operation: 120 }, mode: 'after a kill' }],
    ['any operation, and again', 25, { when: { operation: 120 }, mode: 'again' }],
  ]
  it.each(cases)('at %s', async (name, count, plan) => {
    expect(await wrongIn(`evidence at ${name}`, count, (run) => evidenceRun(run, plan))).toEqual([])
  })
})

describe('a disk that only says that it synced is found out', () => {
  const when = { operation: 120 }
  const lying = (name: RegExp, kind: 'file' | 'folder'): Pick<Plan, 'lies'> => ({
    lies: (path, of) => of === kind && name.test(path),
  })
  it.each<[string, Plan, typeof journalRun]>([
    ['segments of the journal', { when, ...lying(/jsonl$/, 'file') }, journalRun],
    ['names in the journal', { when, ...lying(/^journal$/, 'folder') }, journalRun],
    ['segments of the evidence', { when, ...lying(/seg$/, 'file') }, evidenceRun],
    ['names of evidence segments', { when, ...lying(/segments$/, 'folder') }, evidenceRun],
    ['keys of the evidence', { when, ...lying(/keys$/, 'file') }, evidenceRun],
    ['names in the evidence store', { when, ...lying(/evidence$/, 'folder') }, evidenceRun],
    ['documents', { when, ...lying(/public/, 'file') }, evidenceRun],
  ])('%s', async (name, plan, run) => {
    expect(await firstWrong(`lying about ${name}`, 60, (one) => run(one, plan))).not.toBeNull()
  })
})
