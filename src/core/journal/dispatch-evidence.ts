import { anyText, digest, list, type Of, only, optional, record, text } from '../json/shape.js'
import { constraintRecord, irreversibility, mode, octets } from './lines/capsule.js'

/**
 * What a capsule will say of a call that is about to be sent, sealed in its evidence before the first byte
 * leaves. A restart concludes the call from this and not from its ACTION_DISPATCHED line, because the line can
 * be written by anyone who can write to the file. Not salted: all of it stands in that line.
 */
export const dispatchEvidence = record({
  dispatch: only('gate.dispatch/v1'),
  action_id: text,
  decision_id: text,
  operator: anyText,
  developer: anyText,
  effect_type: anyText,
  irreversibility_class: irreversibility,
  request_digest: digest,
  request_octets: octets,
  manifest_digest: digest,
  policy_digest: digest,
  mode,
  /** Absent where no constraint was judged: an empty list normalizes away. */
  constraints: optional(list(constraintRecord)),
  grant: optional(anyText),
  supersedes: optional(digest),
})
export type DispatchEvidence = Of<typeof dispatchEvidence>
