import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { begin, identify, recognize } from '../../../src/gate/govern/begin.js'
import type { Identity } from '../../../src/ports/identity.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

let at: Rig
let parts: Parts
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  parts = at.gate.parts
})
afterAll(() => at.close())
beforeEach(() => {
  at.reports.length = 0
})

const CALL = refund('5')
const withIdentity = (found: Identity['identify']): Parts => ({
  ...parts,
  identity: { ...parts.identity, identify: found },
})

describe('identify', () => {
  it('does not wait for an identity that has its result at once', () => {
    expect(identify(CALL.caller, parts)).toMatchObject({ kind: 'known', agent: 'support-bot' })
  })

  it.each<[string, Identity['identify']]>([
    [
      'throws',
      () => {
        throw new Error('no directory')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no directory'))],
  ])('takes a caller for unknown where the look-up %s, and reports it', async (_, found) => {
    const result = await identify(CALL.caller, withIdentity(found))
    expect(result).toEqual({ kind: 'unknown', why: 'identity_failed' })
    expect(at.reports).toEqual([
      { level: 'error', event: 'identity_failed', detail: 'Error: no directory' },
    ])
  })
})

describe('recognize', () => {
  it('lets a known caller on with the value as it is', () => {
    const agent = { kind: 'known', agent: 'support-bot', roles: [], developer: 'd' } as const
    const begun = begin(CALL, agent, parts)
    expect(recognize(begun)).toBe(begun)
  })

  it('refuses an unknown one; why is for the record, not for the caller', () => {
    const begun = begin(CALL, { kind: 'unknown', why: 'token_unknown' }, parts)
    expect(recognize(begun)).toEqual({
      exit: 'refused',
      known: begun,
      code: 'unauthenticated',
      reason: { observed: 'token_unknown' },
      details: {},
    })
  })
})

it('begins each call as an action of its own', () => {
  const agent = { kind: 'unknown', why: 'none' } as const
  const [one, two] = [begin(CALL, agent, parts), begin(CALL, agent, parts)]
  expect(one.actionId).not.toBe(two.actionId)
  expect(one.world).toBe(parts.world())
})
