import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { LineOf } from '../../../src/core/journal/vocabulary.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import { initialize, type McpStand, mcpStand, rpc } from './harness.js'

let stand: McpStand
let session: string
beforeAll(async () => {
  stand = await mcpStand()
  session = await initialize(stand)
}, 30_000)
afterAll(() => stand.close())

const send = (method: string, params: object) =>
  stand.send({ headers: { 'mcp-session-id': session }, body: rpc(method, params) })

/** Capsules that something left, in order. */
async function leftBy(act: () => Promise<unknown>): Promise<LineOf<'CAPSULE'>[]> {
  const before = (await stand.capsules()).length
  await act()
  return (await stand.capsules()).slice(before)
}
const begin = (text: string) =>
  leftBy(() => send('tools/call', { name: 'echo', arguments: { text }, task: { ttl: 60_000 } }))

describe('a task', () => {
  it('is dispatched and never confirmed; its result, read later, is an outcome of that call', async () => {
    const [began, ...more] = await begin('good')
    expect(more).toEqual([])
    expect(began?.capsule.disposition.verdict_class).toBe('executed')
    expect(began?.capsule.effect?.status).toBe('dispatched')
    expect(began?.capsule.effect?.response_digest).toBeUndefined()
    const left = await leftBy(() => send('tasks/result', { taskId: 'task-good' }))
    const own = left.find(({ capsule }) => capsule.action_type === 'decide')
    const outcome = left.find(({ capsule }) => capsule.action_type === 'fyi')
    expect(left).toHaveLength(2)
    expect(own?.capsule.effect?.status).toBe('confirmed')
    expect(outcome?.capsule['dev.capsulegate.outcome_of']).toBe(began?.capsule.capsule_id)
    expect(outcome?.capsule.effect).toMatchObject({
      status: 'confirmed',
      external_ref: 'task-good',
      effect_attestation: 'gate_executed',
      response_digest: own?.capsule.effect?.response_digest,
      request_digest: began?.capsule.effect?.request_digest,
    })
    for (const line of left) {
      const keys = stand.started.gate.read.keys()
      expect(verifyStatement(statementOf(line), { keys, crypto: nodeCrypto })).toMatchObject({
        ok: true,
      })
    }
  })

  it('that failed has an outcome that says so', async () => {
    await begin('bad')
    const left = await leftBy(() => send('tasks/result', { taskId: 'task-bad' }))
    const outcome = left.find(({ capsule }) => capsule.action_type === 'fyi')
    expect(outcome?.capsule.effect?.status).toBe('failed')
  })

  it('has one outcome, however often its result is read, and none while it only works', async () => {
    await begin('open')
    const states = await leftBy(() => send('tasks/get', { taskId: 'task-open' }))
    expect(states.map(({ capsule }) => capsule.action_type)).toEqual(['decide'])
    await begin('twice')
    const first = await leftBy(() => send('tasks/get', { taskId: 'task-twice' }))
    const again = await leftBy(() => send('tasks/result', { taskId: 'task-twice' }))
    const kinds = (lines: LineOf<'CAPSULE'>[]) =>
      lines.map(({ capsule }) => capsule.action_type).sort()
    expect([kinds(first), kinds(again)]).toEqual([['decide', 'fyi'], ['decide']])
  })

  it('that nobody began here has no outcome', async () => {
    const left = await leftBy(() => send('tasks/result', { taskId: 'task-unheard-of' }))
    expect(left.map(({ capsule }) => capsule.action_type)).toEqual(['decide'])
  })
})
