import { describe, expect, it } from '@jest/globals'
import { encode as cborgEncode } from 'cborg'
import fc from 'fast-check'
import type { CborMap } from '../../../src/core/bytes/cbor.js'
import { encodeCbor } from '../../../src/core/bytes/cbor-encode.js'
import { decodeSign1, encodeSign1, sigStructure } from '../../../src/core/statement/sign1.js'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const from = (text: string): Uint8Array =>
  new Uint8Array(Buffer.from(text.replaceAll(' ', ''), 'hex'))
const detail = (text: string): string => {
  const read = decodeSign1(from(text))
  return read.ok ? 'accepted' : read.detail
}

describe('decodeSign1', () => {
  it.each([
    ['empty input', '', 'empty input'],
    ['an untagged message', '84 40 a0 40 40', 'not a tagged COSE_Sign1 (CBOR tag 18)'],
    ['tag 18 in two bytes', 'd812 84 40 a0 40 40', 'not a tagged COSE_Sign1 (CBOR tag 18)'],
    ['COSE_Sign', 'd862 84 40 a0 40 80', 'not a tagged COSE_Sign1 (CBOR tag 18)'],
    ['tag 18 twice', 'd2 d2 84 40 a0 40 40', 'CBOR tag at byte 1'],
    ['three members', 'd2 83 40 a0 40', 'not an array of four'],
    ['five members', 'd2 85 40 a0 40 40 40', 'not an array of four'],
    ['a map', 'd2 a0', 'not an array of four'],
    ['protected as a map', 'd2 84 a0 a0 40 40', 'protected header is no byte string'],
    ['unprotected as bytes', 'd2 84 40 40 40 40', 'unprotected header is no map'],
    ['a detached payload', 'd2 84 40 a0 f6 40', 'detached payload'],
    ['a text payload', 'd2 84 40 a0 60 40', 'payload is no byte string'],
    ['a text signature', 'd2 84 40 a0 40 60', 'signature is no byte string'],
    ['bytes after it', 'd2 84 40 a0 40 40 00', 'CBOR trailing at byte 6'],
    ['a protected array', 'd2 84 41 80 a0 40 40', 'protected header is no map'],
    [
      'bytes after the protected map',
      'd2 84 42 a000 a0 40 40',
      'protected header: CBOR trailing at byte 1',
    ],
    [
      'alg twice in protected',
      'd2 84 45 a201270126 a0 40 40',
      'protected header: CBOR duplicate_key at byte 3',
    ],
    ['alg twice in unprotected', 'd2 84 40 a201270126 40 40', 'CBOR duplicate_key at byte 6'],
    ['alg in both headers', 'd2 84 43 a10127 a10126 40 40', 'label 1 is protected and unprotected'],
    ['a date outside the claims', 'd2 84 44 a106c100 a0 40 40', 'protected header: tag in label 6'],
    ['a date in the unprotected header', 'd2 84 40 a10fa106c100 40 40', 'CBOR tag at byte 7'],
    [
      'a date deep outside the claims',
      'd2 84 47 a10981a101c100 a0 40 40',
      'protected header: tag in label 9',
    ],
  ])('refuses %s', (_, text, expected) => {
    expect(detail(text)).toBe(expected)
  })

  it('accepts a date inside the claims, an empty protected header and a0 for it', () => {
    expect(detail('d2 84 46 a10fa106c100 a0 40 40')).toBe('accepted')
    expect(detail('d2 84 40 a0 40 40')).toBe('accepted')
    expect(detail('d2 84 41 a0 a0 40 40')).toBe('accepted')
  })
})

const blob = fc.uint8Array({ maxLength: 400 })

describe('encodeSign1 and sigStructure', () => {
  it('agree with cborg byte for byte, and decode to what was given', () => {
    fc.assert(
      fc.property(blob, blob, fc.integer({ min: 5, max: 999 }), (payload, signature, label) => {
        const header: CborMap = new Map([[label, 'x']])
        const protectedBytes = encodeCbor(header)
        const unprotected: CborMap = new Map()
        const cose = encodeSign1({ protectedBytes, unprotected, payload, signature })
        expect(hex(cose)).toBe(
          `d2${hex(cborgEncode([protectedBytes, unprotected, payload, signature]))}`,
        )
        expect(hex(sigStructure(protectedBytes, payload))).toBe(
          hex(cborgEncode(['Signature1', protectedBytes, new Uint8Array(), payload])),
        )
        expect(decodeSign1(cose)).toEqual({
          ok: true,
          sign1: { protectedBytes, protected: header, unprotected, payload, signature },
        })
      }),
      { numRuns: 200 },
    )
  })

  it('never throw on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        decodeSign1(bytes)
        decodeSign1(new Uint8Array([0xd2, 0x84, ...bytes]))
      }),
      { numRuns: 2000 },
    )
  })
})
