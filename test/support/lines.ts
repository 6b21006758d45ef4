import { createHash } from 'node:crypto'
import {
  isLineType,
  isSignedType,
  type JournalLine,
  type Line,
  type LineType,
  type MembersOf,
  readLine,
} from '../../src/core/journal/vocabulary.js'
import type { JournalEntry } from '../../src/ports/journal.js'

/** Lines as tests write them: what a test does not say is filled in, so that each is whole. */
const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

type Loose = { readonly [name: string]: unknown }
type Sample = { readonly [T in LineType]: MembersOf<T> }

const AT = '2026-03-01T12:00:00.000Z'
const octets = { alg: 'sha-256', digest: sha(''), length: 0 } as const

const CAPSULE: MembersOf<'CAPSULE'>['capsule'] = {
  spec_version: 'draft-mih-scitt-agent-action-capsule-01',
  format_version: '2',
  capsule_id: sha('capsule'),
  action_id: 'a-1',
  action_type: 'decide',
  operator: 'acme',
  developer: 'bot@1',
  timestamp: AT,
  assurance: {
    attestation_mode: 'self_attested',
    effect_mode: 'not_applicable',
    ledger_mode: 'standalone',
  },
  disposition: {
    decision: 'reject',
    approver: 'policy',
    human_disposed: false,
    verdict_class: 'denied',
  },
}

/** The smallest whole line of every type. */
const HEAD = { upto: 1, hash: sha('line'), time: AT, lines: 1, capsules: 0 }

const STEP = {
  event_id: 'e-1',
  action_id: 'a-1',
  idp_id: 'i-1',
  session_id: 's-1',
  so_id: 'o-1',
  step_sequence: 1,
}
const MOVED = { cedar_action: 'create_refund', from_state: null, to_state: null }
const VERIFIED = {
  idp_id: 'i-1',
  state_transition_id: 'e-2',
  transition_digest: sha('transition'),
  verified_at: AT,
  basis: 'written' as const,
  kid: sha('kid'),
  kernel_signature: 'AA',
}

