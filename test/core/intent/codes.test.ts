import { describe, expect, it } from '@jest/globals'
import { CODES, isRegistered, OWN, REGISTERED } from '../../../src/core/intent/codes.js'

const answered = (answer: 'REJECT' | 'DENY'): readonly string[] =>
  Object.entries(CODES)
    .filter(([, meant]) => meant.answer === answer)
    .map(([code]) => code)

describe('codes', () => {
  it('are those of §6.2 and the mission mismatch as DENY', () => {
    expect(answered('DENY')).toEqual([
      'POLICY_DENY',
      'MANDATE_SCOPE',
      'SO_STATE_INVALID',
      'HEM_PENDING',
      'MANDATE_REVOKED',
      'CROSS_PRINCIPAL_UNRESOLVED',
      'MISSION_INVALID',
      'IDP_MISSION_REF_MISMATCH',
    ])
  })

  it('are those of §5.2 a to f, §7 and our own as REJECT', () => {
    expect(answered('REJECT')).toEqual([
      'IDP_MISSING',
      'IDP_MALFORMED',
      'IDP_DUPLICATE',
      'IDP_SO_MISMATCH',
      'IDP_MANDATE_MISMATCH',
      'IDP_THIN_NOT_ACCEPTED',
      'MANDATE_MISSING',
      'MANDATE_INVALID',
      'IDP_SESSION_MISMATCH',
    ])
  })

  it('are registered by the seed, or ours', () => {
    expect(Object.keys(REGISTERED).every(isRegistered)).toBe(true)
    expect(Object.keys(OWN).some(isRegistered)).toBe(false)
    expect(isRegistered('toString')).toBe(false)
  })
})
