import { createHmac, sign as edSign, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MAX_TRIES, nextTry, retryAfterMs } from '../../../src/adapters/webhook/retry.js'
import { parseSecrets, sign, whpk } from '../../../src/adapters/webhook/sign.js'

const failure = fc.record({
  tries: fc.integer({ min: 1, max: MAX_TRIES }),
  now: fc.integer({ min: 0, max: 2 ** 41 }),
  deadline: fc.option(fc.integer({ min: 0, max: 2 ** 42 })),
  retryAfter: fc.option(fc.integer({ min: 0, max: 2 ** 40 })),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})

describe('the next attempt', () => {
  it('is never early, never behind the deadline, and never after the last', () => {
    fc.assert(
      fc.property(failure, (failed) => {
        const next = nextTry(failed)
        if (typeof next === 'string') {
          if (next === 'exhausted') expect(failed.tries).toBe(MAX_TRIES)
          else expect(failed.deadline).not.toBeNull()
          return
        }
        expect(next - failed.now).toBeGreaterThanOrEqual(5000)
        if (failed.deadline !== null) expect(next).toBeLessThan(failed.deadline)
        expect(next - failed.now).toBeLessThanOrEqual(24 * 3_600_000 * 1.2 + 1)
      }),
    )
  })

  it('comes after what the receiver asked for, up to an hour', () => {
    fc.assert(
      fc.property(failure, (failed) => {
        const next = nextTry({ ...failed, deadline: null })
        if (typeof next === 'string') return
        const asked = Math.min(failed.retryAfter ?? 0, 3_600_000)
        expect(next - failed.now).toBeGreaterThanOrEqual(asked)
      }),
    )
  })

  it.each([
    ['120', 120_000],
    [' 5 ', 5_000],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['-1', null],
    ['1e9', null],
    ['soon', null],
    ['', null],
    [undefined, null],
  ])('reads Retry-After %j as %j', (value, ms) => {
    expect(retryAfterMs(value, Date.parse('2026-03-01T12:00:00Z'))).toBe(ms)
  })
})

describe('a signature', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signer = {
    kid: () => new Uint8Array(32),
    sign: (_: string, message: Uint8Array) => edSign(null, message, privateKey),
  }

  it('is HMAC-SHA256 over id, seconds and body, one per secret, then the own key', () => {
    const keys = [Buffer.alloc(24, 1), Buffer.alloc(64, 2)]
    const secrets = keys.map((key) => `whsec_${key.toString('base64')}`)
    const signed = sign({ id: 'msg_1', body: '{"a":1}', now: 1_700_000_000_999 }, secrets, signer)
    const message = 'msg_1.1700000000.{"a":1}'
    const v1 = keys.map((key) => `v1,${createHmac('sha256', key).update(message).digest('base64')}`)
    const v1a = `v1a,${edSign(null, Buffer.from(message), privateKey).toString('base64')}`
    expect(signed).toEqual({
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': [...v1, v1a].join(' '),
    })
  })

  it('without a shared secret is the own key alone', () => {
    const signed = sign({ id: 'msg_1', body: '{}', now: 0 }, [], signer)
    expect(signed['webhook-signature']).toMatch(/^v1a,\S+$/)
  })

  it('has its public key spelled whpk_', () => {
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(12)
    expect(whpk(raw.toString('hex'))).toBe(`whpk_${raw.toString('base64')}`)
  })

  it.each([
    '',
    'secret',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    `whsk_${Buffer.alloc(32).toString('base64')}`,
    `whsec_${Buffer.alloc(32).toString('base64')} nonsense`,
    `whsec_${Buffer.alloc(32).toString('base64').slice(0, -1)}`,
  ])('takes no %j for a secret', (text) => {
    expect(parseSecrets(text)).toBeNull()
  })
})
