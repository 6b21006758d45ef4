import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { send } from '../../../src/gate/govern/dispatch.js'
import { RecordUnavailable } from '../../../src/gate/govern/exit.js'
import type { Dispatch, DispatchOrder } from '../../../src/ports/dispatch.js'
import type { EvidenceRecord } from '../../../src/ports/evidence.js'
import type { JournalEntry } from '../../../src/ports/journal.js'
import { answered, tool } from '../../support/approvals.js'
import { type Rig, rig } from '../../support/rig.js'
import { post, reserved } from './stages.js'

const MANIFEST = `id: com.acme.orders
tools:
  order:
    match: POST /v1/orders
    args: {order: string, amount: decimal}
    subject: order
    capture: full
    constraints:
      total: {sum: {of: amount, max: "1000", window: 1h}}
      per_hour: {count: {max: 100, window: 1h}}
`
const CALL = post('/v1/orders', { order: 'o-77', amount: '12.5' })

let at: Rig
beforeAll(async () => {
  at = await rig({
    manifest: MANIFEST,
    policies: '@id("p") permit (principal == Agent::"support-bot", action, resource);',
  })
})
afterAll(() => at.close())

/** The real parts, and what happens at their ports in the order it happens. */
function watched(more: Partial<Parts> = {}) {
  const { parts } = at.gate
  const order: string[] = []
  const lines: JournalEntry[] = []
  const records: EvidenceRecord[] = []
  const watching: Parts = {
    ...parts,
    journal: {
      ...parts.journal,
      async append(entries, options) {
        lines.push(...entries)
        const result = await parts.journal.append(entries, options)
        order.push('line durable')
        return result
      },
    },
    evidence: {
      ...parts.evidence,
      async put(record, options) {
        records.push(record)
        await parts.evidence.put(record, options)
        order.push('evidence durable')
      },
    },
    ...more,
  }
  const dispatch: Dispatch = async (sent) => {
    order.push('dispatched')
    return tool().dispatch(sent)
  }
  return { parts: watching, order, lines, records, dispatch }
}

describe('send', () => {
  it('waits for the line and the evidence before it dispatches', async () => {
    const { parts, order, dispatch } = watched()
    const sent = await send(await reserved(CALL, parts), dispatch, parts)
    expect(order.at(-1)).toBe('dispatched')
    expect(order.slice(0, -1).sort()).toEqual(['evidence durable', 'line durable'])
    expect(sent).toMatchObject({ exit: 'sent', code: 'executed' })
  })

  it('keeps the amount out of the clear, and the request under its subject', async () => {
    const { parts, lines, records, dispatch } = watched()
    await send(await reserved(CALL, parts), dispatch, parts)
    const [line] = lines
    expect(line?.type).toBe('ACTION_DISPATCHED')
    expect(line?.json).not.toContain('12.5')
    expect(line?.members).toMatchObject({
      budgets: [{ kind: 'sum' }, { kind: 'count' }],
      amounts: expect.any(String),
    })
    expect(records[0]?.subject).toBe('o-77')
    const kinds = records[0]?.parts.map(({ kind }) => kind) ?? []
    for (const kind of ['request', 'dispatch', 'subject']) expect(kinds).toContain(kind)
  })

  it('sends nothing when the line cannot be written, and gives back what was reserved', async () => {
    const { parts } = at.gate
    const settled: unknown[] = []
    const failing: Parts = {
      ...parts,
      journal: { ...parts.journal, append: () => Promise.reject(new Error('no space')) },
      state: {
        ...parts.state,
        async settle(actionId, settlement) {
          settled.push(settlement)
          return parts.state.settle(actionId, settlement)
        },
      },
    }
    const how = tool()
    const sending = send(await reserved(CALL, parts), how.dispatch, failing)
    await expect(sending).rejects.toBeInstanceOf(RecordUnavailable)
    expect(how.sent).toEqual([])
    expect(settled).toEqual([{ kind: 'release' }])
  })

  it.each<[string, (parts: Parts) => Partial<Parts>]>([
    [
      'the generation was raised',
      (parts) => ({ world: () => ({ ...parts.world(), generation: 99 }) }),
    ],
    [
      'the agent is no longer known',
      (parts) => ({ identity: { ...parts.identity, isStillKnown: () => false } }),
    ],
  ])('does not even call the mount when %s', async (_, change) => {
    const { parts } = at.gate
    const call = await reserved(CALL, parts)
    const { dispatch, order, parts: changed } = watched(change(parts))
    const sent = await send(call, dispatch, changed)
    expect(sent.dispatched.observation).toMatchObject({ kind: 'not_sent', cause: 'withdrawn' })
    expect(sent.code).toBe('judgement_stale')
    expect(order).not.toContain('dispatched')
  })

  it('hands the same question to the mount, for the moment before the first byte', async () => {
    const { parts } = at.gate
    let known = true
    const changing = { ...parts, identity: { ...parts.identity, isStillKnown: () => known } }
    const seen: boolean[] = []
    const dispatch = async ({ stillAllowed }: DispatchOrder) => {
      seen.push(stillAllowed())
      known = false
      seen.push(stillAllowed())
      return answered()
    }
    await send(await reserved(CALL, parts), dispatch, changing)
    expect(seen).toEqual([true, false])
  })

  it('takes a mount that throws for one that may have sent something', async () => {
    const { parts } = at.gate
    const call = await reserved(CALL, parts)
    const sent = await send(call, () => Promise.reject(new Error('bug')), parts)
    expect(sent.dispatched.observation).toMatchObject({ kind: 'sent', cause: 'dispatch_threw' })
    expect(at.reports).toContainEqual({
      level: 'error',
      event: 'dispatch_threw',
      actionId: call.actionId,
      detail: 'Error: bug',
    })
  })
})
