import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Installation, install, type Serving } from './admin-support.js'
import { cli } from './support.js'

let home: Installation
let gate: Serving
beforeAll(async () => {
  home = await install()
  gate = await home.start()
})
afterAll(() => home.close())

const run = (args: readonly string[], role: keyof Installation['tokenFile'] = 'operator') =>
  cli([...args, '--url', gate.admin, '--token-file', home.tokenFile[role]])
const verdict = async (amount: string): Promise<string | null> =>
  (await gate.refund(amount)).headers.get('gate-verdict')

describe('halt and resume', () => {
  it.each([
    [['--all'], 'halted: everything\n'],
    [['--tool', 'create_refund'], 'halted: tool create_refund\n'],
  ])('%j stops the next call and starts it again', async (scope, said) => {
    expect(await run(['halt', ...scope])).toEqual({ code: 0, out: said, err: '' })
    const refused = await gate.refund('5.00')
    expect([refused.status, (await refused.json()) as unknown]).toEqual([
      403,
      expect.objectContaining({ code: 'halted' }),
    ])
    expect((await run(['halt', '--list', '--json'], 'viewer')).out).toMatch(/"halts":\[\{/)
    expect(await run(['resume', ...scope])).toEqual({
      code: 0,
      out: 'nothing is halted\n',
      err: '',
    })
    expect(await verdict('5.00')).toBe('executed')
    const again = await run(['resume', ...scope])
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('no such halt')])
  })

  it('needs one scope, a token and a role', async () => {
    for (const scope of [[], ['--all', '--tool', 'x']]) {
      expect((await run(['halt', ...scope])).code).toBe(2)
    }
    expect((await cli(['halt', '--all', '--url', gate.admin])).code).toBe(2)
    for (const role of ['approver', 'agent'] as const) {
      const refused = await run(['halt', '--all'], role)
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('403')])
    }
    expect(await verdict('5.00')).toBe('executed')
  })

  it('warns of a name that nothing here has, and says where no gate is', async () => {
    const typo = await run(['halt', '--tool', 'create_refnd'])
    expect([typo.code, typo.err]).toEqual([0, expect.stringContaining('stops nothing')])
    await run(['resume', '--tool', 'create_refnd'])
    const nobody = ['halt', '--all', '--url', 'http://127.0.0.1:1', '--token-file']
    const lost = await cli([...nobody, home.tokenFile.operator])
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining('no gate answers')])
  })

  it('SIGUSR2 halts everything, which a restart keeps', async () => {
    gate.child.kill('SIGUSR2')
    await gate.logged(/SIGUSR2/)
    expect(await verdict('5.00')).toBe('denied')
    expect(await gate.stop()).toBe(0)
    gate = await home.start()
    expect(await verdict('5.00')).toBe('denied')
    await run(['resume', '--all'])
    expect(await verdict('5.00')).toBe('executed')
  })
})

describe('outcome record', () => {
  it('states what became of an action and refuses what is unknown', async () => {
    const id = String((await gate.refund('6.00', 'o-outcome')).headers.get('gate-action'))
    const args = ['outcome', 'record', id, '--status', 'reverted', '--ref', 'T-77']
    const done = await run([...args, '--json'])
    expect(done.code).toBe(0)
    expect(JSON.parse(done.out).capsule.effect).toMatchObject({
      status: 'reverted',
      external_ref: 'T-77',
    })
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'
    const refused = await run(['outcome', 'record', unknown, '--status', 'failed', '--ref', 'x'])
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('404')])
    expect((await run(['outcome', 'record', id, '--status', 'nonsense', '--ref', 'x'])).code).toBe(
      2,
    )
  })
})

describe('evidence', () => {
  it('is shown by the running gate to auditors, or from the folder when it is stopped', async () => {
    const id = String((await gate.refund('913.25', 'o-evidence')).headers.get('gate-action'))
    const asked = await run(['evidence', 'show', id], 'auditor')
    expect([asked.code, asked.out]).toEqual([0, expect.stringContaining('913.25')])
    expect((await run(['evidence', 'show', id], 'viewer')).err).toContain('403')
    const folder = ['evidence', 'show', id, '--data', home.data]
    const locked = await cli(folder)
    expect([locked.code, locked.err]).toEqual([1, expect.stringContaining('a gate is running')])
    await gate.stop()
    const offline = await cli([...folder, '--json'])
    expect(offline.code).toBe(0)
    const parts = (text: string): unknown => JSON.parse(text).parts
    gate = await home.start()
    const online = await run(['evidence', 'show', id, '--json'], 'operator')
    expect(parts(offline.out)).toEqual(parts(online.out))
  })

  it('is erased only after a yes, by the gate or in its folder, and the journal says so', async () => {
    const day = new Date().toISOString().slice(0, 10)
    const id = String((await gate.refund('914.25', 'o-erase')).headers.get('gate-action'))
    const erase = ['evidence', 'erase', '--operator', 'acme', '--day', day]
    const unsure = await run(erase)
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining('--yes')])
    expect((await run(['evidence', 'show', id])).code).toBe(0)
    const done = await run([...erase, '--yes'])
    expect([done.code, done.out]).toEqual([0, expect.stringMatching(/^[1-9]\d* records/)])
    expect((await run(['evidence', 'show', id])).err).toContain('erased')
    await gate.stop()
    const offline = await cli([
      'evidence',
      'erase',
      '--subject',
      'anna',
      '--yes',
      '--data',
      home.data,
    ])
    expect([offline.code, offline.out]).toEqual([0, expect.stringMatching(/^0 records/)])
    gate = await home.start()
    const verified = await cli(['ledger', 'verify', '--data', home.data])
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
    expect((await run(['evidence', 'erase', ...args, '--yes'])).code).toBe(2)
  })
})

describe('the log', () => {
  it('has one line per verdict and none of the arguments', async () => {
    const actions: string[] = []
    for (let i = 0; i < 5; i++) {
      for (const amount of [`3${i}.17`, `93${i}.17`]) {
        const { headers } = await gate.refund(amount, `order-word-${i}`)
        actions.push(String(headers.get('gate-action')))
      }
    }
    for (const action of actions) await gate.logged(new RegExp(action))
    const lines = gate
      .log()
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ msg, action_id }) => msg === 'verdict' && actions.includes(String(action_id)))
    expect(lines).toHaveLength(10)
    expect(gate.log()).not.toMatch(/order-word|3\d\.17/)
    const last = lines.at(-1)
    expect(last).toMatchObject({
      verdict_class: 'blocked',
      code: 'constraint_failed',
      tool: 'create_refund',
      agent: 'support-bot',
      method: 'POST',
      cause: null,
      mode: 'enforce',
    })
  })
})

describe('a token in the environment', () => {
  it('is no setting of the gate', async () => {
    const file = join(home.home, 'empty.yaml')
    writeFileSync(file, 'operator: x\n')
    process.env.GATE_ADMIN_TOKEN = readFileSync(home.tokenFile.operator, 'utf8').trim()
    try {
      expect((await cli(['config', 'check', file])).code).toBe(0)
      expect((await cli(['halt', '--list', '--url', gate.admin])).code).toBe(0)
    } finally {
      delete process.env.GATE_ADMIN_TOKEN
    }
  })
})
