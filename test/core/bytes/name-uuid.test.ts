import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { nameUuid } from '../../../src/core/bytes/name-uuid.js'
import { nobleCrypto } from '../../../src/core/crypto/noble.js'

const DNS = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'

describe('a name-based UUID', () => {
  it('is the one of RFC 9562 appendix B.2', () => {
    expect(nameUuid(DNS, 'www.example.com', nodeCrypto)).toBe(
      '5c146b14-3c52-8afd-938a-375d0df1fbf6',
    )
  })

  it('has version 8 and the variant of RFC 9562, and is the same under both engines', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        const id = nameUuid(DNS, name, nodeCrypto)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(nameUuid(DNS, name, nobleCrypto)).toBe(id)
      }),
    )
  })
})
