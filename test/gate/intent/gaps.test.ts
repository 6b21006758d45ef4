import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { HttpCall } from '../../../src/core/call/call.js'
import type { Seam } from '../../../src/gate/context.js'
import { verifyLedger } from '../../../src/verify.js'
import { decide, fakeTime, person } from '../../support/approvals.js'
import { bookingGate } from '../../support/booking-gate.js'
import { bookingCall, carried, stepsOf } from '../../support/intents.js'
import { rawUpstream } from '../../support/raw-upstream.js'
import { upstreamTo } from '../../support/rig.js'

/** What was sent is not what was declared, in cases where more than that goes wrong. */
const gate = bookingGate()

/** What a verifier says against the journal. */
async function faults(): Promise<string[]> {
  const text = (await gate.at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
  const keys = gate.at.gate.data.keys()
  const { journal, results } = verifyLedger(text, { keys, crypto: nodeCrypto })
  return [...results.flatMap(({ findings }) => findings), ...(journal?.findings ?? [])]
    .filter(({ severity }) => severity === 'error')
    .map(({ code, detail }) => `${code} ${detail}`)
}

const declaredRead = (): HttpCall =>
  bookingCall('ReadBooking', 'b-1', carried(gate.steps.standard('ReadBooking'), gate.steps.mandate))

describe('a gap', () => {
  it('whose outcome nobody saw leaves the state of the object unknown', async () => {
    const dead = await rawUpstream(async (peer) => {
      await peer.request()
      peer.reset()
    })
    const own = gate.upstream
    gate.upstream = upstreamTo(dead.origin)
    try {
      await gate.send(declaredRead(), bookingCall('CloseBooking', 'b-1', null))
    } finally {
      await gate.upstream.close()
      await dead.close()
      gate.upstream = own
    }
    const [result] = await gate.lines('ACTION_RESULT_RECORDED')
    expect(result).toMatchObject({ result: 'unconfirmed', to_state: null })
    expect(await gate.lines('IDP_COMMITMENT_GAP')).toHaveLength(1)
    expect(await gate.at.gate.read.object(gate.steps.soId)).toMatchObject({ state: null })
  })

  it.each([
    ['who resumes what another ends', 'decision'],
    ['a deadline', 'deadline'],
  ])('in two calls at once is decided once: %s comes too late', async (_, later) => {
    const { advance, ...time } = fakeTime()
    /** While set, so many calls that come to the seam wait there. */
    let held: { seam: Seam; left: number; reached: () => void; gone: Promise<void> } | null = null
    const stop = (seam: Seam, left: number) => {
      let release = (): void => undefined
      const gone = new Promise<void>((resolve) => {
        release = resolve
      })
      const reached = new Promise<void>((resolve) => {
        held = { seam, left, reached: resolve, gone }
      })
      return { reached, release: () => release() }
    }
    const seam = async (name: Seam): Promise<void> => {
      const of = held
      if (of?.seam !== name) return
      if (--of.left === 0) {
        held = null
        of.reached()
      }
      await of.gone
    }
    await gate.reopen({ seam, ...time }, 'fresh')
    const { now } = time.clock
    gate.steps = stepsOf(gate.issuer, { now, claims: { exp: now() / 1000 + 10_000_000 } })
    const elsewhere = (): Promise<unknown> => {
      const made = declaredRead()
      return gate.send(made, { ...made, target: '/v1/bookings/b-2' })
    }
    const before = stop('before_first_byte', 2)
    const both = [elsewhere(), elsewhere()]
    await before.reached
    const after = stop('after_last_byte', 2)
    before.release()
    await after.reached
    after.release()
    await Promise.all(both)
    const [first, second] = await gate.at.gate.parts.state.approvals()
    if (first === undefined || second === undefined) throw new Error('two were to be asked about')

    const ending = stop('before_capsule', 1)
    const refusal = { kind: 'deny', reason: 'no' } as const
    const refused = decide(gate.at.gate, first.approvalId, person('bob'), refusal)
    await ending.reached
    // The second finds the first at the seam.
    if (later === 'decision') {
      const resumed = decide(gate.at.gate, second.approvalId, person('alice'), { kind: 'approve' })
      ending.release()
      expect(await resumed).toMatchObject({ kind: 'refused', why: 'already_decided' })
    } else {
      advance(10_000_000)
      const due = gate.at.gate.expireDue()
      ending.release()
      await due
    }
    expect(await refused).toMatchObject({ kind: 'recorded', state: 'refused' })
    expect(await gate.lines('SESSION_RESUMED')).toEqual([])
    expect(await gate.lines('SESSION_CLOSED')).toHaveLength(1)
    expect(await faults()).toEqual([])
  })
})

describe('a transition under way at a crash', () => {
  it('leaves the state of its object unknown, also where its evidence was erased', async () => {
    const { steps } = gate
    const intent = steps.standard('ProcessPayment')
    await new Promise<void>((resolve) => {
      const made = bookingCall('ProcessPayment', 'b-1', carried(intent, steps.mandate))
      void gate.at.gate.govern(made, async () => {
        resolve()
        return new Promise(() => undefined)
      })
    })
    const day = new Date(gate.at.gate.parts.clock.now()).toISOString().slice(0, 10)
    await gate.at.gate.erase({ operator: 'acme', day }, 'olga')
    await gate.reopen({})
    expect(await gate.call('ProcessPayment', steps.standard('ProcessPayment'))).toMatchObject({
      code: 'object_state_invalid',
    })
    expect(gate.server.requests).toEqual([])
    expect(await faults()).toEqual([])
  })
})
