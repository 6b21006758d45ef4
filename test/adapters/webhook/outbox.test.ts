import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { submitRequest } from '../../../src/adapters/webhook/requests.js'
import { MAX_PENDING } from '../../../src/adapters/webhook/sender.js'
import { readOutbox } from '../../../src/adapters/webhook/store.js'
import {
  type Bench,
  bench,
  check,
  checkOwn,
  denied,
  endpoint,
  granted,
  opened,
  opening,
  type Receiver,
  receiver,
  SECRET,
} from './harness.js'

let at: Bench
let hook: Receiver
const others: Receiver[] = []
async function another(): Promise<Receiver> {
  const made = await receiver()
  others.push(made)
  return made
}
beforeEach(async () => {
  at = bench()
  hook = await receiver()
})
afterEach(async () => {
  for (const response of hook.hanging()) response.destroy()
  await at.close()
  await hook.close()
  for (const other of others.splice(0)) await other.close()
})
const here = (more = {}) => ({ endpoints: [endpoint(hook.url, more)] })

describe('a delivery', () => {
  it('carries a thin payload, and both signatures verify', async () => {
    await at.outbox(here())
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('delivered')
    const [got] = hook.got
    if (got === undefined) throw new Error('nothing came')
    check(got, at.key, at.time.clock.now())
    expect(got.event).toEqual({
      type: 'approval.requested',
      timestamp: '2026-03-01T12:00:00.000Z',
      data: {
        approval_id: 'a-1',
        tool: 'create_refund',
        agent: 'support-bot',
        operator: 'acme',
        capsule_id: opening('a-1'),
        document_digest: 'd'.repeat(64),
        deadline: { at: '2026-03-01T13:00:00.000Z', on_expiry: 'timeout' },
        verdict: 'hitl_dispatched',
        link: 'http://127.0.0.1:8081/approvals/a-1',
      },
    })
    expect(got.headers['content-type']).toBe('application/json')
    expect(got.headers['webhook-timestamp']).toBe(String(at.time.clock.now() / 1000))
  })

  it('is signed by every secret of a rotation, so that old and new receivers verify', async () => {
    const next = `whsec_${Buffer.alloc(24, 9).toString('base64')}`
    await at.outbox(here({ secrets: () => [next, SECRET] }))
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('delivered')
    const [got] = hook.got
    if (got === undefined) throw new Error('nothing came')
    check(got, at.key, at.time.clock.now(), SECRET)
    check(got, at.key, at.time.clock.now(), next)
    expect(String(got.headers['webhook-signature']).split(' ')).toHaveLength(3)
  })

  it('of a changed body verifies nowhere', async () => {
    await at.outbox(here())
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('delivered')
    const [got] = hook.got
    if (got === undefined) throw new Error('nothing came')
    const forged = { ...got, body: got.body.replace('a-1', 'a-2') }
    expect(() => check(forged, at.key, at.time.clock.now())).toThrow()
    expect(checkOwn(forged, at.key)).toBe(false)
  })

  it('goes to those endpoints alone that asked for the event', async () => {
    const other = await another()
    await at.outbox({
      endpoints: [
        endpoint(hook.url, { events: ['approval.decided'] }),
        endpoint(other.url, { name: 'siem', events: ['verdict.denied'] }),
      ],
    })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    at.journal.append('GRANT_ISSUED', granted('a-1'))
    at.journal.append('CAPSULE', denied('x-1'))
    await at.heard('delivered')
    await at.heard('delivered')
    expect(hook.got.map(({ event }) => event.type)).toEqual(['approval.decided'])
    expect(other.got.map(({ event }) => event.type)).toEqual(['verdict.denied'])
  })
})

