import * as s from '../../json/shape.js'
import { line } from './line-type.js'
import { ACTOR } from './operate.js'

/** The declaration that a line is about: its step of a session, on one object (seed intent-declaration-primitive-01). */
const STEP = {
  event_id: s.text,
  action_id: s.text,
  idp_id: s.text,
  session_id: s.text,
  so_id: s.text,
  step_sequence: s.positive,
}
const OF_STEP = ['event_id', 'action_id', 'idp_id', 'session_id', 'so_id', 'step_sequence'] as const

/** §5.5.1. Signed by itself, so that it holds wherever it is taken to; `basis` says what was compared. */
const verification = <R extends 'MATCHED' | 'IDP_COMMITMENT_GAP'>(result: R) =>
  s.record({
    idp_id: s.text,
    state_transition_id: s.text,
    /** SHA-256 of the JCS of the members of the line that this is about. */
    transition_digest: s.digest,
    verified_at: s.time,
    match_result: s.only(result),
    /** `written`: what the gate's adapter put on the wire; `judged`: somebody else ran the call. */
    basis: s.oneOf('written', 'judged'),
    kid: s.text,
    kernel_signature: s.text,
  })
const verified = verification('MATCHED')
const gap = verification('IDP_COMMITMENT_GAP')
export type VerificationRecord = s.Of<typeof verified> | s.Of<typeof gap>

const TRANSITION = {
  ...STEP,
  cedar_action: s.text,
  /** Null: the manifest gives its objects no states, or the state was not known. */
  from_state: s.nullable(s.text),
  to_state: s.nullable(s.text),
}
const OF_TRANSITION = [...OF_STEP, 'cedar_action', 'from_state', 'to_state'] as const

const opened = s.either(
  ({ actor }) => actor === undefined,
  s.record({ session_id: s.text, agent: s.text }),
  s.record({ session_id: s.text, agent: s.text, ...ACTOR }),
)
const closed = s.either(
  ({ actor }) => actor === undefined,
  s.record({
    session_id: s.text,
    reason: s.oneOf('idle', 'refused', 'unanswered', 'nobody_to_ask'),
  }),
  s.record({ session_id: s.text, reason: s.only('operator'), ...ACTOR }),
)

