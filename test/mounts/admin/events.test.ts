import { get, type IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { isHeadType } from '../../../src/core/journal/vocabulary.js'
import { type Plane, startPlane } from './harness.js'

type Event = { id: number; type: string; data: Record<string, unknown> }
type Stream = {
  readonly events: Event[]
  readonly response: IncomingMessage
  until(count: number): Promise<void>
  readonly ended: Promise<void>
  close(): void
}

let plane: Plane
beforeEach(async () => {
  plane = await startPlane()
})
afterEach(() => plane.close())

async function stream(lastEventId?: string, pause = false): Promise<Stream> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(
      `${plane.url}/v1/events`,
      {
        headers: {
          authorization: `Bearer ${plane.tokens.viewer}`,
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
      },
      resolve,
    ).on('error', reject)
  })
  const events: Event[] = []
  let rest = ''
  let wake = (): void => {}
  let over = (): void => {}
  const ended = new Promise<void>((resolve) => {
    over = resolve
  })
  response.on('error', () => undefined)
  response.on('close', () => {
    over()
    wake()
  })
  const read = (chunk: Buffer): void => {
    rest += chunk.toString('utf8')
    const blocks = rest.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, id, type, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? []
      if (id !== undefined && data !== undefined) {
        events.push({ id: Number(id), type: String(type), data: JSON.parse(data) })
      }
    }
    wake()
  }
  if (pause) response.pause()
  else response.on('data', read)
  return {
    events,
    response,
    ended,
    async until(count) {
      if (pause) response.on('data', read).resume()
      while (events.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        if (response.destroyed && events.length < count) throw new Error('the stream ended early')
      }
    },
    close: () => response.destroy(),
  }
}

const seqs = ({ events }: Stream): number[] => events.map(({ id }) => id)
/** Numbers of the journal's lines after this one; heads and seals are the journal's own and not in the stream. */
async function linesAfter(seq: number): Promise<number[]> {
  const lines = await plane.rig.lines()
  return lines.filter((line) => line.seq > seq && !isHeadType(line.type)).map((line) => line.seq)
}

describe('events', () => {
  it('shows each new line once, in order, with its public members only', async () => {
    const head = plane.gate.data.journal.head().seq
    const live = await stream()
    await plane.refund('41.09', {}, 'secret-order')
    await plane.refund('941.09', {}, 'secret-order')
    const written = await linesAfter(head)
    await live.until(written.length)
    live.close()
    expect(seqs(live)).toEqual(written)
    expect(live.events.map(({ type }) => type)).toEqual(['ACTION_DISPATCHED', 'CAPSULE', 'CAPSULE'])
    expect(live.events[0]?.data).toMatchObject({ agent: 'support-bot', tool: 'create_refund' })
    expect(JSON.stringify(live.events)).not.toMatch(/41\.09|secret-order|"budgets"|"key"/)
  })

  it('goes on after Last-Event-ID without a gap or a repetition, while lines are being written', async () => {
    const writing = Promise.all(
      Array.from({ length: 40 }, (_, i) => plane.refund('900.00', {}, `order-${i}`)),
    )
    const first = await stream('0')
    await first.until(10)
    first.close()
    const last = seqs(first).at(-1) as number
    const second = await stream(String(last))
    await writing
    await second.until((await linesAfter(last)).length)
    second.close()
    expect([...seqs(first), ...seqs(second)]).toEqual(await linesAfter(0))
  })

  it('serves a reader that stopped reading from the journal, not from memory', async () => {
    const slow = await stream('0', true)
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        Array.from({ length: 250 }, (_, i) => plane.refund('900.00', {}, `o-${round}-${i}`)),
      )
    }
    const written = await linesAfter(0)
    expect(written.length).toBeGreaterThan(1_500)
    await slow.until(written.length)
    slow.close()
    expect(seqs(slow)).toEqual(written)
  })

  it.each(['-1', 'x', '1.5', '99999999', '1e3'])('refuses Last-Event-ID %s', async (id) => {
    const answered = await plane.ask('GET', '/v1/events', { headers: { 'last-event-id': id } })
    expect(answered.status).toBe(400)
  })

  it('ends when the token is revoked, at the next line', async () => {
    const live = await stream()
    plane.revoke('the-viewer')
    while ((await plane.ask('GET', '/v1/keys', { as: 'viewer' })).status !== 401);
    const before = live.events.length
    await plane.refund('900.00')
    await live.ended
    expect(live.events.length).toBe(before)
  })

  it('keeps no listener for a reader that left', async () => {
    const live = await stream()
    await plane.refund('900.00')
    await live.until(1)
    live.close()
    const twice = await stream()
    await plane.refund('900.00', {}, 'again')
    await twice.until(1)
    twice.close()
    expect(live.events).toHaveLength(1)
  })
})