describe('a failing receiver', () => {
  it('gets the same id and body again on the schedule, signed anew each time', async () => {
    await at.outbox(here())
    hook.answer = (_, nth) => ({ status: nth < 4 ? 500 : 204 })
    at.journal.append('CAPSULE', denied('x-1'))
    for (const wait of [5, 300, 1800]) {
      await at.heard('retry')
      at.time.advance(wait - 1)
      expect(hook.got.length).toBeLessThan(4)
      at.time.advance(1)
    }
    await at.heard('delivered')
    expect(new Set(hook.got.map(({ id }) => id)).size).toBe(1)
    expect(new Set(hook.got.map(({ body }) => body)).size).toBe(1)
    const stamps = hook.got.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(stamps.map((stamp) => stamp - (stamps[0] ?? 0))).toEqual([0, 5, 305, 2105])
    hook.got.forEach((got, i) => {
      check(got, at.key, (stamps[i] ?? 0) * 1000)
    })
  })

  it('that never answers 2xx leaves a dead letter after ten attempts, seen and not sent again', async () => {
    const outbox = await at.outbox(here())
    hook.answer = () => ({ status: 503 })
    at.journal.append('CAPSULE', denied('x-1'))
    for (let tries = 1; tries < 10; tries += 1) {
      await at.heard('retry')
      at.time.advance(24 * 3600)
    }
    const dead = await at.heard('dead')
    expect(dead).toMatchObject({ delivery: { why: 'exhausted, 10 attempts: status 503' } })
    expect(outbox.stats()).toEqual([{ name: 'chat', disabled: null, pending: 0, dead: 1 }])
    at.time.advance(24 * 3600)
    expect(hook.got).toHaveLength(10)
  })

  it.each([301, 302, 307, 308])(
    'that redirects (%s) has failed, and nobody follows',
    async (status) => {
      const elsewhere = await another()
      await at.outbox(here())
      hook.answer = () => ({ status, headers: { location: elsewhere.url } })
      at.journal.append('CAPSULE', denied('x-1'))
      expect(await at.heard('retry')).toMatchObject({ delivery: { why: `status ${status}` } })
      expect(elsewhere.got).toHaveLength(0)
    },
  )

  it('that hangs is given up after 15 seconds, and tried again', async () => {
    await at.outbox(here())
    hook.answer = (_, nth) => (nth === 1 ? 'hang' : { status: 200 })
    at.journal.append('CAPSULE', denied('x-1'))
    await hook.received(1)
    at.time.advance(14)
    expect(at.told).toEqual([])
    at.time.advance(1)
    expect(await at.heard('retry')).toMatchObject({ delivery: { why: 'timeout' } })
    at.time.advance(5)
    await at.heard('delivered')
  })

  it('that resets the connection, or is not there at all, is tried again', async () => {
    await at.outbox(here())
    hook.answer = () => 'reset'
    at.journal.append('CAPSULE', denied('x-1'))
    expect(await at.heard('retry')).toMatchObject({ delivery: { why: 'connection ECONNRESET' } })
    const { port } = hook
    await hook.close()
    at.time.advance(5)
    expect(await at.heard('retry')).toMatchObject({ delivery: { why: 'connection ECONNREFUSED' } })
    hook = await receiver(port)
    at.time.advance(300)
    await at.heard('delivered')
    expect(hook.got).toHaveLength(1)
  })

  it('may ask for patience by Retry-After, for up to an hour', async () => {
    await at.outbox(here())
    const values = ['120', '86400']
    hook.answer = (_, nth) => {
      const value = values[nth - 1]
      return value === undefined
        ? { status: 200 }
        : { status: 429, headers: { 'retry-after': value } }
    }
    at.journal.append('CAPSULE', denied('x-1'))
    const start = at.time.clock.now()
    expect(await at.heard('retry')).toMatchObject({ delivery: { next: start + 120_000 } })
    at.time.advance(120)
    expect(await at.heard('retry')).toMatchObject({ delivery: { next: start + 3_720_000 } })
    at.time.advance(3600)
    await at.heard('delivered')
  })

  it('whose secret cannot be read gets nothing unsigned', async () => {
    const bad = (): readonly string[] => {
      throw new Error('the file is gone')
    }
    await at.outbox(here({ secrets: bad }))
    at.journal.append('CAPSULE', denied('x-1'))
    expect(await at.heard('retry')).toMatchObject({
      delivery: { why: 'not signed: Error: the file is gone' },
    })
    expect(hook.got).toHaveLength(0)
  })
})

