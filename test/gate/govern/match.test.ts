import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { UnreadBody } from '../../../src/core/call/call.js'
import { match, modeOf } from '../../../src/gate/govern/match.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { post, recognized } from './stages.js'

/** A body that is not there is a state of the call: refused and recorded, never taken for an empty one. */
let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

const BODY = { order: 'o-1', currency: 'EUR', amount: '5' }

const BODIES: { readonly [kind in UnreadBody['kind']]: readonly [UnreadBody, string] } = {
  too_large: [{ kind: 'too_large' }, 'body_too_large'],
  aborted: [{ kind: 'aborted' }, 'body_aborted'],
  consumed: [{ kind: 'consumed' }, 'body_consumed'],
  no_room: [{ kind: 'no_room' }, 'bodies_exhausted'],
  malformed: [{ kind: 'malformed', fault: 'length_beside_coding' }, 'request_malformed'],
  // No mount leaves the body of a caller it knows; one that did is a fault of the gate, not of the caller.
  unread: [{ kind: 'unread' }, 'gate_failed'],
}

describe('a body of a known caller that is', () => {
  it.each(Object.values(BODIES))(
    '%j ends as %s, with one capsule and nothing sent',
    async (body, code) => {
      const { sent, dispatch } = tool()
      const before = (await at.capsules()).length
      const answer = await at.gate.govern(refund('5', { body }), dispatch)
      expect(answer).toMatchObject({ kind: 'refused', code })
      expect(sent).toEqual([])
      expect(await at.capsules()).toHaveLength(before + 1)
    },
  )

  it('left unread is told to the operator', async () => {
    const { actionId } = Object(
      await at.gate.govern(refund('5', { body: { kind: 'unread' } }), tool().dispatch),
    )
    expect(at.reports).toContainEqual({
      level: 'error',
      event: 'gate_failed',
      actionId,
      detail: 'the mount left the body of a known caller unread',
    })
  })
})

describe('match', () => {
  it('keeps what no rule names in the private record alone', async () => {
    const call = post('/v1/secret-path', {})
    const left = match(await recognized(call, at.gate.parts), at.gate.parts)
    if (!('exit' in left)) throw new Error('it matched')
    expect(left).toMatchObject({ code: 'tool_unknown', reason: { observed: 'unmatched' } })
    expect(left.known.rule).toBeUndefined()
    const [part] = left.known.evidence ?? []
    expect(part).toMatchObject({ kind: 'request', name: 'unmatched' })
    expect(JSON.stringify(part?.value)).toContain('/v1/secret-path')
    expect(JSON.stringify([left.reason, left.details])).not.toContain('secret-path')
  })

  it.each([
    ['query_not_read', post('/v1/refunds?as=admin', BODY), { not_read: 'as' }],
    ['member_not_read', post('/v1/refunds', { ...BODY, as: 'admin' }), { pointer: '/as' }],
  ])('refuses what the tool does not read: %s', async (code, call, details) => {
    const left = match(await recognized(call, at.gate.parts), at.gate.parts)
    expect(left).toMatchObject({ exit: 'refused', code, details })
  })

  it('lets it pass in observe mode, and hands the names on for the record', async () => {
    const { parts } = at.gate
    const world = { ...parts.world(), mode: 'observe' } as const
    const observing = { ...parts, world: () => world }
    const call = post('/v1/refunds?as=admin', { ...BODY, who: 1 })
    const passed = match(await recognized(call, observing), observing)
    expect(passed).toMatchObject({ mode: 'observe', notRead: { query: ['as'], members: ['/who'] } })
  })

  it('has a digest of the request before its arguments are read', async () => {
    const call = post('/v1/refunds', { ...BODY, amount: true })
    const left = match(await recognized(call, at.gate.parts), at.gate.parts)
    expect(left).toMatchObject({
      code: 'arguments_invalid',
      reason: { observed: { fault: 'arg_type', argument: 'amount' } },
      known: { requestDigest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
  })
})

it.each([
  ['enforce', 'enforce', 'enforce'],
  ['observe', 'enforce', 'observe'],
  ['enforce', 'observe', 'observe'],
  ['observe', undefined, 'observe'],
] as const)('a gate that is %s with a manifest that is %s is %s', (gate, manifest, mode) => {
  const world = { ...at.gate.parts.world(), mode: gate }
  expect(modeOf(world, manifest === undefined ? undefined : { mode: manifest })).toBe(mode)
})
