import { describe, expect, it } from '@jest/globals'
import { ed25519 } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { parseKeyring, thumbprint } from '../../../src/core/statement/keys.js'
import { nonCanonicalKeys, smallOrderKeys, T8 } from './edge-signatures.js'
import { testKey } from './sample.js'

const base = testKey().record
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const ring = (...keys: unknown[]): string => JSON.stringify({ keys })
const refusal = (text: string): string => {
  const read = parseKeyring(text)
  return read.ok ? 'accepted' : `${read.path} ${read.detail}`
}

describe('thumbprint', () => {
  it('is SHA-256 of the required COSE_Key members (RFC 9679 §3), deterministic', () => {
    const x = new Uint8Array(32).fill(0xab)
    const okp = nodeCrypto.sha256(
      Buffer.concat([Buffer.from('a3010120062158 20'.replace(' ', ''), 'hex'), x]),
    )
    expect(hex(thumbprint('ed25519', x, nodeCrypto))).toBe(hex(okp))
  })

  it("gives the RFC's own P-256 example", () => {
    const x = '65eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d'
    const y = '1e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c'
    const point = new Uint8Array(Buffer.from(`04${x}${y}`, 'hex'))
    expect(hex(thumbprint('p256', point, nodeCrypto))).toBe(
      '496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec',
    )
  })
})

describe('parseKeyring', () => {
  it('accepts a full record and keeps every member', () => {
    const full = {
      ...base,
      epoch: 2,
      status: 'retired',
      issuers: ['support-bot'],
      valid_from: '2026-01-01T00:00:00Z',
      valid_to: '2026-06-01T00:00:00.123Z',
    }
    expect(parseKeyring(ring(full, testKey('log').record))).toMatchObject({
      ok: true,
      keys: [full, {}],
    })
  })

  it.each<[string, string, RegExp]>([
    ['no JSON', '{', /^\$ JSON syntax/],
    ['a duplicate name', '{"keys":[],"keys":[]}', /duplicate_name/],
    ['an array', '[]', /^\$ is no object/],
    ['no keys', '{}', /^\$\.keys is no array/],
    ['a stranger at the top', '{"keys":[],"key":1}', /^\$\.key is no known member/],
    ['a misspelt issuers', ring({ ...base, issuer: ['x'] }), /\.issuer is no known member/],
    ['an upper-case kid', ring({ ...base, kid: 'AA' }), /\.kid is no lowercase hex/],
    ['an empty kid', ring({ ...base, kid: '' }), /\.kid is no lowercase hex/],
    ['an unknown alg', ring({ ...base, alg: -35 }), /\.alg -35 is none of/],
    ['a float alg', ring(base).replace('-8', '-8.0'), /\.alg is no integer/],
    ['a text alg', ring({ ...base, alg: 'EdDSA' }), /\.alg is no integer/],
    ['an Ed25519 key as P-256', ring({ ...base, alg: -7 }), /no acceptable p256/],
    [
      'a P-256 point off the curve',
      ring({ ...base, alg: -7, public_key: `04${'01'.repeat(64)}` }),
      /p256/,
    ],
    ['a short key', ring({ ...base, public_key: 'ab' }), /no acceptable ed25519/],
    ['an unknown purpose', ring({ ...base, purpose: 'any' }), /\.purpose is none of/],
    ['no status', ring({ ...base, status: undefined }), /\.status is neither/],
    ['issuers as text', ring({ ...base, issuers: 'x' }), /\.issuers is no list/],
    ['no issuer at all in the list', ring({ ...base, issuers: [] }), /\.issuers is no list/],
    [
      'a local time',
      ring({ ...base, valid_from: '2026-01-01T00:00:00' }),
      /\.valid_from is no RFC 3339/,
    ],
    [
      'a month thirteen',
      ring({ ...base, valid_to: '2026-13-01T00:00:00Z' }),
      /\.valid_to is no RFC 3339/,
    ],
    [
      'one kid twice',
      ring(base, { ...testKey().record, kid: base.kid }),
      /keys\[1\]\.kid occurs twice/,
    ],
    [
      'one key for two purposes',
      ring(base, { ...base, kid: '00', purpose: 'log' }),
      /keys\[1\]\.public_key occurs twice/,
    ],
  ])('refuses %s', (_, text, expected) => {
    expect(refusal(text)).toMatch(expected)
  })

  it('refuses small-order, non-canonical and torsioned Ed25519 keys at load', () => {
    const mixed = ed25519.Point.BASE.add(T8).toBytes()
    for (const key of [...smallOrderKeys(), ...nonCanonicalKeys(), mixed]) {
      expect(refusal(ring({ ...base, public_key: hex(key) }))).toMatch(/no acceptable ed25519/)
    }
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.json(), fc.uint8Array(), (text, bytes) => {
        parseKeyring(text)
        parseKeyring(bytes)
        parseKeyring(`{"keys":[${text}]}`)
      }),
    )
  })
})
