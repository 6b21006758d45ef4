import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { utf8 } from '../../../src/core/bytes/text.js'
import { responseIn, responseParts } from '../../../src/gate/answer/replay.js'
import type { Reserved } from '../../../src/gate/context.js'
import { answered, tool, unreachable } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { reserved } from '../govern/stages.js'

let at: Rig
let call: Reserved
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  call = await reserved(refund('5'), at.gate.parts)
})
afterAll(() => at.close())

const { observation, held } = answered()
const kept = (known: Partial<Reserved>, how = observation, what = held) =>
  responseParts({ ...call, ...known }, how, what, at.gate.parts)
const rule = (more: object): Reserved['rule'] => ({ ...call.rule, ...more })

describe('a response', () => {
  it('is not kept without a reason to', () => {
    expect(kept({})).toEqual([])
    expect(kept({ grant: 'g' })).toEqual([])
    expect(kept({ rule: rule({ hitl: { on_approval: 'dispatch' } }) })).toEqual([])
  })

  it.each<[string, () => Partial<Reserved>]>([
    ['an Idempotency-Key', () => ({ keyHash: 'a'.repeat(64) })],
    ['capture: full', () => ({ rule: rule({ capture: 'full' }) })],
    [
      'on_approval: dispatch and a grant',
      () => ({ grant: 'g', rule: rule({ hitl: { on_approval: 'dispatch' } }) }),
    ],
  ])('is kept for %s, and read back as it was', (_, known) => {
    const parts = kept(known())
    expect(parts.map(({ kind, name }) => [kind, name])).toEqual([
      ['response', 'head'],
      ['response', 'body'],
    ])
    expect(responseIn(parts)).toEqual(held)
  })

  it('is not kept where it is not whole, or was not held', () => {
    const key = { keyHash: 'a'.repeat(64) }
    expect(kept(key, unreachable().observation)).toEqual([])
    expect(kept(key, observation, null)).toEqual([])
  })

  it('is not read back without its head or its body, or from a damaged head', () => {
    const [head, body] = kept({ keyHash: 'a'.repeat(64) })
    if (head === undefined || body === undefined) throw new Error('not kept')
    expect(responseIn([head])).toBeNull()
    expect(responseIn([body])).toBeNull()
    expect(responseIn([{ ...head, bytes: utf8('{') }, body])).toBeNull()
    expect(responseIn([{ ...head, kind: 'frozen' }, body])).toBeNull()
  })
})

describe('the same key again', () => {
  const keyed = (amount: string) => refund(amount, { idempotencyKey: 'k-1' })

  it('repeats the response as an event, and refuses another request', async () => {
    const how = tool()
    const first = Object(await at.gate.govern(keyed('7'), how.dispatch))
    const capsules = (await at.capsules()).length
    const again = await at.gate.govern(keyed('7'), how.dispatch)
    expect(again).toMatchObject({ kind: 'replayed', capsuleId: first.capsuleId, response: held })
    expect(how.sent).toHaveLength(1)
    expect(await at.capsules()).toHaveLength(capsules)
    expect(await at.gate.govern(keyed('8'), how.dispatch)).toMatchObject({
      code: 'idempotency_mismatch',
    })
  })

  it('is still in use where the response was not kept', async () => {
    const key = refund('9', { idempotencyKey: 'k-2' })
    const first = await at.gate.govern(key, tool(() => ({ ...answered(), held: null })).dispatch)
    expect(await at.gate.govern(key, tool().dispatch)).toMatchObject({
      code: 'idempotency_in_flight',
      problem: { held_by: Object(first).actionId },
    })
  })
})
