import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Upstream } from '../../src/ports/upstream.js'
import { draws } from '../support/draws.js'
import {
  AGENT,
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  mandateIssuer,
  stepsOf,
} from '../support/intents.js'
import { type RawUpstream, rawUpstream } from '../support/raw-upstream.js'
import { type Rig, rig, sending, upstreamTo } from '../support/rig.js'
import { fine } from '../support/verdict-scenarios.js'

/**
 * In whatever order operators act and agents call, also between a judgement and its first byte: from the moment an
 * operator was told that it is done, nothing of what ended reaches the upstream until it is given back.
 */
const issuer = mandateIssuer()
const MISSIONS = ['0b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c', '1b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c']
const which = fc.nat({ max: 1 })
const acting = fc.oneof(
  fc.record({ did: fc.constant('close' as const), which }),
  fc.record({ did: fc.constant('open' as const), which }),
  fc.record({ did: fc.constant('revoke' as const), which }),
  fc.record({ did: fc.constant('suspend' as const), which }),
  fc.record({ did: fc.constant('activate' as const), which }),
  fc.record({ did: fc.constant('halt' as const), which }),
  fc.record({ did: fc.constant('resume' as const), which }),
)
type Act = typeof acting extends fc.Arbitrary<infer T> ? T : never
const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ did: fc.constant('call' as const), which }) },
  // Operators act while the call stands just before its first byte.
  {
    weight: 4,
    arbitrary: fc.record({ did: fc.constant('call' as const), which, meanwhile: acting }),
  },
  { weight: 3, arbitrary: acting },
  { weight: 1, arbitrary: fc.record({ did: fc.constant('restart' as const), which }) },
)

let server: RawUpstream
let upstream: Upstream
beforeAll(async () => {
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
})
afterAll(async () => {
  await upstream.close()
  await server.close()
})

it('sends nothing of what an operator ended', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 1, maxLength: 14 }), async (ops) => {
      let before: (() => Promise<unknown>) | null = null
      const seam = async (name: string): Promise<void> => {
        if (name !== 'before_first_byte' || before === null) return
        const now = before
        before = null
        await now()
      }
      const options = {
        manifest: BOOKING,
        policies: BOOKING_POLICIES,
        mandateIssuers: issuer.options,
        seam,
      }
      let at: Rig = await rig(options)
      const all = MISSIONS.map((mission_ref, i) =>
        stepsOf(issuer, { booking: `b-${i}`, claims: { mission_ref } }),
      )
      const ended = [new Set<string>(), new Set<string>()]
      const act = async ({ did, which }: Act): Promise<void> => {
        const { sessionId, jti } = all[which] as (typeof all)[number]
        const mission = MISSIONS[which] ?? ''
        const off = ended[which] as Set<string>
        const scope = { kind: 'session', name: sessionId } as const
        switch (did) {
          case 'close':
            if ((await at.gate.closeSession(sessionId, 'olga')) !== 'unknown') off.add('closed')
            break
          case 'open':
            await at.gate.openSession({ sessionId, agent: AGENT, by: 'olga' })
            break
          case 'revoke':
            await at.gate.revokeMandate(jti, 'olga')
            off.add('revoked')
            break
          case 'suspend':
            await at.gate.setMission(mission, 'SUSPENDED', 'olga')
            off.add('suspended')
            break
          case 'activate':
            await at.gate.setMission(mission, 'ACTIVE', 'olga')
            off.delete('suspended')
            break
          case 'halt':
            await at.gate.halt(scope, 'olga')
            off.add('halted')
            break
          case 'resume':
            await at.gate.resume(scope, 'olga')
            off.delete('halted')
            break
        }
      }
      try {
        for (const each of ops) {
          if (each.did === 'restart') at = await at.restart()
          else if (each.did !== 'call') await act(each)
          else {
            const { meanwhile } = { meanwhile: undefined, ...each }
            before = meanwhile === undefined ? null : () => act(meanwhile)
            const steps = all[each.which] as (typeof all)[number]
            const intent = steps.standard('ReadBooking', { mission_ref: MISSIONS[each.which] })
            const call = bookingCall('ReadBooking', steps.booking, carried(intent, steps.mandate))
            const sent = server.requests.length
            const wasOff = (ended[each.which] as Set<string>).size > 0
            const answer = await at.gate.govern(call, sending(upstream, call))
            before = null
            const isOff = (ended[each.which] as Set<string>).size > 0
            const reached = server.requests.length > sent
            if (wasOff || isOff) expect([reached, answer.kind]).toEqual([false, 'refused'])
            else if (meanwhile === undefined) expect(reached).toBe(true)
          }
        }
      } finally {
        await at.close()
      }
    }),
    { numRuns: draws(150, 10) },
  )
}, 300_000)
