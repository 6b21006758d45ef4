import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { brokenBound, readBounds } from '../../../src/core/approval/bounds.js'
import {
  DEFAULT_HITL,
  deadlineAt,
  expiryOf,
  meets,
  rolesAt,
} from '../../../src/core/approval/deadline.js'
import { type ApprovalDocument, approvalDocument } from '../../../src/core/approval/document.js'
import { firstDifference } from '../../../src/core/call/difference.js'
import { jsonDigest, normalize } from '../../../src/core/json/build.js'
import type { Plain } from '../../../src/core/json/value.js'
import type { ToolRule } from '../../../src/core/manifest/model.js'
import type { Args } from '../../../src/core/manifest/route/read-result.js'
import { manifestOf, PAYMENTS } from '../../support/manifests.js'

const rule = manifestOf(PAYMENTS).rules[0] as ToolRule
const ARGS: Args = new Map([
  ['order', { type: 'string', value: 'o-1' }],
  ['amount', { type: 'decimal', value: '150' }],
  ['n', { type: 'integer', value: 9007199254740993n }],
  ['tags', { type: 'strings', value: [] }],
])
const document = (over: Partial<Parameters<typeof approvalDocument>[0]> = {}): ApprovalDocument =>
  approvalDocument({
    approval_id: 'a',
    operator: 'acme',
    agent: 'bot',
    developer: 'bot@1',
    tool: 'create_refund',
    args: ARGS,
    request: {
      method: 'POST',
      upstream: 'default',
      target: '/v1/refunds',
      headers: [],
      octets: { alg: 'sha-256', digest: '0'.repeat(64), length: 2 },
      body: '{"order":"o-1","amount":150,"extra":{"a/b":[1,2]}}',
    },
    routed_by: { kind: 'policy', ids: ['large'], reason: null },
    irreversibility: 'one_way_terminal',
    requested_at: '2026-03-01T12:00:00.000Z',
    hitl: DEFAULT_HITL,
    request_digest: '1'.repeat(64),
    policy_digest: '2'.repeat(64),
    manifest_digest: '3'.repeat(64),
    salt: 'ab',
    ...over,
  })
const digestOf = (of: ApprovalDocument): string => jsonDigest(of as unknown as Plain, nodeCrypto)

describe('the document', () => {
  it('states arguments exactly, the deadline and its consequence, and what cannot be undone', () => {
    expect(document()).toMatchObject({
      document: 'gate.approval/v1',
      arguments: {
        n: { type: 'integer', value: '9007199254740993' },
        tags: { type: 'strings', value: { count: 0 } },
      },
      irreversibility: { words: 'cannot be undone and cannot be made good' },
      deadline: { at: '2026-03-01T13:00:00.000Z', on_expiry: 'timeout' },
      quorum: 1,
      roles: ['approver'],
    })
  })

  it('has another digest for any other request, asker, rule or deadline', () => {
    const others = [
      document({ args: new Map([...ARGS, ['amount', { type: 'decimal', value: '151' }]]) }),
      document({ args: new Map([...ARGS].filter(([name]) => name !== 'tags')) }),
      document({ agent: 'bot2' }),
      document({ tool: 'create_refund2' }),
      document({ policy_digest: '4'.repeat(64) }),
      document({ hitl: { ...DEFAULT_HITL, ttl_seconds: 60 } }),
      document({ hitl: { ...DEFAULT_HITL, quorum: 2 } }),
      document({ salt: 'ac' }),
    ]
    const digests = new Set([document(), ...others].map(digestOf))
    expect(digests.size).toBe(others.length + 1)
  })
})

describe('the first difference', () => {
  const sent = (over: object): ApprovalDocument => {
    const of = document()
    return { ...of, request: { ...of.request, ...over } }
  }
  it.each([
    [
      'an argument',
      document({ args: new Map([['order', { type: 'string', value: 'o-2' }]]) }),
      '/arguments/amount',
    ],
    [
      'a body member no rule reads',
      sent({ body: '{"order":"o-1","amount":150,"extra":{"a/b":[1,3]}}' }),
      '/body/extra/a~1b/1',
    ],
    [
      'a body member more',
      sent({ body: '{"order":"o-1","amount":150,"extra":{"a/b":[1,2]},"x":null}' }),
      '/body/x',
    ],
    [
      'another spelling of a number',
      sent({ body: '{"order":"o-1","amount":150.0,"extra":{"a/b":[1,2]}}' }),
      '/body/amount',
    ],
    ['the target', sent({ target: '/v2/refunds' }), '/request/target'],
    ['nothing', document(), ''],
  ])('%s', (_, other, pointer) => {
    expect(firstDifference(document(), other)).toBe(pointer)
    // As the evidence store gives it out: without its null and empty members.
    expect(firstDifference(normalize(document()), other)).toBe(pointer)
  })
})

describe('the ladder', () => {
  const hitl = {
    ...DEFAULT_HITL,
    ladder: [
      { roles: ['lead'], after_seconds: 10 },
      { roles: [], after_seconds: 20 },
    ],
  }
  it('gives each rung its time, and the rule’s own to the last', () => {
    expect([0, 1, 2].map((rung) => deadlineAt(hitl, rung))).toEqual([
      { ttl_seconds: 10, on_expiry: 'escalated' },
      { ttl_seconds: 20, on_expiry: 'escalated' },
      { ttl_seconds: 3600, on_expiry: 'timeout' },
    ])
    expect([0, 1, 2].map((rung) => rolesAt(hitl, rung))).toEqual([
      ['approver'],
      ['lead'],
      ['approver'],
    ])
  })

  it('counts from the timestamp given', () => {
    expect(expiryOf('2026-12-31T23:59:59.999Z', { ttl_seconds: 1 })).toBe(
      '2027-01-01T00:00:00.999Z',
    )
  })

  it('orders assurance', () => {
    expect([meets('L1', 'L2'), meets('L2', 'L2'), meets('L3', 'L2')]).toEqual([false, true, true])
  })
})

describe('bounds', () => {
  const facts = { args: ARGS, body: null, agent: 'bot', operator: 'acme', tool: 'create_refund' }
  const broken = (bounds: Record<string, Plain>): string | null => {
    const read = readBounds(bounds, rule)
    if (!read.ok) throw new Error(read.problems.join())
    return brokenBound(read.constraints, facts, '2026-03-01T12:00:00.000Z', nodeCrypto)
  }
  it('hold, or name the first that does not; what cannot be judged does not hold', () => {
    expect(broken({ low: { amount: { lte: '150' } } })).toBeNull()
    expect(broken({ low: { amount: { lte: '149.99' } } })).toBe('low')
    expect(broken({ ok: { order: { in: ['o-1'] } }, eur: { currency: { in: ['EUR'] } } })).toBe(
      'eur',
    )
  })
  it.each([
    [{ 'Bad Name': { amount: { lte: '1' } } }],
    [{ x: { nothing: { lte: '1' } } }],
    [{ x: { amount: { lte: 1.5 } } }],
    [{ x: {} }],
    [{ x: null as Plain, y: 'no' }],
    [{ x: { sum: { of: 'amount', max: '1', window: '1h' } } }],
  ])('are refused when they are not constraints on this tool: %j', (bounds) => {
    expect(readBounds(bounds as Record<string, Plain>, rule).ok).toBe(false)
  })
})
