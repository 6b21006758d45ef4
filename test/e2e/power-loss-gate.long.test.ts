import { afterAll, expect, it, jest } from '@jest/globals'
import { removeFolders, runsSoFar, wrongIn } from '../support/power-loss/cases.js'
import { door } from '../support/power-loss/door.js'
import type { Plan } from '../support/power-loss/scenario.js'

jest.unstable_mockModule('../../src/adapters/disk/files.js', () => door)
const { gateRun } = await import('../support/power-loss/gate-run.js')

/**
 * The power of a whole gate goes at each named point of a call's life and of the two stores. A gate that is started on
 * what is left must know all that was sent or answered, decided, erased or rotated, and its journal and evidence must
 * verify from the first line.
 */
afterAll(() => {
  process.stdout.write(`power loss of a gate: ${runsSoFar()} runs\n`)
  removeFolders()
})

const seams = (within: number, ...names: string[]): [string, number, Plan][] =>
  names.map((seam) => [seam, 3, { when: { seam, within } }])
it.each([
  ...seams(8, 'before_intent', 'after_intent', 'before_first_byte', 'after_last_byte'),
  ...seams(20, 'before_capsule', 'after_capsule'),
  ...seams(14, 'before_write', 'after_write', 'before_sync', 'after_sync'),
  ...seams(2, 'before_seal', 'after_seal', 'before_snapshot', 'after_snapshot'),
  ...seams(30, 'before_evidence_write', 'after_evidence_write'),
  ...seams(14, 'before_evidence_sync', 'after_evidence_sync'),
  ...seams(1, 'before_key_overwrite', 'after_key_overwrite'),
])(
  'a gate whose power goes at %s',
  async (name, count, plan) => {
    expect(await wrongIn(`gate at ${name}`, count, (run) => gateRun(run, plan))).toEqual([])
  },
  300_000,
)
