import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { derive } from '../../../src/adapters/webhook/events.js'
import { bodyOf, deliveryId, MAX_BODY } from '../../../src/adapters/webhook/intake.js'
import type { WebhookEvent } from '../../../src/adapters/webhook/model.js'
import { apply, emptyState } from '../../../src/adapters/webhook/state.js'
import { denied, granted, journal, moved, next, opened, opening } from './harness.js'

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

/** All the events of these lines, derived as the outbox does. */
function events(...lines: readonly (readonly [string, object])[]): WebhookEvent[] {
  const log = journal()
  for (const [type, members] of lines) log.append(type, members)
  const state = emptyState(0, { approvals: new Map(), judges: null })
  return log.lines.flatMap((line) => {
    const derived = derive(line, state)
    apply(state, { t: 'line', seq: line.seq, change: derived.change, deliveries: [] })
    return derived.events
  })
}
const told = (found: readonly WebhookEvent[]) =>
  found.map(({ type, data }) => [type, data.outcome ?? data.was ?? data.mode ?? null])
const RECORD = {
  idp_id: 'idp-1',
  state_transition_id: 't-1',
  transition_digest: sha('transition'),
  verified_at: '2026-03-01T12:00:00.000Z',
  basis: 'written',
  kid: sha('key'),
  kernel_signature: 'c2ln',
}
const open = ['APPROVAL_OPENED', opened('a-1')] as const

