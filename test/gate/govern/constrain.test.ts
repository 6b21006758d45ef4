import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { allRecords, constrain, withReadings } from '../../../src/gate/govern/constrain.js'
import { type Rig, rig } from '../../support/rig.js'
import { constrained, intended, matched, post } from './stages.js'

const MANIFEST = `id: com.acme.orders
tools:
  order:
    match: POST /v1/orders
    args: {amount: decimal, note: string}
    constraints:
      asked: {amount: {lte: "50"}, on_fail: hitl}
      cap: {amount: {lte: "100"}}
      warned: {note: {in: [a, b]}, on_fail: warn}
      noted: {note: {in: [a, b, c]}}
      per_hour: {count: {max: 2, window: 1h}}
`
const id = (name: string): string => `com.acme.orders.${name}`
const order = (amount: string, note = 'a') => post('/v1/orders', { amount, note })

let at: Rig
let parts: Parts
beforeAll(async () => {
  at = await rig({
    manifest: MANIFEST,
    policies: '@id("p") permit (principal == Agent::"support-bot", action, resource);',
  })
  parts = at.gate.parts
})
afterAll(() => at.close())
const observing = (): Parts => {
  const world = { ...parts.world(), mode: 'observe' } as const
  return { ...parts, world: () => world }
}

describe('constrain', () => {
  it('records each predicate with evidence of its own, and leaves windows to `reserve`', async () => {
    const passed = await constrained(order('10'), parts)
    expect(passed.records.map((record) => [record.id, record.result])).toEqual([
      [id('asked'), 'pass'],
      [id('cap'), 'pass'],
      [id('warned'), 'pass'],
      [id('noted'), 'pass'],
    ])
    expect(passed.evidence.map(({ digest }) => digest)).toEqual(
      passed.records.map(({ evidence_digest }) => evidence_digest),
    )
    expect(passed.claims).toMatchObject([{ constraint: id('per_hour'), advisory: false, max: '2' }])
    expect(passed.asking).toEqual([])
  })

  it('has another salt in every part', async () => {
    const { evidence } = await constrained(order('10'), parts)
    const salts = evidence.map(({ value }) => Object(value).salt)
    expect(new Set(salts).size).toBe(4)
    for (const salt of salts) expect(salt).toMatch(/^[0-9a-f]{32}$/)
  })

  it('asks where a failure asks, and blocks nothing where it only warns', async () => {
    const asking = await constrained(order('60', 'c'), parts)
    expect(asking.asking).toEqual([id('asked')])
    expect(asking.records).toMatchObject([
      { result: 'fail', blocking: false },
      { result: 'pass' },
      { id: id('warned'), result: 'fail', blocking: false },
      { result: 'pass' },
    ])
  })

  it('names the first failure that blocks, and still judges those behind it', async () => {
    const left = constrain(await intended(order('200', 'z'), parts), parts)
    if (!('exit' in left)) throw new Error('it passed')
    expect(left.code).toBe('constraint_failed')
    expect(left.reason).toMatchObject({ constraint: id('cap') })
    expect(left.known.records).toMatchObject([
      { id: id('asked'), result: 'fail', blocking: false },
      { id: id('cap'), result: 'fail', blocking: true },
      { id: id('warned'), result: 'fail', blocking: false },
      { id: id('noted'), result: 'fail', blocking: true },
    ])
  })

  it('blocks nothing in observe mode, and takes windows as advice', async () => {
    const passed = await constrained(order('200', 'z'), observing())
    expect(passed.records.filter(({ blocking }) => blocking)).toEqual([])
    expect(passed.records.map(({ result }) => result)).toEqual(['fail', 'fail', 'fail', 'fail'])
    expect(passed.claims).toMatchObject([{ advisory: true }])
  })

  it('records in observe mode what the rule does not read, before everything else', async () => {
    const call = post('/v1/orders?as=admin', { amount: '1', note: 'a', who: 'x' })
    const { records, evidence } = await constrained(call, observing())
    expect(records[0]).toMatchObject({ id: 'dev.capsulegate.not_read', result: 'fail' })
    expect(evidence[0]?.value).toMatchObject({ query: ['as'], members: ['/who'] })
  })
})

describe('withReadings', () => {
  const full = [{ constraint: id('per_hour'), prior: '2', within: false }]

  it('judges a window by what it held before, and blocks where it refuses', async () => {
    const read = withReadings(await constrained(order('10'), parts), full, parts)
    expect(read.records.at(-1)).toMatchObject({
      id: id('per_hour'),
      result: 'fail',
      blocking: true,
    })
    expect(read.evidence.at(-1)?.digest).toBe(read.records.at(-1)?.evidence_digest)
  })

  it('replaces an earlier reading of the same window', async () => {
    const once = withReadings(await constrained(order('10'), parts), full, parts)
    const empty = [{ constraint: id('per_hour'), prior: '0', within: true }]
    const again = withReadings(once, empty, parts)
    expect(again.records).toHaveLength(5)
    expect(again.evidence).toHaveLength(5)
    expect(again.records.at(-1)).toMatchObject({ result: 'pass', blocking: false })
  })
})

describe('allRecords', () => {
  it('adds what was not reached as n/a, without evidence', async () => {
    const all = allRecords(await constrained(order('10'), parts))
    expect(all).toHaveLength(5)
    expect(all.at(-1)).toMatchObject({ id: id('per_hour'), result: 'n/a', blocking: false })
    expect(all.at(-1)).not.toHaveProperty('evidence_digest')
  })

  it('has none of a call that left before', async () => {
    expect(allRecords(await matched(order('10'), parts))).toEqual([])
  })
})
