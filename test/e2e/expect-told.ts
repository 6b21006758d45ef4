import { expect } from '@jest/globals'
import { type Code, TABLE } from '../../src/core/verdict/table.js'
import type { Told } from './verdict-table.js'

/** What the caller was told is what the table says. */
export function expectTold(code: Code, told: Told | null, capsuleId: string | undefined): void {
  if (told === null) return
  const { status, effect } = TABLE[code]
  if (status === 'upstream') {
    expect(told.problem).toBeNull()
    return
  }
  expect(told.status).toBe(status)
  expect(told.problem).toHaveProperty('idp_received')
  expect(told.problem).toMatchObject({
    code,
    capsule_id: capsuleId,
    dispatched: effect !== 'none',
    ...DENIAL,
    ...(effect === 'none' ? { timestamp: expect.any(String) } : {}),
  })
}

/** What every refusal has, wherever its protocol has a place for it (seed intent-declaration-primitive-01 §6.1). */
const DENIAL = {
  result: expect.stringMatching(/^(?:REJECT|DENY|SESSION_HEM_PENDING|ERROR)$/),
  deny_code: expect.stringMatching(/^(?:[A-Z_]+|urn:capsule-gate:error:[a-z_]+)$/),
  deny_reason: expect.any(String),
  available_actions: expect.any(Array),
  hem_available: expect.any(Boolean),
}
