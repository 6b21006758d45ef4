import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Capsule } from '../../../src/core/capsule/model.js'
import type { Gate } from '../../../src/gate/gate.js'
import { GateRefusal, wrap } from '../../../src/mounts/function/wrap.js'
import { routed } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'

const MANIFEST = `id: com.acme.local
tools:
  pay:
    args: {amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
  note:
    args: {text: string}
`
const POLICY = `@id("all") permit (principal == Agent::"worker", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: MANIFEST, policies: POLICY })
})
afterAll(() => at.close())
const as = { agent: 'worker' }
const last = async (): Promise<Capsule | undefined> =>
  (await at.capsules()).at(-1)?.capsule as unknown as Capsule
const refusal = async (promise: Promise<unknown>): Promise<GateRefusal> => {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof GateRefusal)) throw new Error(`no refusal but ${String(error)}`)
  return error
}

describe('a wrapped function', () => {
  it('returns its own result; the record takes it as its word, never as confirmed', async () => {
    const pay = wrap(at.gate, 'pay', async ({ amount }: { amount: string }) => ({ paid: amount }))
    expect(await pay({ amount: '5' }, as)).toEqual({ paid: '5' })
    expect((await last())?.effect).toMatchObject({
      status: 'dispatched',
      effect_attestation: 'runtime_claimed',
    })
    expect((await last())?.developer).toBe('worker')
  })

  it('is not run when it is refused, and the refusal is typed and carries the problem', async () => {
    let ran = 0
    const pay = wrap(at.gate, 'pay', (_: { amount: string }) => {
      ran++
    })
    const refused = await refusal(pay({ amount: '501' }, as))
    expect(refused).toMatchObject({ name: 'GateRefusal', code: 'constraint_failed' })
    expect(refused.problem).toMatchObject({
      status: 403,
      dispatched: false,
      capsule_id: (await last())?.capsule_id,
    })
    expect((await refusal(pay({ amount: '5' }, { agent: 'stranger' }))).code).toBe('policy_denied')
    expect(ran).toBe(0)
  })

  it('throws its own error, after that is on record', async () => {
    const own = new RangeError('no money')
    const pay = wrap(at.gate, 'pay', async (_: { amount: string }) => {
      throw own
    })
    await expect(pay({ amount: '5' }, as)).rejects.toBe(own)
    expect((await last())?.disposition.verdict_class).toBe('errored')
    expect((await last())?.effect?.status).toBe('dispatched')
  })

  it('gets the judged arguments, whatever the caller does to its own meanwhile', async () => {
    const args = { amount: '5' }
    let seen: unknown
    const pay = wrap(at.gate, 'pay', (judged: { amount: string }) => {
      seen = judged
    })
    const paying = pay(args, as)
    args.amount = '5000'
    await paying
    expect(seen).toEqual({ amount: '5' })
  })

  it('toJSON and getters are asked once: what they say later does not count', async () => {
    let asked = 0
    const sly = {
      get amount() {
        return asked++ === 0 ? '5' : '5000'
      },
    }
    let seen: unknown
    await wrap(at.gate, 'pay', (judged: { readonly amount: string }) => {
      seen = judged.amount
    })(sly, as)
    expect(seen).toBe('5')
  })

  it('refuses, on record, arguments that JSON cannot say', async () => {
    const note = wrap(at.gate, 'note', (_: unknown) => 'ran')
    const circle: { self?: unknown } = {}
    circle.self = circle
    for (const args of [undefined, circle, { text: 1n }, () => 0, { text: '\ud800' }]) {
      const before = (await at.capsules()).length
      const refused = await refusal(note(args, as))
      expect(['body_unreadable', 'arguments_invalid']).toContain(refused.code)
      expect(await at.capsules()).toHaveLength(before + 1)
    }
  })

  it('any text goes through unchanged, and leaves exactly one capsule', async () => {
    const note = wrap(at.gate, 'note', ({ text }: { text: string }) => text)
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (text) => {
        const before = (await at.capsules()).length
        expect(await note({ text }, as)).toBe(text)
        expect(await at.capsules()).toHaveLength(before + 1)
      }),
      { numRuns: 25 },
    )
  })

  it('without an agent is a programming error, not a call', async () => {
    const note = wrap(at.gate, 'note', (_: { text: string }) => 'ran')
    await expect(note({ text: 'x' }, { agent: '' })).rejects.toThrow(TypeError)
  })

  it('a result whose record was lost is withheld', async () => {
    const lost: Pick<Gate, 'govern'> = {
      async govern(call, dispatch) {
        const rule = at.gate.read.judges().router.byTool.get('note')?.[0]?.rule
        if (rule === undefined) throw new Error(call.kind)
        await dispatch({
          actionId: 'a',
          call: routed(call),
          rule,
          stillAllowed: () => true,
          saltedDigest: null,
        })
        const problem = { status: 502, code: 'record_lost', detail: 'lost', dispatched: true }
        const caller = { kind: 'unknown', why: 'test' } as const
        return {
          kind: 'unrecorded',
          code: 'record_lost',
          status: 502,
          problem: problem as never,
          caller,
        }
      },
    }
    const note = wrap(lost, 'note', (_: { text: string }) => 'secret result')
    expect((await refusal(note({ text: 'x' }, as))).code).toBe('record_lost')
  })
})
