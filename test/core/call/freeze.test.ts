import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import type { Agent } from '../../../src/core/call/agent.js'
import type { ReadCall } from '../../../src/core/call/call.js'
import { capturedHead, readCapturedHead } from '../../../src/core/call/capture.js'
import { digestRequest } from '../../../src/core/call/digest.js'
import { freeze, thaw } from '../../../src/core/call/freeze.js'
import { octetsOf } from '../../../src/core/call/parts.js'
import type { Committed, Declared } from '../../../src/core/intent/model.js'
import type { ToolRule } from '../../../src/core/manifest/model.js'
import { httpCall } from '../../support/manifests.js'
import { toolCall } from '../../support/mcp-call.js'
import { TENANT } from '../../support/tenant.js'
import { AGENT, JWT_AGENT, ruleOf, SAMPLES } from './samples.js'

const using = { crypto: nodeCrypto, tenant: TENANT }

describe('what was frozen thaws', () => {
  it.each(Object.entries(SAMPLES))('%s: the same request, digested the same', (_, sample) => {
    const { call, rule } = sample
    const thawed = thaw(freeze(call, rule, AGENT), 'the-approval')
    if (thawed === null) throw new Error('not read')
    expect(digestRequest(thawed.call, rule, using)).toEqual(digestRequest(call, rule, using))
    expect(octetsOf(thawed.call)).toEqual(octetsOf(call))
    expect(thawed.call).toMatchObject({ approvalId: 'the-approval', idempotencyKey: null })
    const { by: _by, ...renewable } = AGENT
    expect(thawed.agent).toEqual(renewable)
  })

  it('whatever its headers, its target and its agent say', () => {
    const rule = ruleOf('bound')
    const credential: fc.Arbitrary<NonNullable<Agent['by']>[number]> = fc.oneof(
      fc.record({ kind: fc.constantFrom('jwt' as const, 'mandate' as const), issuer: fc.string() }),
      fc.record({ kind: fc.constantFrom('asserted' as const, 'anonymous' as const) }),
    )
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('x-tenant', 'x-more', 'cookie'), fc.string())),
        fc.string(),
        fc.uint8Array(),
        fc.record({ agent: fc.string(), roles: fc.array(fc.string()), by: fc.array(credential) }),
        (headers, target, body, who) => {
          const agent = { kind: 'known', developer: 'd', ...who } as const
          const call = httpCall('POST', target, body, { headers })
          const thawed = thaw(freeze(call, rule, agent), 'a')
          expect(thawed?.agent).toEqual(agent)
          if (thawed === null) return
          expect(digestRequest(thawed.call, rule, using)).toEqual(digestRequest(call, rule, using))
        },
      ),
    )
  })
})

describe('what a call declares', () => {
  const uuid = '3f0e5c1a-9b1d-4c7e-8a52-0d6c1f2e3b4a'
  const committed: Committed = {
    intent: {
      idpId: uuid,
      sessionId: 'session-1',
      soId: uuid,
      mandateId: 'mandate-1',
      missionRef: null,
      step: 3,
      requestedAction: 'create_refund',
      profile: 'IDP_STANDARD',
      goal: { id: uuid, description: 'Refund a broken parcel' },
      reasoning: { type: 'INFERENCE', description: 'the parcel was broken' },
      confidence: '0.7999',
      hemUrgency: 'REQUIRED',
      contextRefs: [uuid],
      auditAccessible: false,
      timestamp: '2026-11-18T20:00:00Z',
      pii: [{ field: 'goal', marker: 'phone' }],
    },
    mandate: {
      id: 'mandate-1',
      issuer: 'https://issuer.test',
      agent: 'support-bot',
      sessionId: null,
      soId: uuid,
      soType: null,
      actions: ['create_refund'],
      permittedStates: null,
      missionRef: null,
      principal: 'Ada',
      delegation: [{ sub: 'a', depth: 1.5 }, null],
      expiresAt: '2026-11-18T21:00:00Z',
    },
    eventId: uuid,
    digest: 'ab'.repeat(32),
  }
  const kinds = [
    ['http', SAMPLES.bound],
    ['function', SAMPLES.function],
    ['mcp', { rule: ruleOf('function'), call: toolCall('echo', 'function', { order: 'x' }) }],
  ] as const
  const frozenAs = (call: ReadCall, rule: ToolRule, declared: Declared) =>
    freeze({ ...call, declared }, rule, AGENT)

  it.each(kinds)('stays with it once it is on record: %s', (_, { call, rule }) => {
    const frozen = frozenAs(call, rule, { kind: 'committed', ...committed })
    const thawed = thaw(frozen, 'a')
    expect(thawed?.call.declared).toEqual({ kind: 'committed', ...committed })
    expect(thawed?.call).not.toHaveProperty('committed')
    if (thawed === null) throw new Error('not read')
    expect(digestRequest(thawed.call, rule, using)).toEqual(digestRequest(call, rule, using))
  })

  it.each(kinds)('is left out while it was only carried, and the mandate with it: %s', (_, of) => {
    const declared = { kind: 'carried', intent: utf8('{"a":1}'), mandate: 'a.secret.jwt' } as const
    const frozen = frozenAs(of.call, of.rule, declared)
    expect(frozen).toEqual(freeze(of.call, of.rule, AGENT))
    expect(thaw(frozen, 'a')?.call).not.toHaveProperty('declared')
  })

  it('is read whole or the call is not', () => {
    const { call, rule } = SAMPLES.bound
    const frozen = frozenAs(call, rule, { kind: 'committed', ...committed })
    const head = JSON.parse(Buffer.from(frozen.head).toString())
    const from = (wrong: unknown) =>
      thaw({ ...frozen, head: utf8(JSON.stringify({ ...head, committed: wrong })) }, 'a')
    expect(from(head.committed)).not.toBeNull()
    for (const wrong of [null, 7, {}, { ...committed, digest: undefined }]) {
      expect(from(wrong)).toBeNull()
    }
    expect(from({ ...committed, intent: { ...committed.intent, step: 0 } })).toBeNull()
    expect(from({ ...committed, mandate: 'a.secret.jwt' })).toBeNull()
  })
})

