import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { publicLine } from '../../../src/mounts/admin/public-line.js'

const envelope = {
  v: 1,
  origin: 'gate-1',
  seq: 7,
  prev: '0'.repeat(64),
  at: '2026-01-01T00:00:00.000Z',
} as const

describe('public members of a line', () => {
  it('of a dispatch leave out amounts, the hash of the key and what is bound', () => {
    const line = {
      ...envelope,
      type: 'ACTION_DISPATCHED',
      action_id: 'a',
      agent: 'bot',
      tool: 'pay',
      key: 'f'.repeat(64),
      budgets: [{ amount: '931.17' }],
      grant: 'g',
      request_octets: { length: 41 },
    }
    expect(publicLine(line)).toEqual({
      ...envelope,
      type: 'ACTION_DISPATCHED',
      action_id: 'a',
      agent: 'bot',
      tool: 'pay',
    })
  })

  it('of a type nobody listed are its envelope, whatever it carries', () => {
    const types = fc.stringMatching(/^X[A-Z_]{1,20}$/)
    fc.assert(
      fc.property(types, fc.dictionary(fc.string(), fc.jsonValue()), (type, members) => {
        expect(publicLine({ ...members, ...envelope, type })).toEqual({ ...envelope, type })
      }),
    )
  })

  it.each(['constructor', '__proto__', 'toString'])('of a type named %s too', (type) => {
    expect(publicLine({ ...envelope, type, secret: 1 })).toEqual({ ...envelope, type })
  })
})
