import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { UnreadBody } from '../../../src/core/call/call.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

/** A body that is not there is a state of the call: refused and recorded, never taken for an empty one. */
let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

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