export const SMALLEST: Sample = {
  ACTION_DISPATCHED: {
    action_id: 'a-1',
    decision_id: 'a-1',
    operator: 'acme',
    agent: 'bot',
    developer: 'bot@1',
    tool: 'create_refund',
    request_digest: sha('request'),
    request_octets: octets,
    effect_type: 'com.acme.refund',
    irreversibility_class: 'one_way_consequential',
    manifest_digest: sha('manifest'),
    policy_digest: sha('policies'),
    mode: 'enforce',
    constraints: [],
  },
  CAPSULE: { statement: 'agent_action', capsule: CAPSULE, protected: 'AA', signature: 'AA' },
  SESSION_OPENED: { session_id: 's-1', agent: 'bot' },
  SESSION_CLOSED: { session_id: 's-1', reason: 'idle' },
  SESSION_AUDITED: { session_id: 's-1', whole: true, audit_digest: sha('audit') },
  SESSION_RESUMED: { session_id: 's-1', approval_id: 'a-1' },
  MANDATE_PRESENTED: {
    mandate_id: 'm-1',
    session_id: 's-1',
    agent: 'bot',
    so_id: 'o-1',
    depth: 0,
    expires_at: AT,
    evidence_digest: sha('evidence'),
  },
  MANDATE_REVOKED: { mandate_id: 'm-1', actor: sha('actor'), evidence_digest: sha('evidence') },
  MISSION_SET: {
    mission_ref: 'mission-1',
    phase: 'SUSPENDED',
    actor: sha('actor'),
    evidence_digest: sha('evidence'),
  },
  OBJECT_SET: {
    so_id: 'o-1',
    state: 'created',
    actor: sha('actor'),
    evidence_digest: sha('evidence'),
  },
  IDP_SUBMITTED: {
    ...STEP,
    mandate_id: 'm-1',
    agent: 'bot',
    tool: 'create_refund',
    requested_action: 'create_refund',
    profile: 'IDP_STANDARD',
    audit_accessible: true,
    timestamp: AT,
    received_at: AT,
    intent_digest: sha('intent'),
    intent: 'AA',
    evidence_digest: sha('evidence'),
  },
  IDP_MISSION_REF_MISMATCH_REJECTED: {
    ...STEP,
    mandate_id: 'm-1',
    expected_mission_ref: 'mission-1',
    submitted_mission_ref: null,
  },
  CEDAR_DENY_RECORDED: { ...STEP, cedar_action: 'create_refund', deny_code: 'POLICY_DENY' },
  STATE_TRANSITIONED: { ...STEP, ...MOVED },
  ACTION_RESULT_RECORDED: { ...STEP, ...MOVED, result: 'failed' },
  IDP_COMMITMENT_VERIFIED: {
    action_id: 'a-1',
    session_id: 's-1',
    record: { ...VERIFIED, match_result: 'MATCHED' },
  },
  IDP_COMMITMENT_GAP: {
    action_id: 'a-1',
    session_id: 's-1',
    record: { ...VERIFIED, match_result: 'IDP_COMMITMENT_GAP' },
  },
  REPLAYED: { action_id: 'a-1', capsule_id: sha('capsule'), by: 'a-2' },
  REFUSALS_DROPPED: { source_hash: sha('source'), count: 3, window_seconds: 60 },
  APPROVAL_OPENED: {
    approval_id: 'a-1',
    capsule_id: sha('capsule'),
    agent: 'bot',
    operator: 'acme',
    developer: 'bot@1',
    tool: 'create_refund',
    request_digest: sha('request'),
    policy_digest: sha('policies'),
    manifest_digest: sha('manifest'),
    document_digest: sha('document'),
    opened_at: AT,
    expires_at: '2026-03-01T13:00:00.000Z',
    on_expiry: 'timeout',
    ttl_seconds: 3600,
    quorum: 1,
    roles: ['approver'],
    min_assurance: 'L1',
    on_approval: 'retry',
    ladder: [],
    reminders: [],
  },
  APPROVAL_JOINED: { approval_id: 'a-1', capsule_id: sha('capsule'), by: 'a-2' },
  APPROVAL_VOTED: {
    approval_id: 'a-1',
    on: sha('capsule'),
    voter: sha('voter'),
    by: 'person',
    outcome: 'approve',
    document_digest: sha('document'),
    evidence_digest: sha('evidence'),
  },
  APPROVAL_REMINDER: { approval_id: 'a-1', on: sha('capsule'), nth: 1, expires_at: AT },
  DECISION_LOST: {
    approval_id: 'a-1',
    on: sha('capsule'),
    voter: sha('voter'),
    outcome: 'deny',
    first: 'approved',
  },
  REFUSAL_REPEATED: { approval_id: 'a-1', capsule_id: sha('capsule'), by: 'a-2' },
  REFUSAL_LIFTED: {
    approval_id: 'a-1',
    on: sha('capsule'),
    voter: sha('voter'),
    evidence_digest: sha('evidence'),
  },
  ITEM_CLOSED: {
    on: sha('capsule'),
    voter: sha('voter'),
    assurance: 'L1',
    evidence_digest: sha('evidence'),
  },
  GRANT_ISSUED: {
    grant: 'a-1',
    agent: 'bot',
    request_digest: sha('request'),
    policy_digest: sha('policies'),
    manifest_digest: sha('manifest'),
    expires_at: AT,
    uses: 1,
  },
  GRANT_REVOKED: { grant: 'a-1', voter: sha('voter') },
  HALT: { scope: { kind: 'all' }, actor: sha('operator'), evidence_digest: sha('evidence') },
  RESUME: { scope: { kind: 'all' }, actor: sha('operator'), evidence_digest: sha('evidence') },
  CONFIG_CHANGED: { policy_digest: sha('policies'), manifest_digests: [], mode: 'enforce' },
  EVIDENCE_ERASING: {
    operator: 'acme',
    day: '2026-03-01',
    actor: sha('operator'),
    evidence_digest: sha('evidence'),
  },
  EVIDENCE_ERASED: {
    operator: 'acme',
    day: '2026-03-01',
    actor: sha('operator'),
    evidence_digest: sha('evidence'),
    records: 1,
  },
  HEAD,
  SEGMENT_SEALED: { segment: 1, size: 1, root: sha('root'), ...HEAD, counts: { HALT: 1 } },
  ADOPTED: {
    upto: 1,
    hash: sha('adopted'),
    lines: 1,
    capsules: 0,
    unsigned: [1],
    orphans: ['a-1'],
  },
  TOOLS_PINNED: { server: 'files', tools: [{ tool: 'write', definition: sha('definition') }] },
  TOOL_CHANGED: {
    server: 'files',
    tool: 'write',
    pinned: sha('definition'),
    seen: sha('another definition'),
  },
  TOOL_ACCEPTED: {
    server: 'files',
    tool: 'write',
    definition: sha('another definition'),
    actor: sha('operator'),
    evidence_digest: sha('evidence'),
  },
  SERVER_ASKED: { server: 'files', method: 'roots/list', agent: 'bot', passed: true },
  SERVER_FAULT: { server: 'files', fault: 'answer_unasked', count: 1, window_seconds: 60 },
  WEBHOOK_DISABLED: { endpoint: 'ops' },
  WEBHOOK_ENABLED: { endpoint: 'ops' },
  WEBHOOK_DEAD: {
    endpoint: 'ops',
    webhook_id: 'w-1',
    event: 'approval.requested',
    approval_id: 'a-1',
    of: 1,
    why: '',
  },
}
/** Members whose presence makes another shape of the same type. */
const STANDING: Loose = {
  grant: 'g-1',
  standing: true,
  agent: 'bot',
  tool: 'create_refund',
  bounds: {},
  expires_at: AT,
  uses: 1,
  voter: sha('voter'),
  evidence_digest: sha('evidence'),
}
export const SIGNATURE = { kid: 'aa', sig: 'AA' }

