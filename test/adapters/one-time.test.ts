import { describe, expect, it } from '@jest/globals'
import { oneTimeEncryption } from '../../src/adapters/one-time.js'
import { utf8 } from '../../src/core/bytes/text.js'

describe('encryption under a key of its own', () => {
  it('never gives a key twice, and no later key changes an earlier one', () => {
    const made = Array.from({ length: 700 }, (_, i) => {
      const octets = utf8(`declaration ${i}`)
      return { octets, ...oneTimeEncryption.encrypt(octets, `context ${i}`) }
    })
    expect(new Set(made.map(({ key }) => Buffer.from(key).toString('hex'))).size).toBe(made.length)
    for (const [i, { octets, key, text }] of made.entries()) {
      const decrypted = oneTimeEncryption.decrypt(text, key, `context ${i}`)
      expect(decrypted === null ? null : [...decrypted]).toEqual([...octets])
      expect(oneTimeEncryption.decrypt(text, key, `context ${i + 1}`)).toBeNull()
    }
  })
})
