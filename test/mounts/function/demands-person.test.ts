import { expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { gatedFetch } from '../../../src/mounts/function/fetch.js'
import { GateRefusal, wrap } from '../../../src/mounts/function/wrap.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { DECLARING, MANIFEST, POLICIES } from '../../e2e/approval-conformance.js'
import { httpTool } from '../../e2e/approval-over-http.js'
import { decide, person } from '../../support/approvals.js'
import { stepsOf } from '../../support/intents.js'
import { rig } from '../../support/rig.js'

/** What an application calls for an agent that demands a person: it waits, and runs once when that is approved. */
const RULES = {
  manifest: MANIFEST.replace('    irreversibility', '    intent: required\n$&'),
  policies: POLICIES,
  mandateIssuers: DECLARING.options,
}
const REFUND = { order: 'o-1', currency: 'EUR', amount: '50.00' }
const declaring = () => {
  const steps = stepsOf(DECLARING, {
    claims: { cedar_actions: ['create_refund'], so_type: undefined },
  })
  const intent = steps.standard('create_refund', { hem_urgency: 'REQUIRED' })
  return { agent: 'support-bot', intent, mandate: steps.mandate }
}

it('a wrapped function is not run before its approval, and once after it', async () => {
  const at = await rig({ ...RULES, manifest: RULES.manifest.replace(/^ {4}match: .*\n/m, '') })
  let ran = 0
  const pay = wrap(at.gate, 'create_refund', (_: typeof REFUND) => ++ran)
  const as = declaring()
  const waits = await pay(REFUND, as).catch((error: unknown) => error)
  expect(waits).toBeInstanceOf(GateRefusal)
  const problem = { status: 202, code: 'approval_pending', result: 'SESSION_HEM_PENDING' }
  expect(waits).toMatchObject({ problem })
  const { approval_id } = (waits as GateRefusal).problem
  await decide(at.gate, String(approval_id), person('alice'), { kind: 'approve' })
  expect(await pay(REFUND, as)).toBe(1)
  const again = await pay(REFUND, as).catch((error: unknown) => error)
  expect(again).toMatchObject({ problem: { code: 'intent_duplicate' } })
  expect(ran).toBe(1)
  await at.close()
})

it('a gated fetch is answered 202, and by the tool after its approval', async () => {
  const at = await rig(RULES)
  const tool = await httpTool()
  const { origin } = tool
  const upstream = createUpstream({ name: 'default', origin })
  const fetch = gatedFetch(at.gate, {
    upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
    holdBytes: DEFAULT_LIMITS.holdLimit,
  })
  const as = declaring()
  const refund = (): Promise<Response> =>
    fetch(`${origin}/v1/refunds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(REFUND),
      ...as,
    })
  const waits = await refund()
  expect(waits.status).toBe(202)
  const { approval_id } = (await waits.json()) as { readonly approval_id: string }
  await decide(at.gate, approval_id, person('alice'), { kind: 'approve' })
  expect((await refund()).status).toBe(200)
  expect((await refund()).status).toBe(409)
  expect(tool.reached()).toBe(1)
  await upstream.close()
  await tool.close()
  await at.close()
})
