import { afterAll, expect, it, jest } from '@jest/globals'
import { firstWrong, removeFolders, runsSoFar, wrongIn } from '../support/power-loss/cases.js'
import { door } from '../support/power-loss/door.js'
import type { Plan } from '../support/power-loss/scenario.js'

jest.unstable_mockModule('../../src/adapters/disk/files.js', () => door)
const { gateRun } = await import('../support/power-loss/gate-run.js')

/** As in power-loss-gate.long.test.ts; the power goes in the course of any operation of the disk. */
afterAll(() => {
  process.stdout.write(`power loss of a gate, at operations of its disk: ${runsSoFar()} runs\n`)
  removeFolders()
})

it.each<[string, number, Plan]>([
  ['any operation', 20, { when: { operation: 500 } }],
  ['any operation of the first start', 14, { when: { operation: 150 } }],
  [
    'any operation after a kill',
    14,
    { when: { operation: 500, from: 6 }, mode: 'after a kill', second: 200 },
  ],
  ['any operation, and again', 14, { when: { operation: 500 }, mode: 'again', second: 200 }],
])(
  'a gate whose power goes at %s',
  async (name, count, plan) => {
    expect(await wrongIn(`gate at ${name}`, count, (run) => gateRun(run, plan))).toEqual([])
  },
  300_000,
)

it.each<[string, RegExp]>([
  ['evidence', /seg$/],
  ['the journal', /jsonl$/],
])('a disk that only says that it synced %s is found out', async (name, file) => {
  const plan: Plan = { when: { operation: 500 }, lies: (path) => file.test(path) }
  expect(await firstWrong(`lying about ${name}`, 20, (run) => gateRun(run, plan))).not.toBeNull()
})
