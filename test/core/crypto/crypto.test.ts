import {
  createECDH,
  createPrivateKey,
  generateKeyPairSync,
  sign as nodeSign,
  verify,
} from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { p256 } from '@noble/curves/nist.js'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Crypto } from '../../../src/core/crypto/crypto.js'
import { nobleCrypto } from '../../../src/core/crypto/noble.js'
import { ed25519Edges, nonCanonicalKeys, smallOrderKeys } from '../statement/edge-signatures.js'

const ENGINES: readonly Crypto[] = [nodeCrypto, nobleCrypto]
const edges = ed25519Edges()
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const bigEndian = (value: bigint): Uint8Array =>
  new Uint8Array(Buffer.from(value.toString(16).padStart(64, '0'), 'hex'))
const N = p256.Point.Fn.ORDER
const FIELD = p256.Point.Fp.ORDER

describe.each(ENGINES)('engine $name', (crypto) => {
  it.each(edges)('Ed25519: $name → $valid', ({ publicKey, message, signature, valid }) => {
    expect(crypto.verifyEd25519(publicKey, message, signature)).toBe(valid)
    // Again, from the cache.
    expect(crypto.verifyEd25519(publicKey, message, signature)).toBe(valid)
  })

  it('hashes like the standard says', () => {
    expect(Buffer.from(crypto.sha256(bytes('abc'))).toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })

  it('reads a view into a larger buffer as the view, not the buffer', () => {
    const [honest] = edges
    if (honest === undefined) throw new Error('no vectors')
    const shifted = (part: Uint8Array): Uint8Array => {
      const room = new Uint8Array(part.length + 7).fill(9)
      room.set(part, 3)
      return room.subarray(3, 3 + part.length)
    }
    const { publicKey, message, signature } = honest
    expect(crypto.verifyEd25519(shifted(publicKey), shifted(message), shifted(signature))).toBe(
      true,
    )
  })

  it('answers right for more keys than it remembers', () => {
    const keys = Array.from({ length: 300 }, () => generateKeyPairSync('ed25519'))
    const message = bytes('many keys')
    const sample = crypto === nodeCrypto ? keys : keys.slice(0, 70)
    for (const round of [0, 1]) {
      for (const { publicKey, privateKey } of sample) {
        const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(12)
        if (crypto === nodeCrypto || round === 0) {
          expect(crypto.verifyEd25519(raw, message, nodeSign(null, message, privateKey))).toBe(true)
        }
      }
    }
  })
})

describe('the two engines on ES256', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const point = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(26))
  const message = bytes('es256')
  const honest = new Uint8Array(
    nodeSign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
  )
  const r = honest.subarray(0, 32)
  const s = BigInt(`0x${Buffer.from(honest.subarray(32)).toString('hex')}`)
  const rs = (a: Uint8Array, b: bigint): Uint8Array => new Uint8Array([...a, ...bigEndian(b)])
  const compressed = p256.Point.fromBytes(point).toBytes(true)
  const overField = new Uint8Array([4, ...bigEndian(FIELD), ...point.subarray(33)])
  const hybrid = new Uint8Array([6 + ((point[64] as number) & 1), ...point.subarray(1)])
  const offCurve = new Uint8Array(point)
  offCurve[64] = (offCurve[64] as number) ^ 1

  it.each<[string, Uint8Array, Uint8Array, boolean]>([
    ['an honest signature', point, honest, true],
    ['its other S (high or low)', point, rs(r, N - s), true],
    ['S = 0', point, rs(r, 0n), false],
    ['S = n', point, rs(r, N), false],
    ['S + n, where it fits', point, s + N < 1n << 256n ? rs(r, s + N) : rs(r, N), false],
    ['r = 0', point, rs(new Uint8Array(32), s), false],
    ['r = n', point, rs(bigEndian(N), s), false],
    ['a truncated signature', point, honest.subarray(0, 63), false],
    ['the DER form', point, new Uint8Array(nodeSign('sha256', message, privateKey)), false],
    ['the compressed point', compressed, honest, false],
    ['the hybrid point', hybrid, honest, false],
    ['a point off the curve', offCurve, honest, false],
    ['a coordinate beyond the field', overField, honest, false],
    ['the point at infinity', new Uint8Array([0]), honest, false],
    ['sixty-five zeros', new Uint8Array(65), honest, false],
  ])('%s', (_, key, signature, valid) => {
    for (const crypto of ENGINES) expect(crypto.verifyES256(key, message, signature)).toBe(valid)
  })

  it('accept every genuine OpenSSL signature, high S or low', () => {
    for (let i = 0; i < 30; i++) {
      const text = bytes(`message ${i}`)
      const made = nodeSign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' })
      for (const crypto of ENGINES) expect(crypto.verifyES256(point, text, made)).toBe(true)
    }
  })

  it('agree on a fresh ECDH-made key too', () => {
    const ecdh = createECDH('prime256v1')
    ecdh.generateKeys()
    const own = new Uint8Array(ecdh.getPublicKey())
    for (const crypto of ENGINES) expect(crypto.verifyES256(own, message, honest)).toBe(false)
  })
})

describe('agreement', () => {
  it('on random keys, signatures and messages, and on one flipped bit of an honest one', () => {
    const seed = createPrivateKey({
      key: Buffer.concat([
        Buffer.from('302e020100300506032b657004220420', 'hex'),
        Buffer.alloc(32, 7),
      ]),
      format: 'der',
      type: 'pkcs8',
    })
    const own = edges[0]
    if (own === undefined) throw new Error('no vectors')
    const byte = fc.uint8Array({ minLength: 0, maxLength: 40 })
    fc.assert(
      fc.property(byte, fc.nat(95), fc.nat(7), (message, at, bit) => {
        const flipped = new Uint8Array([...own.publicKey, ...own.signature])
        flipped[at] = (flipped[at] as number) ^ (1 << bit)
        const key = flipped.subarray(0, 32)
        const signature = flipped.subarray(32)
        const foreign = nodeSign(null, message, seed)
        for (const [text, sig] of [
          [own.message, signature],
          [message, foreign],
        ] as const) {
          expect(nodeCrypto.verifyEd25519(key, text, sig)).toBe(
            nobleCrypto.verifyEd25519(key, text, sig),
          )
        }
      }),
      { numRuns: 60 },
    )
  })

  it('is needed: bare OpenSSL takes one signature for every message under the identity key', () => {
    const identity = smallOrderKeys()[0] as Uint8Array
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), identity])
    const key = { key: spki, format: 'der', type: 'spki' } as const
    const signature = new Uint8Array([...identity, ...new Uint8Array(32)])
    expect(verify(null, bytes('anything'), key, signature)).toBe(true)
    expect(nodeCrypto.verifyEd25519(identity, bytes('anything'), signature)).toBe(false)
    expect(nonCanonicalKeys().length).toBeGreaterThan(0)
  })
})
