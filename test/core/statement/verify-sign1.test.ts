import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Cbor, CborKey } from '../../../src/core/bytes/cbor.js'
import { encodeCbor } from '../../../src/core/bytes/cbor-encode.js'
import { nobleCrypto } from '../../../src/core/crypto/noble.js'
import type { PublicKeyRecord } from '../../../src/core/statement/keys.js'
import { decodeSign1, encodeSign1, sigStructure } from '../../../src/core/statement/sign1.js'
import { verifySign1 } from '../../../src/core/statement/verify-sign1.js'
import { sampleCose, testKey } from './sample.js'

const key = testKey()
const keys = [key.record]
const payload = new TextEncoder().encode('{"a":1}')

type Header = [CborKey, Cbor][]
function made(header: Header, unprotected: Header = [], signer = key.sign): Uint8Array {
  const protectedBytes = encodeCbor(new Map(header))
  const signature = signer(sigStructure(protectedBytes, payload))
  return encodeSign1({ protectedBytes, unprotected: new Map(unprotected), payload, signature })
}
const code = (cose: Uint8Array, ring: readonly PublicKeyRecord[] = keys): string | null =>
  verifySign1(cose, { keys: ring, crypto: nodeCrypto }).code

describe('verifySign1', () => {
  it('accepts what was sealed, in both engines, and names key, kid and alg', () => {
    for (const crypto of [nodeCrypto, nobleCrypto]) {
      const result = verifySign1(sampleCose(key), { keys, crypto })
      expect(result).toMatchObject({ ok: true, code: null, kid: key.record.kid, alg: -8 })
      expect(result.key).toBe(key.record)
    }
  })

  it.each<[string, Uint8Array, string | null]>([
    ['no alg', made([[4, key.kid]]), 'alg_unsupported'],
    ['alg only in the unprotected header', made([[4, key.kid]], [[1, -8]]), 'alg_unsupported'],
    [
      'alg as text',
      made([
        [1, 'EdDSA'],
        [4, key.kid],
      ]),
      'alg_unsupported',
    ],
    [
      'alg ES384',
      made([
        [1, -35],
        [4, key.kid],
      ]),
      'alg_unsupported',
    ],
    [
      'alg HMAC',
      made([
        [1, 5],
        [4, key.kid],
      ]),
      'alg_unsupported',
    ],
    [
      'alg of the other curve',
      made([
        [1, -7],
        [4, key.kid],
      ]),
      'alg_mismatch',
    ],
    [
      'the fully specified number of the same algorithm',
      made([
        [1, -19],
        [4, key.kid],
      ]),
      null,
    ],
    ['no kid', made([[1, -8]]), 'kid_missing'],
    [
      'an empty kid',
      made([
        [1, -8],
        [4, new Uint8Array()],
      ]),
      'kid_missing',
    ],
    [
      'a kid of text',
      made([
        [1, -8],
        [4, key.record.kid],
      ]),
      'kid_missing',
    ],
    ['kid only in the unprotected header', made([[1, -8]], [[4, key.kid]]), 'kid_missing'],
    [
      'an unknown kid',
      made([
        [1, -8],
        [4, new Uint8Array(32)],
      ]),
      'kid_unknown',
    ],
    [
      'a kid that is a prefix of ours',
      made([
        [1, -8],
        [4, key.kid.subarray(0, 31)],
      ]),
      'kid_unknown',
    ],
    [
      'crit',
      made([
        [1, -8],
        [2, [4]],
        [4, key.kid],
      ]),
      'crit',
    ],
    [
      'an empty crit',
      made([
        [1, -8],
        [2, []],
        [4, key.kid],
      ]),
      'crit',
    ],
    [
      'crit in the unprotected header',
      made(
        [
          [1, -8],
          [4, key.kid],
        ],
        [[2, [4]]],
      ),
      'crit',
    ],
    [
      'junk in the unprotected header',
      made(
        [
          [1, -8],
          [4, key.kid],
        ],
        [
          [394, [payload]],
          ['x', 1],
        ],
      ),
      null,
    ],
    [
      'another signer under our kid',
      made(
        [
          [1, -8],
          [4, key.kid],
        ],
        [],
        testKey().sign,
      ),
      'signature_invalid',
    ],
    [
      'an empty signature',
      made(
        [
          [1, -8],
          [4, key.kid],
        ],
        [],
        () => new Uint8Array(),
      ),
      'signature_invalid',
    ],
  ])('on %s says %s', (_, cose, expected) => {
    expect(code(cose)).toBe(expected)
  })

  it('never lets a key of another purpose speak, whichever purpose is asked for', () => {
    for (const purpose of ['event', 'webhook', 'log'] as const) {
      const other = testKey(purpose)
      expect(code(sampleCose(other), [other.record])).toBe('key_purpose')
      const asked = verifySign1(sampleCose(other), {
        keys: [other.record],
        crypto: nodeCrypto,
        purpose,
      })
      expect(asked.ok).toBe(true)
      expect(verifySign1(sampleCose(key), { keys, crypto: nodeCrypto, purpose }).code).toBe(
        'key_purpose',
      )
    }
  })

  it('does not try a second key: the right key under a wrong kid does not help', () => {
    const stranger = testKey()
    const swapped = [
      { ...key.record, kid: stranger.record.kid },
      { ...stranger.record, kid: key.record.kid },
    ]
    expect(code(sampleCose(key), swapped)).toBe('signature_invalid')
    expect(code(sampleCose(key), [key.record, { ...stranger.record, kid: key.record.kid }])).toBe(
      'kid_unknown',
    )
  })

  it('still verifies under a retired key, whose public half stays', () => {
    expect(code(sampleCose(key), [{ ...key.record, status: 'retired' }])).toBe(null)
  })

  it('says invalid, and does not throw, for a record whose key is no key', () => {
    for (const public_key of ['', 'zz', '00', '00'.repeat(32), 'ff'.repeat(32)]) {
      expect(code(sampleCose(key), [{ ...key.record, public_key }])).toBe('signature_invalid')
    }
  })

  it('takes a pinned key without a kid, under the same rules', () => {
    const bare = made([[1, -8]])
    const pinned = (record: PublicKeyRecord): string | null =>
      verifySign1(bare, { keys: [], crypto: nodeCrypto, pinned: record }).code
    expect(pinned(key.record)).toBe(null)
    expect(pinned({ ...key.record, alg: -7 })).toBe('alg_mismatch')
    expect(pinned({ ...key.record, purpose: 'log' })).toBe('key_purpose')
    expect(pinned(testKey().record)).toBe('signature_invalid')
  })

  it('verifies ES256 under −7 and −9 with the raw signature, both engines', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(26)
    const record: PublicKeyRecord = {
      kid: '11',
      alg: -7,
      public_key: point.toString('hex'),
      purpose: 'statement',
      status: 'active',
    }
    const signer = (message: Uint8Array): Uint8Array =>
      sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    for (const crypto of [nodeCrypto, nobleCrypto]) {
      for (const alg of [-7, -9]) {
        const cose = made(
          [
            [1, alg],
            [4, new Uint8Array([0x11])],
          ],
          [],
          signer,
        )
        expect(verifySign1(cose, { keys: [record], crypto }).ok).toBe(true)
      }
      const confused = made(
        [
          [1, -8],
          [4, new Uint8Array([0x11])],
        ],
        [],
        signer,
      )
      expect(verifySign1(confused, { keys: [record], crypto }).code).toBe('alg_mismatch')
    }
  })

  it('finds every one-byte change outside the unprotected header', () => {
    const cose = sampleCose(key)
    const read = decodeSign1(cose)
    if (!read.ok) throw new Error(read.detail)
    const unprotectedAt = cose.indexOf(0xa0, read.sign1.protectedBytes.length + 4)
    fc.assert(
      fc.property(fc.nat(cose.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = new Uint8Array(cose)
        changed[at] = (changed[at] as number) ^ change
        if (at !== unprotectedAt) expect(code(changed)).not.toBe(null)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a kid of any length', () => {
  it('is looked up and refused, however long', () => {
    for (const length of [1, 1023, 1024, 1025, 500_000]) {
      const kid = new Uint8Array(length).fill(0xab)
      const result = verifySign1(
        made([
          [1, -8],
          [4, kid],
        ]),
        { keys, crypto: nodeCrypto },
      )
      expect(result.code).toBe('kid_unknown')
      expect(result.kid).toBe('ab'.repeat(length))
      expect(result.detail?.length).toBeLessThan(100)
    }
  })
})
