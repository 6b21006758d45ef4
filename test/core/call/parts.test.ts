import { describe, expect, it } from '@jest/globals'
import type { Call } from '../../../src/core/call/call.js'
import { routeCall, withDeclared } from '../../../src/core/call/parts.js'
import type { Declared } from '../../../src/core/intent/model.js'
import { toolCall } from '../../support/mcp-call.js'
import { SAMPLES } from './samples.js'

const declared: Declared = { kind: 'carried', intent: new Uint8Array([1]), mandate: 'm' }
const body = { kind: 'read', bytes: new Uint8Array() } as const

describe('a call that its rule routes', () => {
  const calls: readonly Call[] = [SAMPLES.plain.call, SAMPLES.function.call, toolCall('s', 't')]
  it.each(calls.map((call) => [call.kind, call] as const))('%s declares what it did', (_, call) => {
    expect(routeCall({ ...call, declared }, body, 'up').declared).toBe(declared)
    expect(routeCall(call, body, 'up')).not.toHaveProperty('declared')
    expect(withDeclared(call, undefined)).toBe(call)
  })
})
