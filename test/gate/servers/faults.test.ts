import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createFaults } from '../../../src/gate/servers/faults.js'
import { type FakeTime, fakeTime } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'
import { linesOf } from './files-server.js'

let at: Rig
let time: FakeTime
beforeEach(async () => {
  time = fakeTime()
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer })
})
afterEach(() => at.close())

/** The append of an earlier record is durable before that of a later one. */
const told = async () => {
  await at.gate.recordServerAsk({ server: 'x', method: 'ping', agent: 'bot', passed: true })
  return (await linesOf(at, 'SERVER_FAULT')).map(
    ({ server, fault, count }) => `${server} ${fault} ${count}`,
  )
}
const record = (times: number, server = 'files', fault = 'answered_twice'): void => {
  for (let i = 0; i < times; i++) at.gate.recordServerFault(server, fault)
}

describe('faults of servers', () => {
  it('are told at once the first time, and then once a minute with their number', async () => {
    record(1)
    expect(await told()).toEqual(['files answered_twice 1'])
    record(5_000)
    expect(await told()).toHaveLength(1)
    time.advance(59)
    expect(await told()).toHaveLength(1)
    time.advance(1)
    expect(await told()).toEqual(['files answered_twice 1', 'files answered_twice 5000'])
    record(2)
    time.advance(60)
    expect((await told()).slice(2)).toEqual(['files answered_twice 2'])
    const [line] = await linesOf(at, 'SERVER_FAULT')
    expect(line).toMatchObject({ window_seconds: 60 })
    expect(line).not.toHaveProperty('sig')
  })

  it('are at once again after a quiet minute, and nothing waits then', async () => {
    const waiting = time.waiting()
    record(1)
    expect(time.waiting()).toBe(waiting + 1)
    time.advance(60)
    expect(time.waiting()).toBeLessThanOrEqual(waiting)
    record(1)
    expect(await told()).toEqual(['files answered_twice 1', 'files answered_twice 1'])
  })

  it('are counted by server and fault', async () => {
    record(2)
    record(2, 'mail')
    record(2, 'files', 'id_unknown')
    time.advance(60)
    expect((await told()).sort()).toEqual([
      'files answered_twice 1',
      'files answered_twice 1',
      'files id_unknown 1',
      'files id_unknown 1',
      'mail answered_twice 1',
      'mail answered_twice 1',
    ])
  })

  it('that were counted and not told are told at the end, and none after it', async () => {
    const waiting = time.waiting()
    record(8)
    await at.gate.stop()
    expect(time.waiting()).toBeLessThanOrEqual(waiting)
    record(3)
    time.advance(120)
    expect(await told()).toEqual(['files answered_twice 1', 'files answered_twice 7'])
  })

  it('whose line cannot be written are told with the next, and the operator is told now', async () => {
    const { journal } = at.gate.parts
    const reports: string[] = []
    let full = true
    const faults = createFaults({
      timer: time.timer,
      report: ({ event }) => reports.push(event),
      journal: {
        ...journal,
        append: (entries) =>
          full ? Promise.reject(new Error('disk full')) : journal.append(entries),
      },
    })
    faults.record('files', 'id_unknown')
    faults.record('files', 'id_unknown')
    await new Promise((resolve) => setImmediate(resolve))
    expect(reports).toEqual(['server_fault_unrecorded'])
    full = false
    time.advance(60)
    expect(await told()).toEqual(['files id_unknown 2'])
    await faults.stop()
  })
})

describe('what servers ask of clients', () => {
  const ask = (method: string, passed = true, server = 'files') =>
    at.gate.recordServerAsk({ server, method, agent: 'support-bot', passed })

  it('is a line each, durable when it resolves', async () => {
    expect(await ask('sampling/createMessage', false)).toBe(true)
    expect(await ask('roots/list')).toBe(true)
    expect(await linesOf(at, 'SERVER_ASKED')).toMatchObject([
      { server: 'files', method: 'sampling/createMessage', agent: 'support-bot', passed: false },
      { server: 'files', method: 'roots/list', agent: 'support-bot', passed: true },
    ])
  })

  it.each(['', 'x'.repeat(129), 'a secret of anna', 'line\nbreak', 'é'])(
    'does not write %j into the journal as if it were a method',
    async (method) => {
      expect(await ask(method, false)).toBe(true)
      expect(await linesOf(at, 'SERVER_ASKED')).toMatchObject([{ method: 'unnamed' }])
    },
  )

  it('is not recorded beyond a number in a minute, and must not pass then; a fault says so', async () => {
    const answers = await Promise.all(Array.from({ length: 700 }, () => ask('roots/list')))
    expect(answers.filter((recorded) => recorded)).toHaveLength(600)
    expect(await ask('roots/list', true, 'mail')).toBe(true)
    expect(await linesOf(at, 'SERVER_ASKED')).toHaveLength(601)
    expect(await told()).toEqual(['files asks_too_often 1'])
    time.advance(60)
    expect(await ask('roots/list')).toBe(true)
  })
})
