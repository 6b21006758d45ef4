import { afterEach, describe, expect, it } from '@jest/globals'
import type { Declared } from '../../../src/core/intent/model.js'
import { carried, mandateIssuer, stepsOf } from '../../support/intents.js'
import { type Rig, refund, rig } from '../../support/rig.js'

/** A mandate that identifies its bearer, for tools that do not require a declaration. */
const issuer = mandateIssuer()
const manifest = (more = ''): string => `
id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
${more}`
const OFF = manifest()
const OPTIONAL = manifest('    intent: optional\n')
const { jti, mandate } = stepsOf(issuer, { claims: { cedar_actions: ['create_refund'] } })
const caller = { bearer: mandate, certificate: null, asserted: null, source: '127.0.0.1' }
const HEADER = carried(null, mandate)

let at: Rig
afterEach(() => at.close())

describe.each<[string, string, Declared | null]>([
  ['has no intent', OFF, null],
  ['has no intent, shown in the header too', OFF, HEADER],
  ['takes one', OPTIONAL, null],
  ['takes one, shown in the header too', OPTIONAL, HEADER],
])('a bearer of a mandate, at a tool that %s', (_, manifestText, declared) => {
  it('is not served once the mandate is revoked, also between the judgement and the first byte', async () => {
    let sent = 0
    let turning = true
    at = await rig({
      manifest: manifestText,
      mandateIssuers: issuer.options,
      seam: async (seam) => {
        if (seam !== 'before_first_byte' || !turning) return
        turning = false
        await at.gate.revokeMandate(jti, 'test')
      },
    })
    const call = refund('10.00', { caller, ...(declared === null ? {} : { declared }) })
    const send = () =>
      at.gate.govern(call, () => {
        sent++
        throw new Error('nothing may be sent')
      })
    expect(await send()).toMatchObject({ kind: 'refused', problem: { code: 'judgement_stale' } })
    expect(await send()).toMatchObject({ kind: 'refused', problem: { code: 'mandate_revoked' } })
    expect(sent).toBe(0)
    expect((await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)).toEqual([
      'engine_failure',
      'denied',
    ])
  })
})
