import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { signEvent, verifyEvent } from '../../../src/core/journal/event.js'
import { readSeal, sealFault } from '../../../src/core/journal/seal.js'
import { eventKeys, KEYS } from '../../adapters/journal/harness.js'

const sign = (message: Uint8Array): Uint8Array => KEYS.signer.sign('event', message)
const kid = KEYS.signer.kid('event')
const HALT = { scope: { kind: 'all' }, by: 'ops' } as const
/** A halt with more members than this version writes: a later one may have them. */
const signed = (more: object) => {
  const entry = signEvent({
    origin: 'gate-1',
    type: 'HALT',
    members: { ...HALT, ...more },
    kid,
    sign,
  })
  return { v: 1, origin: 'gate-1', seq: 1, type: 'HALT', ...JSON.parse(entry.json) }
}

describe('a signed event', () => {
  const plain = fc.dictionary(
    fc.string({ unit: 'grapheme' }),
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null)),
  )

  it('verifies after a round through JSON, and not with any member changed, added or gone', () => {
    fc.assert(
      fc.property(plain, fc.string({ minLength: 1, unit: 'grapheme' }), (members, extra) => {
        const taken = [
          'v',
          'origin',
          'seq',
          'prev',
          'at',
          'type',
          'kid',
          'sig',
          '__proto__',
          'scope',
          'by',
        ]
        fc.pre(![...Object.keys(members), extra].some((name) => taken.includes(name)))
        const line = signed(members)
        expect(verifyEvent(line, KEYS.records, nodeCrypto)).toEqual({
          ok: true,
          kid: KEYS.records[0]?.kid,
        })
        const bad = { ok: false, code: 'signature_invalid' }
        const other = { ...line, [extra]: line[extra] === 'x' ? 'y' : 'x' }
        expect(verifyEvent(other, KEYS.records, nodeCrypto)).toEqual(bad)
        for (const name of Object.keys(members)) {
          const { [name]: _, ...without } = line
          expect(verifyEvent(without, KEYS.records, nodeCrypto)).toEqual(bad)
        }
      }),
      { numRuns: 50 },
    )
  })

  it.each([
    ['another origin', { origin: 'gate-2' }, 'signature_invalid'],
    ['another type', { type: 'RESUME' }, 'signature_invalid'],
    ['an unknown kid', { kid: '00' }, 'kid_unknown'],
    ['no signature', { sig: undefined }, 'unsigned'],
    ['a padded signature', { sig: 'AA==' }, 'malformed'],
    ['a number without a canonical form', { n: 0.5 }, 'malformed'],
  ])('is refused with %s', (_, change, code) => {
    const line = { ...signed({}), ...change }
    expect(verifyEvent(line, KEYS.records, nodeCrypto)).toEqual({ ok: false, code })
  })

  it('is refused under a key of another purpose, even with a good signature', () => {
    const records = KEYS.records.map((key) => ({ ...key, purpose: 'statement' as const }))
    const check = verifyEvent(signed({}), records, nodeCrypto)
    expect(check).toEqual({ ok: false, code: 'key_purpose' })
  })

  it('is refused under a key of another algorithm', () => {
    const records = KEYS.records.map((key) => ({ ...key, alg: -7 }))
    expect(verifyEvent(signed({}), records, nodeCrypto)).toEqual({
      ok: false,
      code: 'alg_mismatch',
    })
  })

  it.each(['seq', 'prev', 'origin', 'kid', 'sig'])('cannot carry a member named %s', (name) => {
    expect(() => signed({ [name]: 'x' })).toThrow(TypeError)
  })

  it('is not made of members that its reader would refuse', () => {
    expect(() => signed({ by: 7 })).toThrow('HALT: by is not a string')
    expect(() => signed({ scope: { kind: 'agent' } })).toThrow('HALT: scope.name is not a string')
  })
})

const AT = '2026-03-01T12:00:00.000Z'

describe('a seal of version 1', () => {
  const members = { segment: 1, size: 2, root: 'a'.repeat(64), head: 'b'.repeat(64) }
  const sealed = () => {
    const entry = signEvent({ origin: 'gate-1', type: 'SEGMENT_SEALED', members, kid, sign })
    const envelope = { v: 1, origin: 'gate-1', seq: 1, prev: 'c'.repeat(64), at: AT }
    return { ...envelope, type: entry.type, ...JSON.parse(entry.json) }
  }
  const read = (line: object, keys = KEYS.records) =>
    readSeal(JSON.stringify(line), 'gate-1', keys, nodeCrypto)

  it('is read with its place when the signature holds, and is no head', () => {
    const { head, ...seal } = members
    expect(read(sealed())).toEqual({
      ok: true,
      seal: { ...seal, hash: head },
      seq: 1,
      at: AT,
      head: null,
    })
  })

  it('is refused when it is another line, of another origin, malformed, changed or foreign', () => {
    const line = sealed()
    for (const [bad, why] of [
      [{ ...line, type: 'NOTE' }, 'NOTE'],
      [{ ...line, origin: 'gate-2' }, 'gate-2'],
      [{ ...line, size: 0 }, 'malformed'],
      [{ ...line, root: 'A'.repeat(64) }, 'malformed'],
      [{ ...line, size: 3 }, 'signature_invalid'],
    ] as const) {
      const check = read(bad)
      expect(check.ok ? '' : check.why).toContain(why)
    }
    expect(read(line, eventKeys().records)).toEqual({
      ok: false,
      why: 'seal signature: kid_unknown',
    })
  })

  it('is no seal of version 2, whatever its envelope says', () => {
    expect(read({ ...sealed(), v: 2 })).toMatchObject({ ok: false })
  })
})

describe('a seal', () => {
  const seal = { segment: 1, size: 2, root: 'a'.repeat(64), hash: 'b'.repeat(64) }

  it('names the first thing the lines do not give', () => {
    expect(sealFault(seal, seal)).toBeNull()
    expect(sealFault(seal, { ...seal, size: 3 })).toBe('seal says size 2, the lines give 3')
  })
})
