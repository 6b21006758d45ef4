import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import type { Parts } from '../../../src/gate/context.js'
import { record } from '../../../src/gate/govern/conclude.js'
import { send } from '../../../src/gate/govern/dispatch.js'
import { refuse } from '../../../src/gate/govern/exit.js'
import { answered, tool, unreachable } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { constrained, matched, reserved } from './stages.js'

let at: Rig
const unclaimed: string[] = []
const settled: unknown[] = []
let parts: Parts
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  const { state } = at.gate.parts
  parts = {
    ...at.gate.parts,
    state: {
      ...state,
      unclaim: (by) => {
        unclaimed.push(by)
        return state.unclaim(by)
      },
      settle: (actionId, settlement) => {
        settled.push(settlement)
        return state.settle(actionId, settlement)
      },
    },
  }
})
beforeEach(() => {
  unclaimed.length = 0
  settled.length = 0
})
afterAll(() => at.close())

const broken = (): Parts => ({
  ...parts,
  journal: { ...parts.journal, append: () => Promise.reject(new Error('no space')) },
})
async function newest() {
  const line = readLine(Object((await at.capsules()).at(-1)))
  if (line?.type !== 'CAPSULE') throw new Error('no capsule')
  return line
}
const KEY = { idempotencyKey: 'k-1' }

describe('a refusal', () => {
  it('is answered with the capsule that is on record, and gives up what it claimed', async () => {
    const known = await constrained(refund('5'), parts)
    const answer = await record(refuse(known, 'policy_denied', { policy_ids: ['p'] }), parts)
    const { capsule, about, settles } = await newest()
    expect(answer).toMatchObject({ code: 'policy_denied', capsuleId: capsule.capsule_id })
    expect(about).toMatchObject({ agent: 'support-bot', tool: 'create_refund' })
    expect(settles).toBeUndefined()
    expect(unclaimed).toEqual([known.actionId])
  })

  it('before constrain has no records, and after it one for every constraint', async () => {
    await record(refuse(await matched(refund('5'), parts), 'halted'), parts)
    expect((await newest()).capsule.constraints).toBeUndefined()
    const known = { ...(await constrained(refund('5'), parts)), records: [] }
    await record(refuse(known, 'policy_denied'), parts)
    const results = (await newest()).capsule.constraints?.map(({ result }) => result)
    expect(results).toEqual(['n/a', 'n/a'])
  })

  it('whose capsule cannot be written is not disclosed', async () => {
    const known = await constrained(refund('5'), parts)
    const answer = await record(refuse(known, 'policy_denied'), broken())
    expect(answer).toMatchObject({ kind: 'unrecorded', code: 'record_unavailable', status: 503 })
    expect(unclaimed).toEqual([known.actionId])
    expect(at.reports).toContainEqual({
      level: 'error',
      event: 'capsule_not_written',
      actionId: known.actionId,
      detail: 'Error: no space',
    })
  })
})

describe('a call that was sent', () => {
  it('has spent what it reserved, with a response to replay where it has a key', async () => {
    const ending = await send(await reserved(refund('5', KEY), parts), tool().dispatch, parts)
    expect(await record(ending, parts)).toMatchObject({ kind: 'executed' })
    const line = await newest()
    expect(line.settles).toMatchObject({ outcome: 'commit', replayable: true })
    expect(line.about).toBeUndefined()
    expect(settled).toEqual([
      { kind: 'commit', capsuleId: line.capsule.capsule_id, replayable: true },
    ])
    expect(unclaimed).toEqual([])
  })

  it('keeps no response without a key', async () => {
    const ending = await send(await reserved(refund('5'), parts), tool().dispatch, parts)
    await record(ending, parts)
    expect(settled).toMatchObject([{ kind: 'commit', replayable: false }])
  })

  it('in vain gives it back, and its item stays open', async () => {
    const call = { ...(await reserved(refund('5'), parts)), supersedes: 'f'.repeat(64) }
    const ending = await send(call, tool(unreachable).dispatch, parts)
    expect(await record(ending, parts)).toMatchObject({ code: 'upstream_unreachable' })
    const line = await newest()
    expect(line.settles).toMatchObject({ outcome: 'release' })
    expect(line.capsule.chain).toBeUndefined()
    expect(settled).toEqual([{ kind: 'release' }])
  })

  it.each([
    ['record_lost', answered],
    ['record_unavailable', unreachable],
  ] as const)('without a capsule is %s', async (code, answer) => {
    const ending = await send(await reserved(refund('5'), parts), tool(answer).dispatch, parts)
    expect(await record(ending, broken())).toMatchObject({ kind: 'unrecorded', code })
    // Only a capsule settles it, or the next start.
    expect([settled, unclaimed]).toEqual([[], []])
  })
})
