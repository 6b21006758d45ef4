import { describe, expect, it } from '@jest/globals'
import { running } from '../admin-support.js'

const at = running()

describe('the log', () => {
  it('has one line per verdict and none of the arguments', async () => {
    const actions: string[] = []
    for (let i = 0; i < 5; i++) {
      for (const amount of [`3${i}.17`, `93${i}.17`]) {
        const { headers } = await at.gate.refund(amount, `order-word-${i}`)
        actions.push(String(headers.get('gate-action')))
      }
    }
    for (const action of actions) await at.gate.logged(new RegExp(action))
    const lines = at.gate
      .log()
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ msg, action_id }) => msg === 'verdict' && actions.includes(String(action_id)))
    expect(lines).toHaveLength(10)
    expect(at.gate.log()).not.toMatch(/order-word|3\d\.17/)
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