describe('nothing thaws out of a head that was not written by freeze', () => {
  const frozen = freeze(SAMPLES.bound.call, ruleOf('bound'), JWT_AGENT)
  const head = (): { [name: string]: unknown } => JSON.parse(Buffer.from(frozen.head).toString())
  const from = (of: unknown) => thaw({ ...frozen, head: utf8(JSON.stringify(of)) }, 'a')

  it('reads its own', () => {
    expect(from(head())?.agent).toEqual(JWT_AGENT)
  })

  it.each(['kind', 'method', 'upstream', 'target', 'headers', 'tool', 'agent'])(
    'without %s, or with another type there',
    (name) => {
      for (const wrong of [undefined, 7, true, {}, [[]], 'mcp']) {
        if (wrong === 'mcp' && name !== 'kind' && name !== 'headers' && name !== 'agent') continue
        expect(from({ ...head(), [name]: wrong })).toBeNull()
      }
    },
  )

  it.each<[string, unknown]>([
    ['a header of three', { headers: [['a', 'b', 'c']] }],
    ['a header with a number', { headers: [['a', 1]] }],
    ['an unknown agent', { agent: { ...JWT_AGENT, kind: 'unknown' } }],
    ['roles that are no texts', { agent: { ...JWT_AGENT, roles: [1] } }],
    ['no roles', { agent: { ...JWT_AGENT, roles: undefined } }],
    ['no developer', { agent: { ...JWT_AGENT, developer: null } }],
    ['a credential of no kind', { agent: { ...JWT_AGENT, by: [{ issuer: 'x' }] } }],
    ['a token without its digest', { agent: { ...JWT_AGENT, by: [{ kind: 'token' }] } }],
    ['a certificate without subject', { agent: { ...JWT_AGENT, by: [{ kind: 'certificate' }] } }],
    ['a mandate without issuer', { agent: { ...JWT_AGENT, by: [{ kind: 'mandate' }] } }],
    ['an issuer that is no text', { agent: { ...JWT_AGENT, by: [{ kind: 'jwt', issuer: 1 }] } }],
  ])('%s', (_, wrong) => {
    expect(from({ ...head(), ...Object(wrong) })).toBeNull()
  })

  it('that is no JSON, no object, or a function without a tool', () => {
    expect(thaw({ ...frozen, head: utf8('{') }, 'a')).toBeNull()
    expect(from([])).toBeNull()
    expect(from({ kind: 'function', agent: AGENT })).toBeNull()
  })
})

describe('a captured head', () => {
  it('is read as it was written', () => {
    const said = capturedHead(SAMPLES.plain.call)
    expect(readCapturedHead(utf8(JSON.stringify(said)))).toEqual(said)
    expect(capturedHead(SAMPLES.function.call)).toBeNull()
  })

  it('is not read without method and target', () => {
    expect(readCapturedHead(utf8('{"method":"GET"}'))).toBeNull()
    expect(readCapturedHead(utf8('{"method":"GET","target":7}'))).toBeNull()
    expect(readCapturedHead(utf8('['))).toBeNull()
  })
})