describe('events of an approval', () => {
  it.each([
    ['approved', [['GRANT_ISSUED', granted('a-1')]], [['approval.decided', 'approved']]],
    [
      'approved and run: told once',
      [
        ['GRANT_ISSUED', granted('a-1')],
        ['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'executed' }, { effect: {} })],
      ],
      [['approval.decided', 'approved']],
    ],
    [
      'refused by a person',
      [['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'resolved', approver: 'human' })]],
      [['approval.decided', 'refused']],
    ],
    [
      'a session that a person lets go on',
      [
        [
          'CAPSULE',
          moved('a-1', opening('a-1'), {
            verdict_class: 'resolved',
            approver: 'human',
            decision: 'accept',
          }),
        ],
      ],
      [['approval.decided', 'resumed']],
    ],
    [
      'refused by a machine',
      [['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'resolved', authority: 'm' })]],
      [['approval.decided', 'refused']],
    ],
    [
      'withdrawn',
      [['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'resolved' })]],
      [['approval.decided', 'withdrawn']],
    ],
    [
      'timed out',
      [['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'timeout' })]],
      [['approval.expired', 'undecided']],
    ],
    [
      'approved and never used',
      [
        ['GRANT_ISSUED', granted('a-1')],
        ['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'timeout' })],
      ],
      [
        ['approval.decided', 'approved'],
        ['approval.expired', 'approved'],
      ],
    ],
    [
      'approved, sent and timed out upstream: no expiry of the approval',
      [
        ['GRANT_ISSUED', granted('a-1')],
        ['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'timeout' }, { effect: {} })],
      ],
      [['approval.decided', 'approved']],
    ],
    [
      'superseded under other rules',
      [['CAPSULE', moved('a-2', opening('a-1'), { verdict_class: 'hitl_dispatched' })]],
      [['approval.decided', 'superseded']],
    ],
    [
      'run under a standing grant before anybody decided',
      [['CAPSULE', moved('a-1', opening('a-1'), { verdict_class: 'executed' }, { effect: {} })]],
      [['approval.decided', 'closed']],
    ],
  ] as const)('%s', (_, lines, expected) => {
    expect(told(events(open, ...lines))).toEqual([['approval.requested', null], ...expected])
  })

  it('postponed and passed on, carry the new deadline, and stay open under the new capsule', () => {
    const expiry = { ttl_seconds: 60, on_expiry: 'escalated' }
    const found = events(
      open,
      [
        'CAPSULE',
        moved('a-1', opening('a-1'), { verdict_class: 'deferred', expiry_policy: expiry }),
      ],
      [
        'CAPSULE',
        moved(
          'a-1',
          next(opening('a-1')),
          { verdict_class: 'escalated' },
          { 'dev.capsulegate.deadline': { ttl_seconds: 120, on_expiry: 'timeout' } },
        ),
      ],
      ['APPROVAL_REMINDER', { approval_id: 'a-1', nth: 1 }],
    )
    expect(found.map(({ type, data }) => [type, data.deadline])).toEqual([
      ['approval.requested', { at: '2026-03-01T13:00:00.000Z', on_expiry: 'timeout' }],
      ['approval.decided', { at: '2026-03-01T12:11:00.000Z', on_expiry: 'escalated' }],
      ['approval.escalated', { at: '2026-03-01T12:12:00.000Z', on_expiry: 'timeout' }],
      ['approval.reminder', { at: '2026-03-01T12:12:00.000Z', on_expiry: 'timeout' }],
    ])
  })
})

describe('other events', () => {
  it('tell refusals by policy and by constraint, and nothing of the canary or of what ran', () => {
    const canary = denied('c')
    Object.assign((canary as { capsule: object }).capsule, { developer: 'dev.capsulegate.canary' })
    const found = events(
      ['CAPSULE', denied('x-1')],
      ['CAPSULE', denied('x-2', 'blocked')],
      ['CAPSULE', denied('x-3', 'executed')],
      ['CAPSULE', canary],
      ['HALT', { scope: { kind: 'all' } }],
    )
    expect(found.map(({ data }) => data.verdict)).toEqual(['denied', 'blocked'])
  })

  it('tell of a commitment gap with ids alone', () => {
    const gap = {
      action_id: 'a-1',
      session_id: 's'.repeat(300),
      record: { ...RECORD, match_result: 'IDP_COMMITMENT_GAP' },
    }
    const verified = { ...gap, record: { ...RECORD, match_result: 'MATCHED' } }
    const found = events(['IDP_COMMITMENT_VERIFIED', verified], ['IDP_COMMITMENT_GAP', gap])
    expect(found).toMatchObject([
      { type: 'alert.critical', approval: null, page: '/v1/actions/a-1' },
    ])
    expect(found[0]?.data).toEqual({
      severity: 'CRITICAL',
      trigger: 'IDP_COMMITMENT_GAP',
      action_id: 'a-1',
      session_id: `${'s'.repeat(255)}…`,
      idp_id: RECORD.idp_id,
      state_transition_id: RECORD.state_transition_id,
    })
  })

  it('tell a change of rules from a change of mode', () => {
    const judges = (policy_digest: string, mode: string, manifest = 'm') => [
      'CONFIG_CHANGED',
      { policy_digest: sha(policy_digest), manifest_digests: [sha(manifest)], mode },
    ]
    const found = events(
      judges('p1', 'enforce') as ['CONFIG_CHANGED', object],
      judges('p1', 'observe') as ['CONFIG_CHANGED', object],
      judges('p2', 'enforce') as ['CONFIG_CHANGED', object],
      judges('p2', 'enforce', 'n') as ['CONFIG_CHANGED', object],
    )
    expect(told(found)).toEqual([
      ['policy.changed', null],
      ['mode.changed', 'observe'],
      ['policy.changed', null],
      ['mode.changed', 'enforce'],
      ['policy.changed', null],
    ])
  })
})

describe('a payload', () => {
  it('stays below 20 kB whatever names hold, and its id follows from what it is about', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 50_000, size: 'max' })
    fc.assert(
      fc.property(name, name, (tool, agent) => {
        const [event] = events(['APPROVAL_OPENED', { ...opened('a-1'), tool, agent }])
        if (event === undefined) throw new Error('no event')
        expect(Buffer.byteLength(bodyOf(event, (id) => id))).toBeLessThan(MAX_BODY)
      }),
      { numRuns: 30 },
    )
    const id = deliveryId('gate-1', 7, 'approval.requested', 'chat')
    expect(id).toMatch(/^msg_[0-9a-f]{32}$/)
    expect(deliveryId('gate-1', 7, 'approval.requested', 'chat')).toBe(id)
    const others = [
      deliveryId('gate-2', 7, 'approval.requested', 'chat'),
      deliveryId('gate-1', 8, 'approval.requested', 'chat'),
      deliveryId('gate-1', 7, 'approval.decided', 'chat'),
      deliveryId('gate-1', 7, 'approval.requested', 'siem'),
    ]
    expect(new Set([id, ...others]).size).toBe(5)
  })
})
