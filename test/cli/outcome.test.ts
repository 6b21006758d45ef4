import { describe, expect, it } from '@jest/globals'
import { running } from './admin-support.js'

const at = running()

describe('outcome record', () => {
  it('states what became of an action and refuses what is unknown', async () => {
    const id = String((await at.gate.refund('6.00', 'o-outcome')).headers.get('gate-action'))
    const args = ['outcome', 'record', id, '--status', 'reverted', '--ref', 'T-77']
    const done = await at.run([...args, '--json'])
    expect(done.code).toBe(0)
    expect(JSON.parse(done.out).capsule.effect).toMatchObject({
      status: 'reverted',
      external_ref: 'T-77',
    })
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'
    const refused = await at.run(['outcome', 'record', unknown, '--status', 'failed', '--ref', 'x'])
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('404')])
    expect(
      (await at.run(['outcome', 'record', id, '--status', 'nonsense', '--ref', 'x'])).code,
    ).toBe(2)
  })
})
