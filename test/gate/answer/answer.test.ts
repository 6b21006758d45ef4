import { afterEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../../src/core/call/call.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { decide, person, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

let at: Rig
afterEach(() => at.close())

/** The gate's answer, and how often it asked who is calling. */
async function ask(call: HttpCall): Promise<{ answer: Answer; identified: number }> {
  const { identity } = at.gate.parts
  const { identify } = identity
  let identified = 0
  Object.assign(identity, {
    identify: (...args: Parameters<typeof identify>) => {
      identified++
      return identify(...args)
    },
  })
  try {
    return { answer: await at.gate.govern(call, tool().dispatch), identified }
  } finally {
    Object.assign(identity, { identify })
  }
}
const stranger = { bearer: 'nobody', certificate: null, asserted: null, source: '127.0.0.1' }

describe('an answer says who was identified, once', () => {
  it.each<[string, HttpCall, string]>([
    ['executed', refund('5.00'), 'executed'],
    ['refused', refund('5000.00'), 'refused'],
    ['pending', refund('150.00'), 'pending'],
  ])('%s', async (_, call, kind) => {
    at = await rig({ manifest: PAYMENTS })
    const { answer, identified } = await ask(call)
    expect(answer).toMatchObject({ kind, caller: { kind: 'known', agent: 'support-bot' } })
    expect(identified).toBe(1)
  })

  it('refused, of a stranger', async () => {
    at = await rig({ manifest: PAYMENTS })
    const { answer, identified } = await ask(refund('5.00', { caller: stranger }))
    expect(answer).toMatchObject({ kind: 'refused', status: 401, caller: { kind: 'unknown' } })
    expect(identified).toBe(1)
  })

  it('joined, with the ids of what it repeats', async () => {
    at = await rig({ manifest: PAYMENTS })
    const first = (await ask(refund('150.00'))).answer
    const second = await ask(refund('150.00'))
    if (first.kind !== 'pending' || second.answer.kind !== 'joined') throw new Error('not joined')
    const { approvalId, actionId, capsuleId } = first
    expect(second.answer).toMatchObject({ approvalId, actionId, capsuleId, status: 202 })
    expect(second.answer.caller).toEqual(first.caller)
    expect(second.identified).toBe(1)
  })

  it('a person’s refusal, repeated: refused, and the caller again', async () => {
    at = await rig({ manifest: PAYMENTS })
    const { answer } = await ask(refund('150.00'))
    if (answer.kind !== 'pending') throw new Error(answer.kind)
    await decide(at.gate, answer.approvalId, person('alice'), { kind: 'deny', reason: 'no' })
    const again = await ask(refund('150.00'))
    expect(again.answer).toMatchObject({
      kind: 'refused',
      code: 'approval_refused',
      caller: { agent: 'support-bot' },
    })
    expect(again.identified).toBe(1)
  })

  it('waited for and run: still identified once', async () => {
    at = await rig({ manifest: PAYMENTS })
    const waiting = ask(refund('150.00', { waitSeconds: 20 }))
    let open = await at.gate.read.approvals()
    while (open.length === 0) {
      await new Promise((resolve) => setImmediate(resolve))
      open = await at.gate.read.approvals()
    }
    await decide(at.gate, open[0]?.approvalId ?? '', person('alice'), { kind: 'approve' })
    const { answer, identified } = await waiting
    expect(answer).toMatchObject({ kind: 'executed', caller: { agent: 'support-bot' } })
    expect(identified).toBe(1)
  })

  it('unrecorded, when no capsule can be written', async () => {
    at = await rig({ manifest: PAYMENTS })
    const { journal } = at.gate.parts
    const { append } = journal
    Object.assign(journal, { append: () => Promise.reject(new Error('the disk is gone')) })
    try {
      const { answer } = await ask(refund('5000.00'))
      expect(answer).toMatchObject({
        kind: 'unrecorded',
        code: 'record_unavailable',
        caller: { agent: 'support-bot' },
      })
    } finally {
      Object.assign(journal, { append })
    }
  })
})
