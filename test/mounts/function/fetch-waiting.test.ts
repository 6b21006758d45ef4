import { expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { gatedFetch } from '../../../src/mounts/function/fetch.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { MANIFEST, POLICIES } from '../../e2e/approval-conformance.js'
import { httpTool } from '../../e2e/approval-over-http.js'
import { decide, fakeTime, person } from '../../support/approvals.js'
import { rig } from '../../support/rig.js'

it('sends nothing for a caller that aborted while it waited; its retry finds the grant', async () => {
  const time = fakeTime()
  const { clock, timer } = time
  const at = await rig({ manifest: MANIFEST, policies: POLICIES, clock, timer })
  const tool = await httpTool()
  const { origin } = tool
  const upstream = createUpstream({ name: 'default', origin })
  const fetch = gatedFetch(at.gate, {
    upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
    holdBytes: DEFAULT_LIMITS.holdLimit,
  })
  const refund = (more: { signal?: AbortSignal; waitSeconds?: number } = {}): Promise<Response> =>
    fetch(`${origin}/v1/refunds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"order":"o-1","currency":"EUR","amount":"150.00"}',
      agent: 'support-bot',
      ...more,
    })
  // The deadline's timer alone, or a waiting caller's beside it, and that of the newest head.
  const timers = async (count: number): Promise<void> => {
    while (time.waiting() !== count + 1) await new Promise((resolve) => setImmediate(resolve))
  }
  try {
    const giveUp = new AbortController()
    const waiting = refund({ signal: giveUp.signal, waitSeconds: 20 })
    await timers(2)
    giveUp.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    const [asked] = await at.gate.parts.state.approvals()
    await decide(at.gate, String(asked?.approvalId), person('alice'), { kind: 'approve' })
    await timers(1)
    expect((await refund()).status).toBe(200)
    expect(tool.reached()).toBe(1)
    const verdicts = (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)
    expect(verdicts).toEqual(['hitl_dispatched', 'executed'])
  } finally {
    await upstream.close()
    await tool.close()
    await at.close()
  }
})
