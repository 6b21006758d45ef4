import { createServer } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { attachAdmin } from '../../../src/app/admin.js'
import { systemClock } from '../../../src/app/clock.js'
import { createMetrics } from '../../../src/mounts/admin/routes/metrics.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  mandateIssuer,
  stepsOf,
} from '../../support/intents.js'
import { OTHER_TOKEN, sending, upstreamTo } from '../../support/rig.js'
import { type Plane, startPlane } from './harness.js'

const ISSUER = mandateIssuer()
type Ready = { ready: boolean; checks: { name: string; ok: boolean; detail: string | null }[] }

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
async function withPlane(
  options: Parameters<typeof startPlane>[0],
  run: (plane: Plane) => Promise<void>,
): Promise<void> {
  const plane = await startPlane(options)
  try {
    await run(plane)
  } finally {
    await plane.close()
  }
}
const failing = ({ checks }: Ready): string[] =>
  checks.filter(({ ok }) => !ok).map(({ name }) => name)

describe('readyz', () => {
  it('names every check when asked, and none when all is well', () =>
    withPlane({}, async (plane) => {
      expect((await plane.ask('GET', '/readyz')).json()).toEqual({ ready: true })
      const verbose = (await plane.ask('GET', '/readyz?verbose')).json<Ready>()
      expect(verbose.checks.map(({ name }) => name)).toEqual([
        'journal',
        'evidence',
        'keys',
        'policy',
        'upstreams',
        'background_verification',
        'evidence_records',
      ])
    }))

  it('is 503 and names the upstream that does not answer', async () => {
    const upstreamOrigin = `http://127.0.0.1:${await closedPort()}`
    await withPlane({ upstreamOrigin }, async (plane) => {
      const answered = await plane.ask('GET', '/readyz', { as: 'viewer' })
      expect(answered.status).toBe(503)
      expect(failing(answered.json<Ready>())).toEqual(['upstreams'])
      expect(answered.json().detail).toMatch(/default: ECONNREFUSED/)
    })
  })

  it('is 503 when the journal cannot be written, and a call is then not dispatched but counted', async () => {
    let full = false
    const before_sync = (): void => {
      if (full) throw new Error('the disk says no')
    }
    await withPlane(
      { recorder: { in: 'this_thread', journalSeams: { before_sync } } },
      async (plane) => {
        full = true
        expect(await plane.refund('5.00')).toMatchObject({ kind: 'unrecorded' })
        const answered = await plane.ask('GET', '/readyz')
        expect(answered.status).toBe(503)
        expect(failing(answered.json<Ready>())).toEqual(['journal'])
        const refused = await plane.ask('POST', '/v1/halts', { body: { scope: { kind: 'all' } } })
        expect([refused.status, refused.json().code]).toEqual([503, 'record_unavailable'])
        expect(plane.received).toHaveLength(0)
        expect(plane.told).toHaveLength(0)
        const text = (await plane.ask('GET', '/metrics')).bytes.toString()
        expect(text).toMatch(/^gate_capsule_write_failures_total 1$/m)
        full = false
      },
    )
  })
})

describe('metrics', () => {
  it('count what was recorded, by class, tool and mode', () =>
    withPlane({}, async (plane) => {
      await plane.refund('5.00')
      await plane.refund('5.00', {}, 'two')
      await plane.refund('900.00')
      await plane.refund('200.00')
      const text = (await plane.ask('GET', '/metrics')).bytes.toString()
      const value = (line: string): number =>
        Number(
          text
            .split('\n')
            .find((row) => row.startsWith(`${line} `))
            ?.split(' ')[1],
        )
      const verdicts = (of: string): number =>
        value(`gate_verdicts_total{verdict_class="${of}",tool="create_refund",mode="enforce"}`)
      expect([verdicts('executed'), verdicts('blocked')]).toEqual([2, 1])
      expect(value('gate_decision_seconds_count')).toBe(4)
      expect(value('gate_upstream_seconds_count')).toBe(2)
      expect(value('gate_approvals_pending')).toBe(1)
      expect(value('gate_capsule_write_failures_total')).toBe(0)
      expect(text).toContain(
        `gate_policy_info{digest="${plane.gate.read.judges().policy.digest}",mode="enforce"} 1`,
      )
    }))
})

