import {
  anyText,
  count,
  digest,
  either,
  list,
  type Of,
  oneOf,
  only,
  positive,
  record,
  type Shape,
  text,
} from '../../json/shape.js'
import { mode } from './capsule.js'
import { line } from './line-type.js'

export const haltScope = either(
  ({ kind }) => kind === 'all',
  record({ kind: only('all') }),
  record({ kind: oneOf('agent', 'tool', 'operator'), name: text }),
)
/** What a halt stops: one agent, tool or operator, or everything. */
export type HaltScope = Of<typeof haltScope>

const halt = record({ scope: haltScope, by: text })
/** A subject is named by a salted digest only, because lines are public and stay (promise 8). */
const erasure = <M extends { readonly [name: string]: Shape<unknown> }>(more: M) =>
  either(
    ({ subject_tag }) => subject_tag !== undefined,
    record({ subject_tag: digest, by: text, ...more }),
    record({ operator: text, day: text, by: text, ...more }),
  )

/** What operators and the gate itself leave. */
export const OPERATE_LINES = {
  HALT: line({
    signed: true,
    says: 'An operator halted this scope.',
    members: halt,
    shown: ['scope', 'by'],
  }),
  RESUME: line({
    signed: true,
    says: 'An operator lifted exactly this halt.',
    members: halt,
    shown: ['scope', 'by'],
  }),
  CONFIG_CHANGED: line({
    signed: true,
    says: 'Policies, manifests or mode that judge calls from here on.',
    members: record({ policy_digest: digest, manifest_digests: list(digest), mode }),
    shown: ['policy_digest', 'manifest_digests', 'mode'],
  }),
  EVIDENCE_ERASING: line({
    signed: true,
    says: 'A key of the evidence store is about to be destroyed. Without EVIDENCE_ERASED behind it, it has to be erased again.',
    members: erasure({}),
    shown: ['operator', 'day', 'by'],
  }),
  EVIDENCE_ERASED: line({
    signed: true,
    says: 'The key is gone, and so many records with it.',
    members: erasure({ records: count }),
    shown: ['operator', 'day', 'by', 'records'],
  }),
  SEGMENT_SEALED: line({
    signed: true,
    says: 'The last line of a segment: how many lines stand before it, their RFC 6962 root and the hash of the last one.',
    members: record({ segment: positive, size: positive, root: digest, head: digest }),
    shown: ['segment', 'size', 'root', 'head'],
  }),
  REFUSALS_DROPPED: line({
    signed: false,
    says: 'So many connections of one source were closed unread in a window, because it had sent too many calls without a credential.',
    members: record({ source_hash: digest, count, window_seconds: count }),
    shown: [],
  }),
  WEBHOOK_DISABLED: line({
    signed: true,
    says: 'An endpoint gets no more deliveries.',
    members: record({ endpoint: text }),
    shown: [],
  }),
  WEBHOOK_ENABLED: line({
    signed: true,
    says: 'An endpoint gets deliveries again.',
    members: record({ endpoint: text }),
    shown: [],
  }),
  WEBHOOK_DEAD: line({
    signed: true,
    says: 'What an endpoint should have been told about an approval could not be delivered; `of` is the line it was about.',
    members: record({
      endpoint: text,
      webhook_id: text,
      event: text,
      approval_id: text,
      of: count,
      why: anyText,
    }),
    shown: [],
  }),
} as const
