import { createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { tenantKeys } from '../../../src/app/tenant/keys.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { TENANT_USES, type TenantUse } from '../../../src/core/tenant-uses.js'

const SECRET = Buffer.alloc(32, 7)
const keys = tenantKeys(SECRET)
const keyOf = (use: TenantUse): Buffer =>
  Buffer.from(hkdfSync('sha256', SECRET, '', `capsule-gate/tenant/v1/${use}`, 32))

/** Every use that gives a digest, as a function of text. */
const DIGESTS: Partial<Record<TenantUse, (text: string) => string>> = {
  voter: keys.voter,
  subject: keys.subjectTag,
  principal: keys.principal,
  reason: keys.reasonSalt,
  'call-identity': keys.callIdentity,
  source: keys.sourceHash,
  'pass-through': keys.passThroughSalt,
  'request-octets': (text) => keys.requestOctets(Buffer.from(text)),
  request: keys.requestSalt,
  'response-octets': (text) => {
    const digest = keys.responseOctets()
    digest.update(Buffer.from(text))
    return digest.digest()
  },
  'budget-scope': keys.budgetScope,
}
const SEALINGS: Partial<Record<TenantUse, typeof keys.amounts>> = {
  amounts: keys.amounts,
  bounds: keys.bounds,
  snapshot: keys.snapshot,
}
const text = fc.string({ unit: 'grapheme', maxLength: 200, size: 'max' })

describe('one key per use', () => {
  it('covers every use of the table', () => {
    expect(Object.keys({ ...DIGESTS, ...SEALINGS }).sort()).toEqual(Object.keys(TENANT_USES).sort())
  })

  it.each(Object.entries(DIGESTS))('%s is HMAC-SHA256 under its own HKDF key', (use, digest) => {
    fc.assert(
      fc.property(text, (said) => {
        const expected = createHmac('sha256', keyOf(use as TenantUse))
          .update(said)
          .digest('hex')
        expect(digest(said)).toBe(expected)
      }),
    )
  })

  it('gives the same text another digest for each use, for another tenant, and for none the secret', () => {
    const said = Object.values(DIGESTS).map((digest) => digest('alice'))
    const bare = createHmac('sha256', hex(SECRET)).update('alice').digest('hex')
    const other = tenantKeys(Buffer.alloc(32, 8)).voter('alice')
    const plain = hex(nodeCrypto.sha256(Buffer.from('alice')))
    expect(new Set([...said, bare, other, plain]).size).toBe(said.length + 3)
    expect(keys.voter('alice')).not.toBe(keys.voter('Alice'))
  })

  it('holds no secret that could be read off it', () => {
    const told = JSON.stringify(keys, (_, value) =>
      typeof value === 'function' ? String(value) : value,
    )
    expect(told).not.toContain(hex(SECRET))
    const members = Object.values(keys).flatMap((value) =>
      typeof value === 'function' ? [value] : Object.values(value),
    )
    expect(members.every((member) => typeof member === 'function')).toBe(true)
  })
})

describe('a voter', () => {
  it('is known by the pseudonym of now and of before one key per use, and no other', () => {
    const older = createHmac('sha256', hex(SECRET)).update('alice').digest('hex')
    expect(keys.older.voter('alice')).toBe(older)
    for (const pseudonym of [keys.voter('alice'), older]) {
      expect(keys.isVoter(pseudonym, 'alice')).toBe(true)
      expect(keys.isVoter(pseudonym, 'bob')).toBe(false)
    }
    expect(keys.isVoter(keys.subjectTag('alice'), 'alice')).toBe(false)
  })
})

describe('sealing', () => {
  const { amounts, bounds } = keys

  it('opens where it was sealed, for any text and place', () => {
    fc.assert(
      fc.property(text, text, (said, place) => {
        expect(amounts.decrypt(amounts.encrypt(said, place), place)).toBe(said.trimEnd())
      }),
    )
  })

  it('opens nowhere else: another place, another use, another tenant', () => {
    const sealed = amounts.encrypt('100.00', 'here')
    expect(amounts.decrypt(sealed, 'there')).toBeNull()
    expect(bounds.decrypt(sealed, 'here')).toBeNull()
    expect(tenantKeys(Buffer.alloc(32, 8)).amounts.decrypt(sealed, 'here')).toBeNull()
  })

  it('opens with no octet changed, cut or added, and never throws', () => {
    const sealed = Buffer.from(amounts.encrypt('100.00', 'here'), 'base64url')
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] as number) ^ 1
      expect(amounts.decrypt(changed.toString('base64url'), 'here')).toBeNull()
      expect(amounts.decrypt(sealed.subarray(0, at).toString('base64url'), 'here')).toBeNull()
    }
    const longer = Buffer.concat([sealed, Buffer.alloc(1)]).toString('base64url')
    for (const garbage of [longer, '', 'A', '%', '\u0000'.repeat(40)]) {
      expect(amounts.decrypt(garbage, 'here')).toBeNull()
    }
  })

  it('tells neither how long an amount is nor that two are equal', () => {
    const sealed = ['1', '1', '999999999999.99'].map((amount) => amounts.encrypt(amount, 'here'))
    expect(new Set(sealed).size).toBe(3)
    expect(new Set(sealed.map(({ length }) => length)).size).toBe(1)
  })

  it('never uses a nonce twice', () => {
    const nonces = Array.from({ length: 3000 }, () => amounts.encrypt('1', 'here').slice(0, 16))
    expect(new Set(nonces).size).toBe(nonces.length)
  })
})
