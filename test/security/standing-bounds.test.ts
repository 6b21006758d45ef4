import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Bounds } from '../../src/core/approval/bounds.js'
import { type Rig, rig } from '../support/rig.js'

const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal, n: integer, ok: boolean, tags: strings, note: {type: string, optional: true}}
`
let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: MANIFEST })
})
afterAll(() => at.close())

const issue = (bounds: Bounds) =>
  at.gate.issueStanding({
    agent: 'support-bot',
    tool: 'create_refund',
    bounds,
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
    uses: 1,
    by: 'olga',
  })

describe('a standing grant is refused when', () => {
  it.each<[string, Bounds]>([
    ['it has no bound', {}],
    ['exists on a required argument', { b: { amount: { exists: true } } }],
    ['matches anything', { b: { order: { matches: '.*' } } }],
    ['matches anything that is there', { b: { order: { matches: '(?s).+' } } }],
    ['a length from nothing', { b: { order: { length: { min: 0 } } } }],
    ['a length beyond any call', { b: { order: { length: { max: 10_000_000 } } } }],
    ['a list of any length', { b: { tags: { length: { min: 0 } } } }],
    ['a range beyond any integer', { b: { n: { range: { min: -9007199254740991 } } } }],
    ['an amount beyond any decimal', { b: { amount: { lte: '922337203685477.5807' } } }],
    ['in both booleans', { b: { ok: { in: [true, false] } } }],
    ['schema: true', { b: { order: { schema: true } } }],
    ['a schema of its own type', { b: { order: { schema: { type: 'string' } } } }],
    ['a schema of any body', { b: { $body: { schema: { type: 'object' } } } }],
    [
      'a schema of what is required anyway',
      {
        b: {
          $body: { schema: { type: 'object', required: ['amount'], properties: { amount: true } } },
        },
      },
    ],
    ['on_fail: warn', { b: { amount: { lte: '10' }, on_fail: 'warn' } }],
    ['if_present around nothing', { b: { note: { if_present: { length: { min: 0 } } } } }],
    [
      'any with one that bounds nothing',
      { b: { any: [{ amount: { lte: '10' } }, { order: { exists: true } }] } },
    ],
    ['any of everything', { b: { any: [{ amount: { lte: '10' } }, { amount: { gt: '10' } }] } }],
    ['all of nothing', { b: { all: [{ order: { exists: true } }, { order: { matches: '.*' } }] } }],
    ['not of what never holds', { b: { not: { order: { absent: true } } } }],
    ['its own agent', { b: { $agent: { equals: 'support-bot' } } }],
    ['one bound of two is none', { a: { amount: { lte: '10' } }, b: { order: { exists: true } } }],
    ['only the time is bounded', { b: { time: { from: '08:00', until: '18:00' } } }],
    [
      'time and nothing',
      { b: { all: [{ time: { from: '08:00', until: '18:00' } }, { order: { exists: true } }] } },
    ],
    [
      'not this time, and nothing',
      {
        b: {
          all: [{ not: { time: { from: '08:00', until: '18:00' } } }, { order: { exists: true } }],
        },
      },
    ],
  ])('%s', async (_, bounds) => {
    const told = await issue(bounds)
    expect(told).toMatchObject({ kind: 'refused' })
    const problems = told.kind === 'refused' ? told.problems.join('\n') : ''
    expect(problems).toMatch(/bounds nothing|at least one argument|on_fail: warn/)
  })

  it('a range or a set is empty: it cannot be read, or it bounds nothing', async () => {
    for (const bounds of [{ b: { n: { range: {} } } }, { b: { currency: { not_in: [] } } }]) {
      expect(await issue(bounds)).toMatchObject({ kind: 'refused' })
    }
  })

  it('the answer names the bound and the way out', async () => {
    const told = await issue({ wide: { order: { matches: '.*' } } })
    expect(told).toEqual({
      kind: 'refused',
      problems: [
        'wide: no call breaks it, so it bounds nothing; state a limit',
        'it bounds at least one argument',
      ],
    })
  })
})

describe('a standing grant is given when every bound can be broken', () => {
  it.each<[string, Bounds]>([
    ['a cap', { b: { amount: { lte: '200.00' } } }],
    [
      'a cap by currency',
      { b: { all: [{ amount: { lte: '200.00' } }, { currency: { in: ['EUR'] } }] } },
    ],
    ['one order', { b: { order: { equals: 'o-1' } } }],
    ['all but one', { b: { currency: { not_in: ['XXX'] } } }],
    ['a form', { b: { order: { matches: 'o-[0-9]+' } } }],
    ['not a form', { b: { not: { order: { matches: 'internal' } } } }],
    ['a range', { b: { n: { range: { min: 1, max: 10 } } } }],
    ['a boolean', { b: { ok: { equals: true } } }],
    ['few tags', { b: { tags: { length: { max: 10 } } } }],
    [
      'an optional argument, where it is there',
      { b: { note: { if_present: { length: { max: 140 } } } } },
    ],
    ['an optional argument that must be there', { b: { note: { exists: true } } }],
    ['either of two', { b: { any: [{ amount: { lte: '10' } }, { ok: { equals: true } }] } }],
    [
      'a member of the body',
      {
        b: {
          $body: {
            schema: { type: 'object', properties: { extra: { type: 'integer', maximum: 5 } } },
          },
        },
      },
    ],
    [
      'a closed body',
      {
        b: {
          $body: {
            schema: { type: 'object', additionalProperties: false, properties: { amount: true } },
          },
        },
      },
    ],
    [
      'a cap in office hours',
      { a: { amount: { lte: '10' } }, b: { time: { from: '08:00', until: '18:00' } } },
    ],
  ])('%s', async (_, bounds) => {
    expect(await issue(bounds)).toEqual({ kind: 'issued', grant: expect.any(String) })
  })
})