const EFFECT = {
  type: 'com.acme.refund',
  status: 'dispatched',
  irreversibility_class: 'one_way_consequential',
}

/** A whole capsule with these members of its own. */
export function capsuleWith({ disposition, effect, ...more }: Loose): Loose {
  return {
    ...CAPSULE,
    ...more,
    disposition: { ...CAPSULE.disposition, ...Object(disposition) },
    ...(effect === undefined ? {} : { effect: { ...EFFECT, ...Object(effect) } }),
  }
}

/** The members given, with all that a line of the type must have beside them. */
export function membersOf(type: LineType, given: Loose): Loose {
  const smallest: Loose =
    type === 'GRANT_ISSUED' && given.standing === true ? STANDING : SMALLEST[type]
  return {
    ...smallest,
    ...given,
    ...(type === 'CAPSULE' ? { capsule: capsuleWith(Object(given.capsule)) } : {}),
    ...(isSignedType(type)
      ? { ...SIGNATURE, ...Object(given.kid === undefined ? {} : given) }
      : {}),
  }
}

/** Of a known type whole, of any other as it is; through JSON, as from a file. */
export function rawLine(
  type: string,
  given: object,
  { seq, at = AT }: { readonly seq: number; readonly at?: string },
): JournalLine {
  const members = isLineType(type) ? membersOf(type, { ...given }) : given
  const prev = '0'.repeat(64)
  return JSON.parse(
    JSON.stringify({ v: 1, origin: 'test', seq, prev, at, type, ...members }),
  ) as JournalLine
}

/** An entry that the constructors would not make, as someone with the journal in their hands would. */
export const forgedEntry = (type: LineType, members: object): JournalEntry =>
  ({ type, json: JSON.stringify(members), members }) as unknown as JournalEntry

export function known(line: JournalLine): Line {
  const read = readLine(line)
  if (read === null) throw new Error(`${line.type} is not in the vocabulary`)
  return read
}