describe('metrics of declared calls', () => {
  const GAP = 'capsule_gate_alerts_total{severity="CRITICAL",trigger="IDP_COMMITMENT_GAP"}'

  it('count sessions, ids and commitment gaps', () =>
    withPlane(
      { manifest: BOOKING, policies: BOOKING_POLICIES, mandateIssuers: ISSUER.options },
      async (plane) => {
        const text = async (): Promise<string> =>
          (await plane.ask('GET', '/metrics')).bytes.toString()
        expect(await text()).toContain(`${GAP} 0`)
        const steps = stepsOf(ISSUER)
        const declared = carried(steps.standard('ReadBooking'), steps.mandate)
        const call = bookingCall('ReadBooking', steps.booking, declared)
        const upstream = upstreamTo(plane.upstream)
        // What is sent is another booking than the one declared.
        const altered = sending(upstream, { ...call, target: '/v1/bookings/b-2' })
        await plane.gate.govern(call, altered)
        await upstream.close()
        const said = await text()
        expect(said).toContain(`${GAP} 1`)
        expect(said).toContain('gate_sessions_open 1')
        expect(said).toContain('gate_intents_committed 1')
      },
    ))
})

describe('the metrics listener', () => {
  it('answers without a token on loopback, with numbers and nothing else', () =>
    withPlane({}, async (plane) => {
      const metrics = createMetrics(systemClock)
      const attached = await attachAdmin(
        plane.gate,
        {
          data_dir: `${plane.rig.dir}/data`,
          approvals: { enabled: null, open_per_agent: 100, open_per_session: 3, sources: {} },
          upstreams: {},
          listeners: {
            data: { host: '127.0.0.1', port: 0, tls: null },
            admin: { host: '127.0.0.1', port: 0 },
            metrics: { port: 0 },
          },
        },
        { metrics, report: () => undefined },
      )
      try {
        expect(attached.metrics?.address).toBe('127.0.0.1')
        const ask = (path: string, method = 'GET'): Promise<Response> =>
          fetch(`http://127.0.0.1:${attached.metrics?.port}${path}`, { method })
        const answered = await ask('/metrics')
        expect(answered.status).toBe(200)
        expect(await answered.text()).toContain('gate_approvals_pending 0')
        for (const path of ['/v1/halts', '/v1/capsules', '/livez', '/', '/metrics?x=1']) {
          expect((await ask(path)).status).toBe(404)
        }
        expect((await ask('/metrics', 'POST')).status).toBe(404)
      } finally {
        await attached.close()
      }
    }))
})

describe('what is told of each verdict', () => {
  it('is one line per capsule, with its ids and times, and no value of any argument', () =>
    withPlane({}, async (plane) => {
      const other = {
        caller: { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '10.9.8.7' },
      }
      const nobody = {
        caller: {
          bearer: 'stolen-credential',
          certificate: null,
          asserted: null,
          source: '10.9.8.7',
        },
      }
      // Every argument is a word of its own, so that a leak is found by looking for it.
      for (let i = 0; i < 25; i++) {
        await plane.refund(
          `${10 + i}.${40 + i}`,
          { idempotencyKey: `key-word-${i}` },
          `order-word-${i}`,
        )
        await plane.refund(`9${i}3.77`, {}, `order-word-b${i}`)
        await plane.refund('1.00', i % 2 === 0 ? other : nobody, `order-word-c${i}`)
        await plane.refund('not-a-number-word', {}, `order-word-d${i}`)
        await plane.refund('5.00', { target: `/v1/refunds/../x?q=query-word-${i}` })
      }
      const capsules = await plane.rig.capsules()
      const log = plane.told.map((line) => JSON.stringify(line)).join('\n')
      expect(plane.told.map(({ capsule_id }) => capsule_id)).toEqual(
        capsules.map(({ capsule }) => capsule.capsule_id),
      )
      expect(log).not.toMatch(/-word|stolen-credential|9\d+3\.77|10\.9\.8\.7/)
      expect(JSON.stringify(plane.reports)).not.toMatch(/-word|stolen-credential/)
      expect(plane.told.find(({ verdict_class }) => verdict_class === 'executed')).toEqual({
        action_id: expect.any(String),
        capsule_id: expect.stringMatching(/^[0-9a-f]{64}$/),
        code: 'executed',
        cause: null,
        method: 'POST',
        verdict_class: 'executed',
        tool: 'create_refund',
        agent: 'support-bot',
        developer: 'support-bot@1',
        mode: 'enforce',
        policy_digest: plane.gate.read.judges().policy.digest,
        latency_ms: expect.any(Number),
        upstream_ms: expect.any(Number),
      })
      const blocked = plane.told.find(({ verdict_class }) => verdict_class === 'blocked')
      expect(blocked).toMatchObject({
        code: 'constraint_failed',
        tool: 'create_refund',
        agent: 'support-bot',
        upstream_ms: null,
      })
    }))

  it('is told of what no call ended in, too', () =>
    withPlane({}, async (plane) => {
      const answer = await plane.refund('5.00')
      if (answer.kind === 'unrecorded') throw new Error('unrecorded')
      const body = { action_id: answer.actionId, status: 'failed', ref: 'x' }
      await plane.ask('POST', '/v1/outcomes', { body })
      expect(plane.told.at(-1)).toMatchObject({ code: null, tool: null, latency_ms: null })
      expect(plane.told).toHaveLength(2)
    }))
})
