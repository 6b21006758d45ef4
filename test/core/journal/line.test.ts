import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { utf8 } from '../../../src/core/bytes/text.js'
import {
  candidateIds,
  entryFault,
  formatLine,
  isOrigin,
  leafHash,
  namesId,
} from '../../../src/core/journal/line.js'

const envelope = {
  origin: 'gate-1',
  seq: 7,
  prev: 'a'.repeat(64),
  at: '2026-01-01T00:00:00.000Z',
  type: 'NOTE',
}
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest()

describe('a line', () => {
  it('puts the envelope first, in order, and the members behind it', () => {
    expect(formatLine(envelope, '{"b":1}')).toBe(
      `{"v":2,"origin":"gate-1","seq":7,"prev":"${'a'.repeat(64)}","at":"2026-01-01T00:00:00.000Z","type":"NOTE","b":1}`,
    )
    expect(JSON.parse(formatLine(envelope, '{}'))).toEqual({ v: 2, ...envelope })
  })

  it('gives back any members that are allowed in it, and they never touch the envelope', () => {
    const members = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(members, (value) => {
        const json = JSON.stringify(value)
        const fault = entryFault('NOTE', json)
        const collides = Object.keys(value).some((name) =>
          Object.hasOwn({ v: 1, ...envelope }, name),
        )
        expect(fault === null).toBe(!collides)
        if (fault !== null) return
        const line = JSON.parse(formatLine(envelope, json))
        expect(line).toEqual({ ...JSON.parse(json), v: 2, ...envelope })
      }),
    )
  })

  it.each(['{"a":1}x', ' {}', '{ }', '{"a":1', 'null', '"{}"', '{"a":"\n"}', '{"a":\r1}', '{}{}'])(
    'refuses %j as members',
    (json) => {
      expect(entryFault('NOTE', json)).not.toBeNull()
    },
  )

  it('refuses an envelope member however its name is escaped', () => {
    expect(entryFault('NOTE', '{"s\\u0065q":1}')).toBe('member seq belongs to the envelope')
  })

  it.each(['', 'a"b', 'a\\b', 'é', 'a b', '-a', 'x'.repeat(129)])('refuses origin %j', (origin) => {
    expect(isOrigin(origin)).toBe(false)
  })

  it('hashes as an RFC 6962 leaf', () => {
    const expected = createHash('sha256').update('\0{"v":1}').digest('hex')
    expect(leafHash(utf8('{"v":1}'), { sha256 })).toBe(expected)
  })
})

describe('ids of a line', () => {
  const found = (text: string): string[] => {
    const ids: string[] = []
    candidateIds(text, (id) => ids.push(id))
    return ids
  }

  it('are found whatever text stands around them', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.string(), fc.string(), (id, before, after) => {
        const text = JSON.stringify({ before, capsule: { action_id: id, after }, x: [after] })
        expect(found(text)).toContain(id)
      }),
    )
  })

  it('are never read out of a string value', () => {
    fc.assert(
      fc.property(fc.string(), (around) => {
        const text = JSON.stringify({ note: `${around}"action_id":"spoof","capsule_id":"spoof"` })
        expect(found(text)).toEqual([])
      }),
    )
  })

  it('make a line answer to its own action and capsule only', () => {
    const capsule = { action_id: 'a', capsule_id: 'c', chain: { parent_capsule_id: 'p' } }
    expect(namesId({ type: 'CAPSULE', capsule }, 'a')).toBe(true)
    expect(namesId({ type: 'CAPSULE', capsule }, 'c')).toBe(true)
    expect(namesId({ type: 'CAPSULE', capsule }, 'p')).toBe(false)
    expect(namesId({ type: 'CAPSULE', capsule: null }, 'a')).toBe(false)
    expect(namesId({ type: 'CAPSULE', settles: { action_id: 'a' } }, 'a')).toBe(false)
    expect(namesId({ type: 'ACTION_DISPATCHED', action_id: 'a' }, 'a')).toBe(true)
    expect(namesId({ type: 'NOTE', action_id: 'a' }, 'a')).toBe(false)
  })
})
