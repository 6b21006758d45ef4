import type { Bounds } from '../../approval/bounds.js'
import { onExpiry } from '../../capsule/shapes.js'
import {
  count,
  digest,
  either,
  list,
  type Of,
  oneOf,
  only,
  opaque,
  optional,
  record,
  type Shape,
  text,
  time,
} from '../../json/shape.js'
import { line } from './line-type.js'

const assurance = oneOf('L1', 'L2', 'L3')
const outcome = oneOf('approve', 'deny', 'defer')
export const bounds: Shape<Bounds> = opaque(
  'an object: constraints in their short form by name',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

/** For one exact request, or standing: for a tool, within bounds. */
const singleGrant = record({
  grant: text,
  approval_id: optional(text),
  agent: text,
  request_digest: digest,
  policy_digest: digest,
  manifest_digest: digest,
  expires_at: time,
  uses: count,
  standing: optional(only(false)),
})
const STANDING = {
  grant: text,
  standing: only(true),
  agent: text,
  tool: text,
  expires_at: time,
  uses: count,
  voter: digest,
  evidence_digest: digest,
}
/** Bounds are amounts and argument values: encrypted, but in older lines (promise 8). */
const standingGrant = either(
  ({ sealed_bounds }) => sealed_bounds !== undefined,
  record({ ...STANDING, sealed_bounds: text }),
  record({ ...STANDING, bounds }),
)
const grant = either(({ standing }) => standing === true, standingGrant, singleGrant)
export type GrantLine = Of<typeof grant>

/** What asking people leaves. A decider stands here as a pseudonym; who it was is in the evidence. */
export const APPROVAL_LINES = {
  APPROVAL_OPENED: line({
    signed: true,
    says: 'People are asked about a call: who, until when, and what their answer binds to. Beside its capsule in one append.',
    members: record({
      approval_id: text,
      capsule_id: digest,
      agent: text,
      operator: text,
      developer: text,
      tool: text,
      request_digest: digest,
      policy_digest: digest,
      manifest_digest: digest,
      document_digest: digest,
      opened_at: time,
      expires_at: time,
      on_expiry: onExpiry,
      ttl_seconds: count,
      quorum: count,
      roles: list(text),
      min_assurance: assurance,
      on_approval: oneOf('retry', 'dispatch'),
      ladder: list(record({ roles: list(text), after_seconds: count })),
      reminders: list(count),
      /** Absent from lines of 0.1, like the next. */
      refusal_seconds: optional(count),
      call_identity: optional(digest),
    }),
    shown: ['approval_id', 'capsule_id', 'agent', 'operator', 'tool'],
  }),
  APPROVAL_JOINED: line({
    signed: false,
    says: 'The same call came again while people were asked; `by` is the action that asked.',
    members: record({ approval_id: text, capsule_id: digest, by: text }),
    shown: ['approval_id'],
  }),
  APPROVAL_VOTED: line({
    signed: true,
    says: 'A decider said something about the item whose capsule is `on`.',
    members: record({
      approval_id: text,
      on: digest,
      voter: digest,
      by: oneOf('person', 'machine'),
      outcome,
      document_digest: digest,
      evidence_digest: digest,
      assurance: optional(assurance),
    }),
    shown: ['approval_id', 'outcome'],
  }),
  APPROVAL_REMINDER: line({
    signed: true,
    says: 'The `nth` reminder of an undecided request was due.',
    members: record({ approval_id: text, on: digest, nth: count, expires_at: time }),
    shown: [],
  }),
  DECISION_LOST: line({
    signed: true,
    says: 'A decision came too late: it stood as `first` already.',
    members: record({ approval_id: text, on: digest, voter: digest, outcome, first: text }),
    shown: [],
  }),
  REFUSAL_REPEATED: line({
    signed: false,
    says: 'A call that a person had refused came again and was refused by that; `by` is the action that asked.',
    members: record({ approval_id: text, capsule_id: digest, by: text }),
    shown: ['approval_id', 'capsule_id'],
  }),
  REFUSAL_LIFTED: line({
    signed: true,
    says: 'A person took a refusal back: from here on people are asked again.',
    members: record({ approval_id: text, on: digest, voter: digest, evidence_digest: digest }),
    shown: ['approval_id'],
  }),
  ITEM_CLOSED: line({
    signed: true,
    says: 'A person has seen the blocked call whose capsule is `on`, and it needs nothing more. Beside the capsule that supersedes it, in one append.',
    members: record({ on: digest, voter: digest, assurance, evidence_digest: digest }),
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
    members: record({ grant: text, voter: digest }),
    shown: ['grant'],
  }),
} as const
