import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { firstWrong, removeFolders, runsSoFar, wrongIn } from '../support/power-loss/cases.js'
import { door } from '../support/power-loss/door.js'
import type { Plan } from '../support/power-loss/scenario.js'

jest.unstable_mockModule('../../src/adapters/disk/files.js', () => door)
const { adoptRun, keysRun, outboxRun, secretsRun, tokensRun } = await import(
  '../support/power-loss/file-runs.js'
)
const { receiver } = await import('../adapters/webhook/harness.js')

/** The power goes while the smaller files of a data folder are written: keys, secrets, tokens, outbox, an adoption. */
let hook: Awaited<ReturnType<typeof receiver>>
beforeAll(async () => {
  hook = await receiver()
})
afterAll(async () => {
  await hook.close()
  process.stdout.write(`power loss in smaller files: ${runsSoFar()} runs\n`)
  removeFolders()
})

describe('keys', () => {
  const steps = [
    ...['private_temporary', 'private_written', 'keyring_temporary', 'keyring_written'],
    ...['private_overwritten', 'private_destroyed'],
  ]
  const cases = steps.map((seam): [string, number, Plan] => [
    seam,
    6,
    { when: { seam, within: seam.startsWith('private_w') ? 6 : 3 } },
  ])
  it.each([...cases, ['any operation', 40, { when: { operation: 110 } } as Plan]])(
    'at %s',
    async (name, count, plan) => {
      expect(await wrongIn(`keys at ${name}`, count, (run) => keysRun(run, plan))).toEqual([])
    },
  )
})

it.each<[string, typeof keysRun, number, number]>([
  ['secrets', secretsRun, 30, 12],
  ['tokens', tokensRun, 40, 40],
  ['a journal that is taken over', adoptRun, 12, 20],
])('%s, at any operation', async (name, run, count, operation) => {
  const plan = { when: { operation } }
  expect(await wrongIn(name, count, (one) => run(one, plan))).toEqual([])
})

it('secrets, when a start follows a kill and the power goes in it', async () => {
  const plan: Plan = { when: { operation: 14 }, mode: 'after a kill', second: 30 }
  const run = (one: Parameters<typeof secretsRun>[0]) => secretsRun(one, plan)
  expect(await wrongIn('secrets after a kill', 200, run)).toEqual([])
})

it('the outbox of notifications, at any operation and when an event has just come', async () => {
  const plans: [string, Plan][] = [
    ['outbox at any operation', { when: { operation: 50 } }],
    ['outbox at an event', { when: { seam: 'appended', within: 8 } }],
  ]
  for (const [name, plan] of plans) {
    expect(await wrongIn(name, 25, (run) => outboxRun(run, plan, hook))).toEqual([])
  }
})

describe('a disk that only says that it synced is found out', () => {
  const lying = (name: RegExp, kind: 'file' | 'folder', operation = 60): Plan => ({
    when: { operation },
    lies: (path, of) => of === kind && name.test(path),
  })
  it.each<[string, Plan, typeof keysRun]>([
    ['the keyring', lying(/keyring/, 'file'), keysRun],
    ['private keys', lying(/\.key\.tmp$/, 'file'), keysRun],
    ['names of keys', lying(/keys$/, 'folder'), keysRun],
    ['the name of the data folder', lying(/^$/, 'folder'), keysRun],
    ['secrets', lying(/tmp$/, 'file', 20), secretsRun],
    ['tokens', lying(/tokens/, 'file'), tokensRun],
    ['the name of the tokens', lying(/data$/, 'folder'), tokensRun],
    ['the outbox', lying(/outbox/, 'file'), (run, plan) => outboxRun(run, plan, hook)],
    [
      'the name of the outbox',
      lying(/webhooks$/, 'folder'),
      (run, plan) => outboxRun(run, plan, hook),
    ],
    ['an adoption', lying(/jsonl$/, 'file', 40), adoptRun],
  ])('%s', async (name, plan, run) => {
    expect(await firstWrong(`lying about ${name}`, 60, (one) => run(one, plan))).not.toBeNull()
  })
})
