import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { base64url } from '../../../src/core/bytes/base64url.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import { declaredOf, intentOctets, MOST_INTENT_HEADER } from '../../../src/core/intent/carry.js'
import { MOST_INTENT_BYTES } from '../../../src/core/intent/model.js'
import { STANDARD } from './samples.js'

const TEXT = JSON.stringify(STANDARD)
const OCTETS = utf8(TEXT)
const HEADER = base64url(OCTETS)
const sequence = (bytes: Uint8Array): string => `:${Buffer.from(bytes).toString('base64')}:`

describe('the Agent-Intent header', () => {
  it('gives the octets back from either form, with and without padding', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
        expect(intentOctets(base64url(bytes))).toEqual({ value: bytes })
        expect(intentOctets(sequence(bytes))).toEqual({ value: bytes })
        expect(intentOctets(sequence(bytes).replaceAll('=', ''))).toEqual({ value: bytes })
      }),
    )
  })

  it.each([
    '',
    ':',
    '::',
    ':=:',
    ':==:',
    'e30=',
    ' e30',
    'e30 ',
    'e30,e30',
    'e3+_',
    'e3/A',
    'A',
    'AB',
    ':AB==:',
    ':e30=',
    'e30=:',
    ':e30==:',
    ':e30;a=1:',
    ':e30=:;a=1',
    ':e3_A:',
    ':e30=:,:e30=:',
    ':e3\n0=:',
    'e30\n',
    '{"idp_id":1}',
    'é'.repeat(4),
  ])('refuses %j', (header) => {
    expect(intentOctets(header)).toEqual({ fault: 'intent_encoding' })
  })

  it('may have 8192 characters, which are 6144 octets', () => {
    const most = new Uint8Array(MOST_INTENT_BYTES).fill(0x20)
    expect(base64url(most)).toHaveLength(MOST_INTENT_HEADER)
    expect(intentOctets(base64url(most))).toEqual({ value: most })
    expect(intentOctets(`${base64url(most)}A`)).toEqual({ fault: 'intent_too_long' })
    expect(intentOctets('*'.repeat(1e6))).toEqual({ fault: 'intent_too_long' })
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        expect(Object.keys(intentOctets(header))).toHaveLength(1)
      }),
    )
  })
})

describe('what a call brought', () => {
  it('is nothing where there is no carrier', () => {
    expect(declaredOf({ intents: [], mandates: [] })).toBeUndefined()
    expect(declaredOf({ intents: [], mandates: [], meta: {} })).toBeUndefined()
  })

  it('is the octets and the token, whichever carrier has them', () => {
    const both = { kind: 'carried', intent: OCTETS, mandate: 'a.b.c' }
    expect(declaredOf({ intents: [HEADER], mandates: ['a.b.c'] })).toEqual(both)
    expect(
      declaredOf({ intents: [], mandates: [], meta: { intent: TEXT, mandate: 'a.b.c' } }),
    ).toEqual(both)
    expect(declaredOf({ intents: [HEADER], mandates: [], meta: { mandate: 'a.b.c' } })).toEqual(
      both,
    )
    expect(
      declaredOf({
        intents: [sequence(OCTETS)],
        mandates: ['a.b.c'],
        meta: { intent: TEXT, mandate: 'a.b.c' },
      }),
    ).toEqual(both)
    expect(declaredOf({ intents: [HEADER], mandates: [] })).toEqual({ ...both, mandate: null })
    expect(declaredOf({ intents: [], mandates: ['a.b.c'] })).toEqual({ ...both, intent: null })
  })

  it.each([
    ['twice, though the same', [HEADER, HEADER], undefined, 'intent_repeated'],
    ['twice', [HEADER, 'e30'], TEXT, 'intent_repeated'],
    ['twice, once unreadable', ['*', HEADER], undefined, 'intent_repeated'],
    ['unreadable', ['*'], TEXT, 'intent_encoding'],
    ['too long', ['A'.repeat(8193)], TEXT, 'intent_too_long'],
    ['too long beside the header', [HEADER], `"${'a'.repeat(6143)}"`, 'intent_too_long'],
    ['too long in octets', [], `"${'é'.repeat(3072)}"`, 'intent_too_long'],
    ['in two carriers that differ', ['e30'], TEXT, 'intent_carriers_differ'],
    ['in two carriers that differ in one space', [HEADER], `${TEXT} `, 'intent_carriers_differ'],
    ['in two carriers, one of them empty', [HEADER], '', 'intent_carriers_differ'],
  ] as const)('is a fault where the intent is %s', (_, intents, intent, fault) => {
    const meta = intent === undefined ? {} : { intent }
    expect(declaredOf({ intents, mandates: ['a.b.c'], meta })).toEqual({
      kind: 'carried',
      intent: null,
      mandate: 'a.b.c',
      fault,
    })
  })

  it.each([
    ['twice, though the same', ['a.b.c', 'a.b.c'], undefined, 'mandate_repeated'],
    ['twice', ['a.b.c', 'd.e.f'], 'a.b.c', 'mandate_repeated'],
    ['in two carriers that differ', ['a.b.c'], 'A.b.c', 'mandate_carriers_differ'],
    ['in two carriers, one of them empty', [''], 'a.b.c', 'mandate_carriers_differ'],
    ['in two carriers, the other empty', ['a.b.c'], '', 'mandate_carriers_differ'],
  ] as const)('is a fault where the mandate is %s', (_, mandates, mandate, fault) => {
    const meta = mandate === undefined ? {} : { mandate }
    expect(declaredOf({ intents: [HEADER], mandates, meta })).toEqual({
      kind: 'carried',
      intent: OCTETS,
      mandate: null,
      fault,
    })
  })

  it('names the fault of the intent where both have one', () => {
    expect(declaredOf({ intents: ['*'], mandates: ['a', 'b'] })).toEqual({
      kind: 'carried',
      intent: null,
      mandate: null,
      fault: 'intent_encoding',
    })
  })
})
