import type { Bounds } from '../../approval/bounds.js'
import { onExpiry } from '../../capsule/shapes.js'
import * as s from '../../json/shape.js'
import { line } from './line-type.js'

const assurance = s.oneOf('L1', 'L2', 'L3')
const outcome = s.oneOf('approve', 'deny', 'defer')
export const bounds: s.Shape<Bounds> = s.opaque(
  'an object: constraints in their short form by name',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

/** For one exact request, or standing: for a tool, within bounds. */
const singleGrant = s.record({
  grant: s.text,
  approval_id: s.optional(s.text),
  agent: s.text,
  request_digest: s.digest,
  policy_digest: s.digest,
  manifest_digest: s.digest,
  expires_at: s.time,
  uses: s.count,
  standing: s.optional(s.only(false)),
})
const STANDING = {
  grant: s.text,
  standing: s.only(true),
  agent: s.text,
  tool: s.text,
  expires_at: s.time,
  uses: s.count,
  voter: s.digest,
  evidence_digest: s.digest,
}
/** Bounds are amounts and argument values: encrypted, but in older lines (promise 8). */
const standingGrant = s.either(
  ({ sealed_bounds }) => sealed_bounds !== undefined,
  s.record({ ...STANDING, sealed_bounds: s.text }),
  s.record({ ...STANDING, bounds }),
)
const grant = s.either(({ standing }) => standing === true, standingGrant, singleGrant)
export type GrantLine = s.Of<typeof grant>

/** What asking people leaves. A decider stands here as a pseudonym; who it was is in the evidence. */
export const APPROVAL_LINES = {
  APPROVAL_OPENED: line({
    signed: true,
    says: 'People are asked about a call: who, until when, and what their answer binds to. Beside its capsule in one append.',
    members: s.record({
      approval_id: s.text,
      capsule_id: s.digest,
      agent: s.text,
      operator: s.text,
      developer: s.text,
      tool: s.text,
      request_digest: s.digest,
      policy_digest: s.digest,
      manifest_digest: s.digest,
      document_digest: s.digest,
      opened_at: s.time,
      expires_at: s.time,
      on_expiry: onExpiry,
      ttl_seconds: s.count,
      quorum: s.count,
      roles: s.list(s.text),
      min_assurance: assurance,
      on_approval: s.oneOf('retry', 'dispatch'),
      ladder: s.list(s.record({ roles: s.list(s.text), after_seconds: s.count })),
      reminders: s.list(s.count),
      /** Absent from lines of 0.1, like the next. */
      refusal_seconds: s.optional(s.count),
      call_identity: s.optional(s.digest),
      /** The session the call is a step of. */
      session_id: s.optional(s.text),
      /** `session`: what is decided is whether the session goes on; `call`: it waits for this call. */
      holds: s.optional(s.oneOf('session', 'call')),
    }),
    shown: ['approval_id', 'capsule_id', 'agent', 'operator', 'tool', 'session_id', 'holds'],
  }),
  APPROVAL_JOINED: line({
    signed: false,
    says: 'The same call came again while people were asked; `by` is the action that asked.',
    members: s.record({ approval_id: s.text, capsule_id: s.digest, by: s.text }),
    shown: ['approval_id'],
  }),
  APPROVAL_VOTED: line({
    signed: true,
    says: 'A decider said something about the item whose capsule is `on`.',
    members: s.record({
      approval_id: s.text,
      on: s.digest,
      voter: s.digest,
      by: s.oneOf('person', 'machine'),
      outcome,
      document_digest: s.digest,
      evidence_digest: s.digest,
      assurance: s.optional(assurance),
    }),
    shown: ['approval_id', 'outcome'],
  }),
  APPROVAL_REMINDER: line({
    signed: true,
    says: 'The `nth` reminder of an undecided request was due.',
    members: s.record({ approval_id: s.text, on: s.digest, nth: s.count, expires_at: s.time }),
    shown: [],
  }),
  DECISION_LOST: line({
    signed: true,
    says: 'A decision came too late: it stood as `first` already.',
    members: s.record({
      approval_id: s.text,
      on: s.digest,
      voter: s.digest,
      outcome,
      first: s.text,
    }),
    shown: [],
  }),
  REFUSAL_REPEATED: line({
    signed: false,
    says: 'A call that a person had refused came again and was refused by that; `by` is the action that asked.',
    members: s.record({ approval_id: s.text, capsule_id: s.digest, by: s.text }),
    shown: ['approval_id', 'capsule_id'],
  }),
  REFUSAL_LIFTED: line({
    signed: true,
    says: 'A person took a refusal back: from here on people are asked again.',
    members: s.record({
      approval_id: s.text,
      on: s.digest,
      voter: s.digest,
      evidence_digest: s.digest,
    }),
    shown: ['approval_id'],
  }),
  ITEM_CLOSED: line({
    signed: true,
    says: 'A person has seen the blocked call whose capsule is `on`, and it needs nothing more. Beside the capsule that supersedes it, in one append.',
    members: s.record({ on: s.digest, voter: s.digest, assurance, evidence_digest: s.digest }),
    shown: ['on'],
  }),
  GRANT_ISSUED: line({
    signed: true,
    says: 'A grant for one exact request of an agent, or a standing one for its calls of a tool within bounds, which are encrypted in `sealed_bounds`; older lines have them in clear in `bounds`.',
    members: grant,
    shown: ['grant', 'agent', 'tool', 'expires_at', 'standing'],
  }),
  GRANT_REVOKED: line({
    signed: true,
    says: 'A grant may not be spent any more.',
    members: s.record({ grant: s.text, voter: s.digest }),
    shown: ['grant'],
  }),
} as const
