import { describe, expect, it } from '@jest/globals'
import { running } from './admin-support.js'
import { cli } from './support.js'

const at = running()
const verdict = async (amount: string): Promise<string | null> =>
  (await at.gate.refund(amount)).headers.get('gate-verdict')

describe('halt and resume', () => {
  it.each([
    [['--all'], 'halted: everything\n'],
    [['--tool', 'create_refund'], 'halted: tool create_refund\n'],
  ])('%j stops the next call and starts it again', async (scope, said) => {
    expect(await at.run(['halt', ...scope])).toEqual({ code: 0, out: said, err: '' })
    const refused = await at.gate.refund('5.00')
    expect([refused.status, (await refused.json()) as unknown]).toEqual([
      403,
      expect.objectContaining({ code: 'halted' }),
    ])
    expect((await at.run(['halt', '--list', '--json'], 'viewer')).out).toMatch(/"halts":\[\{/)
    expect(await at.run(['resume', ...scope])).toEqual({
      code: 0,
      out: 'nothing is halted\n',
      err: '',
    })
    expect(await verdict('5.00')).toBe('executed')
    const again = await at.run(['resume', ...scope])
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('no such halt')])
  })

  it('needs one scope, a token and a role', async () => {
    for (const scope of [[], ['--all', '--tool', 'x']]) {
      expect((await at.run(['halt', ...scope])).code).toBe(2)
    }
    expect((await cli(['halt', '--all', '--url', at.gate.admin])).code).toBe(2)
    for (const role of ['approver', 'agent'] as const) {
      const refused = await at.run(['halt', '--all'], role)
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('403')])
    }
    expect(await verdict('5.00')).toBe('executed')
  })

  it('warns of a name that nothing here has, and says where no gate is', async () => {
    const typo = await at.run(['halt', '--tool', 'create_refnd'])
    expect([typo.code, typo.err]).toEqual([0, expect.stringContaining('stops nothing')])
    await at.run(['resume', '--tool', 'create_refnd'])
    const nobody = ['halt', '--all', '--url', 'http://127.0.0.1:1', '--token-file']
    const lost = await cli([...nobody, at.home.tokenFile.operator])
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining('no gate answers')])
  })

  it('SIGUSR2 halts everything, which a restart keeps', async () => {
    at.gate.child.kill('SIGUSR2')
    await at.gate.logged(/SIGUSR2/)
    expect(await verdict('5.00')).toBe('denied')
    expect(await at.gate.stop()).toBe(0)
    at.gate = await at.home.start()
    expect(await verdict('5.00')).toBe('denied')
    await at.run(['resume', '--all'])
    expect(await verdict('5.00')).toBe('executed')
  })
})
