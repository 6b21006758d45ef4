import { afterEach, describe, expect, it } from '@jest/globals'
import type { Agent } from '../../../src/core/call/agent.js'
import type { FunctionCall } from '../../../src/core/call/call.js'
import { decide } from '../../../src/gate/permit/decide.js'
import { expectConformance } from '../../support/conformance.js'
import { type Rig, rig } from '../../support/rig.js'

/** Reports where the record cannot be written, on a real gate; what mounts make of them is their own suite's. */
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    args: {order: string, currency: string, amount: decimal}
`
const OK = { ok: true, claimed: '{"result":1}' }
const NOBODY = '01900000-0000-7000-8000-00000000beef'

let at: Rig | null = null
afterEach(() => at?.close())

async function open() {
  const failing = { now: false }
  const here = await rig({
    manifest: MANIFEST,
    seam: (name) => {
      if (failing.now && name === 'before_capsule') throw new Error('disk is gone')
    },
  })
  at = here
  const call: FunctionCall = {
    kind: 'function',
    tool: 'create_refund',
    argumentsJson: new TextEncoder().encode('{"order":"o","currency":"EUR","amount":"5"}'),
    caller: { bearer: null, certificate: null, asserted: 'support-bot', source: 'test' },
    idempotencyKey: null,
    approvalId: null,
    waitSeconds: 0,
  }
  const found = await here.gate.identify(call.caller)
  if (found.kind !== 'known') throw new Error('nobody')
  const agent: Agent = found
  const permit = async (): Promise<string> => {
    const told = await decide(here.gate, call, agent).told
    if (told.kind !== 'permit') throw new Error(told.kind)
    return told.actionId
  }
  return { here, agent, permit, failing }
}

describe('a report whose capsule cannot be written', () => {
  it('is told as lost; a restart concludes the action, and claims nothing that was reported', async () => {
    const { here, agent, permit, failing } = await open()
    const id = await permit()
    failing.now = true
    const lost = await here.gate.takeReport(id, agent, OK)
    expect(lost).toMatchObject({ kind: 'unrecorded', problem: { code: 'record_lost' } })
    failing.now = false
    // It is over here, and nobody can say yet how it ended.
    expect(await here.gate.takeReport(id, agent, OK)).toEqual({
      kind: 'over',
      actionId: id,
      capsuleId: null,
    })
    expect(await here.capsules()).toEqual([])
    const again = await here.restart()
    at = again
    const [line] = await again.capsules()
    expect(line?.capsule).toMatchObject({
      action_id: id,
      'dev.capsulegate.recovered': true,
      effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
    })
    expect(line).not.toHaveProperty('report_digest')
    await expectConformance(again)
  })

  it('and that no permit covers is told as unrecorded, and may be sent again', async () => {
    const { here, agent, failing } = await open()
    failing.now = true
    const refused = await here.gate.takeReport(NOBODY, agent, OK)
    expect(refused).toMatchObject({ kind: 'unrecorded', problem: { status: 503 } })
    failing.now = false
    expect(await here.gate.takeReport(NOBODY, agent, OK)).toMatchObject({
      kind: 'refused',
      code: 'ungated_report',
    })
    expect(await here.capsules()).toHaveLength(1)
    await expectConformance(here)
  })
})

it('after a restart a report is told which capsule ended its action', async () => {
  const { here, agent, permit } = await open()
  const [reported, cut] = [await permit(), await permit()]
  const first = await here.gate.takeReport(reported, agent, OK)
  const again = await here.restart()
  at = again
  const capsules = new Map(
    (await again.capsules()).map(({ capsule }) => [capsule.action_id, capsule.capsule_id]),
  )
  expect(first).toMatchObject({ kind: 'recorded', capsuleId: capsules.get(reported) })
  for (const actionId of [reported, cut]) {
    expect(await again.gate.takeReport(actionId, agent, OK)).toEqual({
      kind: 'over',
      actionId,
      capsuleId: capsules.get(actionId),
    })
  }
  await expectConformance(again)
})
