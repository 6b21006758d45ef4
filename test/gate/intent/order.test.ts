import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Code } from '../../../src/core/verdict/table.js'
import { tool } from '../../support/approvals.js'
import { BY_RULE, ELSE, orderCall, stepsOn, WITH_INTENT } from '../../support/intent-scenarios.js'
import { type Claims, carried, MISSION } from '../../support/intents.js'
import { type Rig, rig } from '../../support/rig.js'
import { MANIFEST, POLICIES } from '../../support/verdict-scenarios.js'

/** Of several faults the first is answered: mandate, then a, b, thin, c, d, e, session, f, g (§5.2, §7). */
let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: MANIFEST, policies: POLICIES, ...WITH_INTENT })
})
afterAll(() => at.close())

const FAULTS = ['mandate', 'b', 'thin', 'c', 'd', 'e', 'session', 'f', 'g'] as const
type Fault = (typeof FAULTS)[number]
const ANSWERED: Readonly<Record<Fault, Code>> = {
  mandate: 'mandate_invalid',
  b: 'intent_malformed',
  thin: 'intent_thin_refused',
  c: 'intent_duplicate',
  d: 'intent_object_mismatch',
  e: 'intent_mandate_mismatch',
  session: 'intent_session_mismatch',
  f: 'intent_step_stale',
  g: 'intent_mission_mismatch',
}
let orders = 0

/** One step, then a call whose declaration has all these faults. */
async function answerTo(faults: ReadonlySet<Fault>): Promise<string> {
  const order = `order-${++orders}`
  const steps = stepsOn(order, { mission_ref: MISSION })
  const say = async (declared: Claims, mandate: string, action: 'settle' | 'look_up') =>
    at.gate.govern(orderCall(action, order, carried(declared, mandate)), tool().dispatch)
  const common = { mission_ref: MISSION, reasoning_basis: BY_RULE }
  const first = steps.standard('look_up', { ...common, step_sequence: 5 })
  expect(await say(first, steps.mandate, 'look_up')).toMatchObject({ code: 'executed' })
  const faulty: Claims = {
    step_sequence: faults.has('f') ? 5 : 6,
    // (b) is told of the first member that is not as it has to be, and this is compared last.
    ...(faults.has('b') ? { requested_action: 'look_up' } : {}),
    ...(faults.has('c') ? { idp_id: first.idp_id } : {}),
    ...(faults.has('d') ? { so_id: ELSE } : {}),
    ...(faults.has('e') ? { mandate_id: ELSE } : {}),
    ...(faults.has('session') ? { session_id: ELSE } : {}),
  }
  const declared = faults.has('thin')
    ? steps.thin('settle', faulty)
    : steps.standard('settle', {
        ...common,
        ...faulty,
        ...(faults.has('g') ? { mission_ref: ELSE } : {}),
      })
  const good = stepsOn(order, { aud: 'urn:somebody-else' }).mandate
  const answer = await say(declared, faults.has('mandate') ? good : steps.mandate, 'settle')
  return 'code' in answer ? answer.code : answer.kind
}

describe('a declaration with several faults', () => {
  it('is answered by the first of them', async () => {
    const left = new Set<Fault>(FAULTS)
    for (const fault of FAULTS) {
      expect(await answerTo(left)).toBe(ANSWERED[fault])
      left.delete(fault)
    }
    expect(await answerTo(left)).toBe('executed')
  })

  it('whichever they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray([...FAULTS]), async (some) => {
        const faults = new Set(some)
        // A thin declaration has no mission to be wrong about.
        if (faults.has('thin')) faults.delete('g')
        const first = FAULTS.find((fault) => faults.has(fault))
        expect(await answerTo(faults)).toBe(first === undefined ? 'executed' : ANSWERED[first])
      }),
      { numRuns: 60 },
    )
  })

  it('is not looked at before the mandate, and its absence only after', async () => {
    const order = `order-${++orders}`
    const steps = stepsOn(order)
    const foreign = stepsOn(order, { aud: 'urn:somebody-else' })
    const ask = (mandate: string | null) =>
      at.gate.govern(orderCall('look_up', order, carried(null, mandate)), tool().dispatch)
    expect(await ask(null)).toMatchObject({ code: 'mandate_missing' })
    expect(await ask(foreign.mandate)).toMatchObject({ code: 'mandate_invalid' })
    expect(await ask(steps.mandate)).toMatchObject({ code: 'intent_missing' })
  })
})