/** What intents, mandates and sessions leave. */
export const INTENT_LINES = {
  SESSION_OPENED: line({
    signed: true,
    says: 'A session of one agent begins: with the first valid mandate for it or, where `actor` is there, by an operator.',
    members: opened,
    shown: ['session_id', 'agent', 'actor'],
  }),
  SESSION_CLOSED: line({
    signed: true,
    says: 'The session is over, for good: it was idle, an operator closed it, or people were asked about it and did not resume it.',
    members: closed,
    shown: ['session_id', 'reason', 'actor'],
  }),
  SESSION_AUDITED: line({
    signed: true,
    says: 'What a closed session was: `audit_digest` is of its record, which is made from its lines alone and kept among the public documents. Not `whole`: the session began in lines that were archived, and the record is of the rest.',
    members: s.record({ session_id: s.text, whole: s.flag, audit_digest: s.digest }),
    shown: ['session_id', 'whole', 'audit_digest'],
  }),
  SESSION_RESUMED: line({
    signed: true,
    says: 'A person let a session go on that had been stopped. Beside the capsule that closes the request, in one append.',
    members: s.record({ session_id: s.text, approval_id: s.text }),
    shown: ['session_id', 'approval_id'],
  }),
  MANDATE_PRESENTED: line({
    signed: true,
    says: 'A mandate was shown in a session for the first time. Its actions, its principals and its delegation chain are in the evidence.',
    members: s.record({
      mandate_id: s.text,
      session_id: s.text,
      agent: s.text,
      so_id: s.text,
      depth: s.count,
      expires_at: s.time,
      evidence_digest: s.digest,
    }),
    shown: ['mandate_id', 'session_id', 'agent', 'so_id', 'depth', 'expires_at'],
  }),
  MANDATE_REVOKED: line({
    signed: true,
    says: 'An operator revoked a mandate: no call under it is sent any more. `actor` as in HALT.',
    members: s.record({ mandate_id: s.text, ...ACTOR }),
    shown: ['mandate_id', 'actor'],
  }),
  MISSION_SET: line({
    signed: true,
    says: 'An operator said in which phase a mission is; in `SUSPENDED`, `FAILED` and `ABANDONED` no call under it is sent. `actor` as in HALT.',
    members: s.record({
      mission_ref: s.text,
      phase: s.oneOf('ACTIVE', 'SUSPENDED', 'FAILED', 'ABANDONED'),
      ...ACTOR,
    }),
    shown: ['mission_ref', 'phase', 'actor'],
  }),
  OBJECT_SET: line({
    signed: true,
    says: 'An operator said in which state an object is. `actor` as in HALT.',
    members: s.record({ so_id: s.text, state: s.text, ...ACTOR }),
    shown: ['so_id', 'state', 'actor'],
  }),
  IDP_SUBMITTED: line({
    signed: true,
    says: 'What an agent declared of a call, signed before the call was judged. `intent` is what was received, encrypted under a key in the evidence. `declared` has stubs where a thin declaration says nothing, and `WITHHELD` for a reasoning type with a mark of personal data; it is absent where the declaration is restricted (`audit_accessible` false).',
    members: s.record({
      ...STEP,
      mandate_id: s.text,
      agent: s.text,
      tool: s.text,
      requested_action: s.text,
      profile: s.oneOf('IDP_STANDARD', 'IDP_THIN'),
      audit_accessible: s.flag,
      /** The agent's time and the gate's. */
      timestamp: s.time,
      received_at: s.time,
      declared: s.optional(
        s.record({
          goal_id: s.nullable(s.text),
          reasoning_type: s.text,
          confidence_level: s.text,
          hem_urgency: s.text,
          mission_ref: s.nullable(s.text),
        }),
      ),
      /** SHA-256 of the received octets. */
      intent_digest: s.digest,
      intent: s.text,
      /** Of the key that `intent` is encrypted under. */
      evidence_digest: s.digest,
    }),
    shown: [
      ...OF_STEP,
      'mandate_id',
      'agent',
      'tool',
      'requested_action',
      'profile',
      'audit_accessible',
      'timestamp',
      'received_at',
    ],
  }),
  IDP_MISSION_REF_MISMATCH_REJECTED: line({
    signed: true,
    says: 'A declaration named another mission than its mandate, and was refused; which one stands here unless it is restricted.',
    members: s.record({
      ...STEP,
      mandate_id: s.text,
      expected_mission_ref: s.text,
      /** Null: it names none. Absent: it is restricted. */
      submitted_mission_ref: s.optional(s.nullable(s.text)),
    }),
    shown: [...OF_STEP, 'mandate_id', 'expected_mission_ref', 'submitted_mission_ref'],
  }),
  CEDAR_DENY_RECORDED: line({
    signed: false,
    says: 'Policy denied a declared call. Beside its capsule, in one append.',
    members: s.record({ ...STEP, cedar_action: s.text, deny_code: s.text }),
    shown: [...OF_STEP, 'cedar_action', 'deny_code'],
  }),
  STATE_TRANSITIONED: line({
    signed: false,
    says: 'A declared call was executed and confirmed: its object is in `to_state` from here on. `principal` is a pseudonym of the human principal of the mandate. Beside its capsule, in one append; the record of its verification signs it.',
    members: s.record({ ...TRANSITION, principal: s.optional(s.digest) }),
    shown: OF_TRANSITION,
  }),
  ACTION_RESULT_RECORDED: line({
    signed: false,
    says: 'A declared call was sent and is not confirmed: `failed` changed nothing, after `unconfirmed` the state of its object is unknown until an operator says what it is (`to_state` null). Beside its capsule, in one append.',
    members: s.record({ ...TRANSITION, result: s.oneOf('failed', 'unconfirmed') }),
    shown: [...OF_TRANSITION, 'result'],
  }),
  IDP_COMMITMENT_VERIFIED: line({
    signed: false,
    says: 'What was sent is what was declared (§5.5). The record carries its own signature, `kernel_signature`, over the JCS of its other members.',
    members: s.record({ action_id: s.text, session_id: s.text, record: verified }),
    shown: ['action_id', 'session_id', 'record'],
  }),
  IDP_COMMITMENT_GAP: line({
    signed: false,
    says: 'What was sent is not what was declared: a critical finding, and the session is stopped until a person has decided. `record` as in IDP_COMMITMENT_VERIFIED.',
    members: s.record({ action_id: s.text, session_id: s.text, record: gap }),
    shown: ['action_id', 'session_id', 'record'],
  }),
} as const
