import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { advance } from '../../../src/gate/govern/advance.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { reserved } from './stages.js'

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

it('keeps every field of a call that went through all stages, and leaves the earlier value as it was', async () => {
  const before = await reserved(refund('5'), at.gate.parts)
  const copy = { ...before }
  const after = advance(before, { asking: ['a.b.c'], supersedes: 'f'.repeat(64) })
  expect(after).toEqual({ ...copy, asking: ['a.b.c'], supersedes: 'f'.repeat(64) })
  expect(before).toEqual(copy)
})
