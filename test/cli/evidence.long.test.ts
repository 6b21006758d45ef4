import { describe, expect, it } from '@jest/globals'
import { running } from './admin-support.js'
import { cli } from './support.js'

const at = running()

describe('evidence', () => {
  it('is shown by the running gate to auditors, or from the folder when it is stopped', async () => {
    const id = String((await at.gate.refund('913.25', 'o-evidence')).headers.get('gate-action'))
    const asked = await at.run(['evidence', 'show', id], 'auditor')
    expect([asked.code, asked.out]).toEqual([0, expect.stringContaining('913.25')])
    expect((await at.run(['evidence', 'show', id], 'viewer')).err).toContain('403')
    const folder = ['evidence', 'show', id, '--data', at.home.data]
    const locked = await cli(folder)
    expect([locked.code, locked.err]).toEqual([1, expect.stringContaining('a gate is running')])
    await at.gate.stop()
    const offline = await cli([...folder, '--json'])
    expect(offline.code).toBe(0)
    const parts = (text: string): unknown => JSON.parse(text).parts
    at.gate = await at.home.start()
    const online = await at.run(['evidence', 'show', id, '--json'], 'operator')
    expect(parts(offline.out)).toEqual(parts(online.out))
  })

  it('is erased only after a yes, by the gate or in its folder, and the journal says so', async () => {
    const day = new Date().toISOString().slice(0, 10)
    const id = String((await at.gate.refund('914.25', 'o-erase')).headers.get('gate-action'))
    const erase = ['evidence', 'erase', '--operator', 'acme', '--day', day]
    const unsure = await at.run(erase)
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining('--yes')])
    expect((await at.run(['evidence', 'show', id])).code).toBe(0)
    const done = await at.run([...erase, '--yes'])
    expect([done.code, done.out]).toEqual([0, expect.stringMatching(/^[1-9]\d* records/)])
    expect((await at.run(['evidence', 'show', id])).err).toContain('erased')
    await at.gate.stop()
    const offline = await cli([
      'evidence',
      'erase',
      '--subject',
      'anna',
      '--yes',
      '--data',
      at.home.data,
    ])
    expect([offline.code, offline.out]).toEqual([0, expect.stringMatching(/^0 records/)])
    at.gate = await at.home.start()
    const verified = await cli(['ledger', 'verify', '--data', at.home.data])
    expect([verified.code, verified.out]).toEqual([
      0,
      expect.stringContaining('complete up to head'),
    ])
  })

  it.each([
    [['--subject', 'a', '--day', '2026-01-01']],
    [['--operator', 'acme']],
    [['--operator', 'acme', '--day', '01.02.2026']],
    [[]],
  ])('erase %j is refused as unclear', async (args) => {
    expect((await at.run(['evidence', 'erase', ...args, '--yes'])).code).toBe(2)
  })
})
