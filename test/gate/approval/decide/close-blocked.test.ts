import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { tool } from '../../../support/approvals.js'
import { PAYMENTS } from '../../../support/manifests.js'
import { type Rig, refund, rig } from '../../../support/rig.js'

let at: Rig
beforeEach(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterEach(() => at.close())
const OLGA = { person: { name: 'olga', assurance: 'L2' }, reason: 'seen it' } as const
const close = (capsuleId: string) => at.gate.closeBlocked(capsuleId, OLGA)
const ended = async (amount: string) =>
  Object(await at.gate.govern(refund(amount), tool().dispatch))

it('closes a blocked call once, on the word of a person, with a line that is signed', async () => {
  const { capsuleId } = await ended('600')
  const closed = await close(capsuleId)
  if (closed.kind !== 'closed') throw new Error(closed.kind)
  const line = (await at.capsules()).at(-1)
  expect(line?.capsule).toMatchObject({
    capsule_id: closed.capsuleId,
    chain: { parent_capsule_id: capsuleId },
    disposition: { verdict_class: 'resolved', approver: 'human', human_disposed: true },
  })
  const item = (await at.lines()).find(({ type }) => type === 'ITEM_CLOSED')
  expect(item).toMatchObject({ on: capsuleId, assurance: 'L2', sig: expect.any(String) })
  expect(JSON.stringify(await at.lines())).not.toMatch(/olga|seen it/)
  expect(await close(capsuleId)).toEqual({ kind: 'not_open' })
})

it('does not close what waits for a decision, what ran, or what does not exist', async () => {
  expect(await close((await ended('150')).capsuleId)).toEqual({ kind: 'not_blocked' })
  expect(await close((await ended('5')).capsuleId)).toEqual({ kind: 'not_open' })
  expect(await close('0'.repeat(64))).toEqual({ kind: 'not_open' })
})

it('leaves an item alone while another action holds it', async () => {
  const { capsuleId } = await ended('600')
  const { state } = at.gate.parts
  await state.claim(capsuleId, 'another')
  expect(await close(capsuleId)).toEqual({ kind: 'busy' })
  await state.unclaim('another')
  expect(await close(capsuleId)).toMatchObject({ kind: 'closed' })
})