describe('410', () => {
  it('disables the endpoint for good, buries what waits and what comes, also after a restart', async () => {
    const outbox = await at.outbox(here())
    hook.answer = (got) => ({ status: got.event.type === 'verdict.denied' ? 410 : 500 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('retry')
    at.journal.append('CAPSULE', denied('x-1'))
    await at.heard('disabled')
    expect([await at.heard('dead'), await at.heard('dead')]).toMatchObject([
      { delivery: { why: 'endpoint disabled' } },
      { delivery: { why: 'endpoint disabled' } },
    ])
    expect(outbox.stats()).toMatchObject([{ disabled: '2026-03-01T12:00:00.000Z', dead: 2 }])
    await outbox.close()
    const again = await at.outbox(here())
    at.journal.append('CAPSULE', denied('x-2'))
    await at.heard('dead')
    expect(again.stats()).toMatchObject([{ pending: 0, dead: 3 }])
    expect(hook.got).toHaveLength(2)
  })

  it('is lifted by an operator, who then replays what was lost', async () => {
    await at.outbox(here())
    hook.answer = () => ({ status: 410 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    const dead = await at.heard('dead')
    if (dead.kind !== 'dead') throw new Error('not dead')
    submitRequest(at.folder, { kind: 'replay', ids: [dead.delivery.id] })
    at.time.advance(5)
    expect(await at.heard('order_refused')).toMatchObject({
      why: `${dead.delivery.id} is for chat, which is disabled`,
    })
    hook.answer = () => ({ status: 200 })
    submitRequest(at.folder, { kind: 'enable', endpoint: 'chat' })
    at.time.advance(5)
    await at.heard('enabled')
    submitRequest(at.folder, { kind: 'replay', ids: [dead.delivery.id, 'msg_none'] })
    at.time.advance(5)
    await at.heard('delivered')
    expect(await at.heard('order_refused')).toMatchObject({ why: 'msg_none is no dead letter' })
    expect(hook.got.map(({ id }) => id)).toEqual([dead.delivery.id, dead.delivery.id])
  })

  it('is forgotten when gate.yaml names another URL', async () => {
    const first = await at.outbox(here())
    hook.answer = () => ({ status: 410 })
    at.journal.append('CAPSULE', denied('x-1'))
    await at.heard('disabled')
    await first.close()
    hook.answer = () => ({ status: 200 })
    await at.outbox({ endpoints: [endpoint(`${hook.url}&v=2`)] })
    at.journal.append('CAPSULE', denied('x-2'))
    await at.heard('delivered')
  })
})

describe('a deadline', () => {
  it('draws the attempts together before it, and ends them', async () => {
    await at.outbox(here())
    hook.answer = () => ({ status: 500 })
    const until = at.time.clock.now() + 600_000
    at.journal.append('APPROVAL_OPENED', opened('a-1', new Date(until).toISOString()))
    const times: number[] = []
    for (;;) {
      const report = await at.heard('retry', 'dead')
      times.push(at.time.clock.now())
      if (report.kind === 'dead') {
        expect(report.delivery.why).toMatch(/^deadline, \d+ attempts: status 500$/)
        break
      }
      if (report.kind !== 'retry') throw new Error(report.kind)
      at.time.advance((report.delivery.next - at.time.clock.now()) / 1000)
    }
    expect(times.length).toBeGreaterThan(5)
    expect(Math.max(...times)).toBeLessThan(until)
    expect(until - Math.max(...times)).toBeLessThan(30_000)
  })

  it('that passed while the gate was down sends nothing, and is a dead letter', async () => {
    const first = await at.outbox(here())
    await first.close()
    at.journal.append('APPROVAL_OPENED', opened('a-1', '2026-03-01T12:30:00.000Z'))
    at.time.advance(3600)
    await at.outbox(here())
    expect(await at.heard('dead')).toMatchObject({ delivery: { why: 'deadline' } })
    expect(hook.got).toHaveLength(0)
  })

  it('that passes during a wait ends the wait', async () => {
    await at.outbox(here())
    hook.answer = () => ({ status: 500 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('retry')
    at.time.advance(7200)
    expect(await at.heard('dead')).toMatchObject({ delivery: { why: 'deadline' } })
    expect(hook.got).toHaveLength(1)
  })
})

describe('order', () => {
  it('holds for one approval: what comes later waits for what came first', async () => {
    await at.outbox(here())
    hook.answer = (_, nth) => ({ status: nth === 1 ? 500 : 200 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    at.journal.append('GRANT_ISSUED', granted('a-1'))
    await at.heard('retry')
    at.journal.append('APPROVAL_OPENED', opened('a-2'))
    await at.heard('delivered')
    expect(hook.got.map(({ event }) => event.data.approval_id)).toEqual(['a-1', 'a-2'])
    at.time.advance(5)
    await at.heard('delivered')
    await at.heard('delivered')
    expect(hook.got.slice(2).map(({ event }) => event.type)).toEqual([
      'approval.requested',
      'approval.decided',
    ])
  })

  it('lets at most four attempts at one endpoint run at once, and approvals overtake the rest', async () => {
    await at.outbox(here())
    hook.answer = () => 'hang'
    for (let i = 0; i < 20; i += 1) at.journal.append('CAPSULE', denied(`x-${i}`))
    await hook.received(4)
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await new Promise(setImmediate)
    hook.answer = () => ({ status: 200 })
    for (const response of hook.hanging()) response.end()
    for (let i = 0; i < 21; i += 1) await at.heard('delivered')
    expect(hook.most()).toBe(4)
    expect(hook.got.slice(0, 5).at(-1)?.event.type).toBe('approval.requested')
  })
})

describe('a flood', () => {
  it('over 10,000 waiting turns what is about no approval into dead letters, and nothing else', async () => {
    const outbox = await at.outbox(here())
    hook.answer = () => 'hang'
    for (let i = 0; i < MAX_PENDING + 5; i += 1) at.journal.append('CAPSULE', denied(`x-${i}`))
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    for (let i = 0; i < 5; i += 1) {
      expect(await at.heard('dead')).toMatchObject({ delivery: { why: 'overflow' } })
    }
    await new Promise(setImmediate)
    expect(outbox.stats()).toMatchObject([{ pending: MAX_PENDING + 1, dead: 5 }])
    // The file holds all of them, not only the memory.
    expect(readOutbox(at.folder)?.pending.size).toBe(MAX_PENDING + 1)
    const closing = outbox.close()
    at.time.advance(5)
    await closing
  })
})

describe('a restart', () => {
  it('goes on with what was waiting, under the same ids, at its time', async () => {
    const first = await at.outbox(here())
    hook.answer = () => ({ status: 500 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('retry')
    await first.close()
    hook.answer = () => ({ status: 200 })
    await at.outbox(here())
    expect(hook.got).toHaveLength(1)
    at.time.advance(5)
    await at.heard('delivered')
    expect(hook.got[0]?.id).toBe(hook.got[1]?.id)
    expect(hook.got[0]?.body).toBe(hook.got[1]?.body)
  })

  it('tells what was journalled while no outbox ran, but gives a new endpoint no history', async () => {
    at.journal.append('APPROVAL_OPENED', opened('before'))
    const first = await at.outbox(here())
    await first.close()
    at.journal.append('APPROVAL_OPENED', opened('while-down'))
    const other = await another()
    await at.outbox({ endpoints: [endpoint(hook.url), endpoint(other.url, { name: 'late' })] })
    await at.heard('delivered')
    at.journal.append('APPROVAL_OPENED', opened('after'))
    await other.received(1)
    await hook.received(2)
    const ids = (got: Receiver['got']) => got.map(({ event }) => event.data.approval_id)
    expect(ids(hook.got)).toEqual(['while-down', 'after'])
    expect(ids(other.got)).toContain('after')
    expect(ids(other.got)).not.toContain('before')
  })

  it('buries what waited for an endpoint that is gone from gate.yaml', async () => {
    const first = await at.outbox(here())
    hook.answer = () => ({ status: 500 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('retry')
    await first.close()
    await at.outbox({ endpoints: [] })
    expect(await at.heard('dead')).toMatchObject({ delivery: { why: 'endpoint removed' } })
  })

  it('after a cut-off file repeats from the journal, and loses nothing', async () => {
    const first = await at.outbox(here())
    const file = join(at.folder, 'outbox.jsonl')
    const start = readFileSync(file)
    for (let i = 0; i < 5; i += 1) at.journal.append('APPROVAL_OPENED', opened(`a-${i}`))
    for (let i = 0; i < 5; i += 1) await at.heard('delivered')
    const whole = readFileSync(file)
    await first.close()
    const ids = new Set(hook.got.map(({ id }) => id))
    for (const cut of [start.length, start.length + 40, whole.length - 1, whole.length - 30]) {
      writeFileSync(file, whole.subarray(0, cut))
      if (cut % 2 === 0) appendFileSync(file, '\0\0\0\0')
      hook.got.length = 0
      const before = readOutbox(at.folder)
      const outbox = await at.outbox(here())
      const missing = 5 - (before?.cursor ?? 0) + (before?.pending.size ?? 0)
      await hook.received(missing)
      for (let i = 0; i < missing; i += 1) await at.heard('delivered')
      for (const { id } of hook.got) expect(ids).toContain(id)
      expect(outbox.stats()).toMatchObject([{ pending: 0, dead: 0 }])
      await outbox.close()
    }
  })

  it('with a stretch of the journal archived says so, and goes on from the present', async () => {
    const first = await at.outbox(here())
    await first.close()
    at.journal.append('APPROVAL_OPENED', opened('lost'))
    await at.outbox({
      ...here(),
      lines: () => {
        throw new Error('segment 1 was archived')
      },
    })
    expect(await at.heard('unread')).toMatchObject({ why: expect.stringContaining('archived') })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await at.heard('delivered')
    expect(hook.got.map(({ event }) => event.data.approval_id)).toEqual(['a-1'])
  })

  it('gives up attempts under way after a few seconds, and makes them again', async () => {
    const first = await at.outbox(here())
    hook.answer = (_, nth) => (nth === 1 ? 'hang' : { status: 200 })
    at.journal.append('APPROVAL_OPENED', opened('a-1'))
    await hook.received(1)
    const closing = first.close()
    at.time.advance(5)
    await closing
    await at.outbox(here())
    await at.heard('delivered')
    expect(hook.got[0]?.id).toBe(hook.got[1]?.id)
  })
})
