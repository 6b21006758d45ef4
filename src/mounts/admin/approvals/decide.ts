import { z } from 'zod'
import type { Plain } from '../../../core/json/value.js'
import type { Decider, Outcome, Refusal } from '../../../gate/approval/decide/model.js'
import { type AdminCode, AdminProblem } from '../problem.js'
import type { Admin } from '../route.js'
import { actionId, digest } from '../routes/schemas.js'

const reason = z.string().max(2000).optional()
const common = {
  /** Of the document that was shown. */
  digest,
  /** The capsule that was shown as the open one; without it, whichever is open now. */
  on: digest.optional(),
  reason,
}
export const decisionBody = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('approve'), ...common }),
  z.strictObject({ decision: z.literal('deny'), ...common }),
  z.strictObject({
    decision: z.literal('defer'),
    ...common,
    ttl_seconds: z.int(),
    on_expiry: z.enum(['expired', 'escalated']).default('expired'),
  }),
  z.strictObject({
    decision: z.literal('approve_with_bounds'),
    ...common,
    /** Name → constraint in the manifest's short form. */
    bounds: z.record(z.string(), z.unknown()),
  }),
])
type DecisionBody = z.infer<typeof decisionBody>

export const decisionAnswer = z.strictObject({
  approval_id: actionId,
  state: z.enum(['pending', 'approved', 'refused', 'deferred', 'resumed']),
  votes: z.int(),
  quorum: z.int(),
  /** Null where the decision itself writes no capsule: the call that runs on it will. */
  capsule_id: digest.nullable(),
  /** You had said the same before; nothing new was recorded. */
  repeated: z.boolean(),
})
export type DecisionAnswer = z.infer<typeof decisionAnswer>

const CODES: Readonly<Record<Refusal, AdminCode>> = {
  unknown: 'not_found',
  frozen: 'frozen',
  digest_mismatch: 'digest_mismatch',
  role: 'not_asked',
  assurance: 'assurance_too_low',
  own_request: 'own_request',
  people_only: 'people_only',
  reason_required: 'reason_required',
  already_voted: 'already_decided',
  already_decided: 'already_decided',
  stale: 'stale',
  not_refused: 'not_refused',
  bounds: 'bounds_broken',
  ttl: 'request_invalid',
  ladder: 'no_ladder',
  busy: 'busy',
  record_unavailable: 'record_unavailable',
}
export const DECISION_PROBLEMS = [
  ...new Set(Object.values(CODES)),
  'erased',
] as const satisfies readonly AdminCode[]

/**
 * One way in for every channel: API, page and approval systems differ only in how they came to know
 * the decider. A decision delivered again gets the first answer; a different one is refused.
 */
export async function decide(
  approvalId: string,
  body: DecisionBody,
  decider: Decider,
  admin: Pick<Admin, 'gate'>,
): Promise<DecisionAnswer> {
  const { gate } = admin
  if (body.decision === 'approve' || body.decision === 'approve_with_bounds') {
    // What can no longer be read cannot be approved (promise 5).
    const approval = await gate.read.approval(approvalId)
    const seen = approval?.documentDigest === body.digest
    if (approval !== null && seen && (await gate.read.document(approval)).state !== 'present') {
      throw new AdminProblem('erased', 'The request as it was shown is no longer there.')
    }
  }
  const done = await gate.resolve({
    approvalId,
    documentDigest: body.digest,
    ...(body.on === undefined ? {} : { on: body.on }),
    decider,
    outcome: outcomeOf(body),
  })
  if (done.kind === 'refused') throw refusedAs(done)
  const { state, votes, quorum, capsuleId: capsule_id, repeated } = done
  return { approval_id: approvalId, state, votes, quorum, capsule_id, repeated }
}

/** The gate's refusal as a problem; its detail becomes a sentence. */
export const refusedAs = ({ why, detail }: { why: Refusal; detail: string }): AdminProblem =>
  new AdminProblem(CODES[why], `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`)

function outcomeOf(body: DecisionBody): Outcome {
  const said = body.reason === undefined ? {} : { reason: body.reason }
  switch (body.decision) {
    case 'approve':
      return { kind: 'approve', ...said }
    case 'approve_with_bounds':
      return { kind: 'approve', bounds: body.bounds as { [name: string]: Plain }, ...said }
    case 'deny':
      return { kind: 'deny', reason: body.reason ?? '' }
    case 'defer':
      return { kind: 'defer', ttlSeconds: body.ttl_seconds, onExpiry: body.on_expiry, ...said }
  }
}
