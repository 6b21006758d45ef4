/** Why a request to the admin plane was not answered (RFC 9457). */
export const ADMIN_PROBLEMS = {
  unauthenticated: [401, 'No token this gate issued for the admin plane.'],
  forbidden: [403, 'Your role does not reach this.'],
  not_found: [404, 'There is nothing here.'],
  request_invalid: [400, 'The request cannot be read.'],
  too_large: [413, 'The request body is too large.'],
  too_many_requests: [429, 'Too many requests.'],
  not_open: [409, 'The item is not open.'],
  frozen: [409, 'Halted: nothing is decided until an operator resumes.'],
  digest_mismatch: [409, 'What was decided on is not what is asked.'],
  already_decided: [409, 'It was decided before.'],
  not_refused: [409, 'No refusal by a person stands for this request.'],
  stale: [409, 'Policies or the manifest changed since; the call has to be made again.'],
  no_ladder: [409, 'There is nobody further up to pass it on to.'],
  busy: [409, 'The request is being concluded at this moment; try again.'],
  not_asked: [403, 'Others are asked to decide this.'],
  own_request: [403, 'Nobody decides their own request.'],
  not_shown: [403, 'The person was not shown what they would decide on.'],
  people_only: [403, 'Only people can do this.'],
  assurance_too_low: [403, 'You have to be known by stronger means to decide this.'],
  reason_required: [400, 'A refusal says why.'],
  bounds_broken: [422, 'The bounds cannot be read, or the request does not keep them.'],
  grant_invalid: [422, 'Such a standing grant cannot be given.'],
  delivery_reused: [422, 'The webhook-id was used for another message.'],
  never_dispatched: [409, 'Nothing was dispatched for this action, so nothing can come of it.'],
  in_flight: [409, 'The action is still in flight.'],
  not_seen: [409, 'The server does not describe the tool like that now: look at it again.'],
  session_over: [409, 'The session is over, and never opens again.'],
  session_of_another: [409, "The session is another agent's."],
  no_such_state: [422, 'No manifest has objects in such a state.'],
  archived: [410, 'The lines were archived; copy the segment back to read them.'],
  erased: [410, 'The evidence was erased.'],
  evidence_missing: [500, 'The journal says that there must be evidence, and there is none.'],
  evidence_damaged: [500, 'The evidence is there and is not what was put.'],
  not_ready: [503, 'The gate should not be sent calls now.'],
  record_unavailable: [503, 'The gate cannot write its record, so nothing was changed.'],
  internal: [500, 'The gate could not process the request.'],
} as const satisfies Record<string, readonly [number, string]>
export type AdminCode = keyof typeof ADMIN_PROBLEMS

export class AdminProblem extends Error {
  readonly code: AdminCode
  constructor(code: AdminCode, detail: string = ADMIN_PROBLEMS[code][1]) {
    super(detail)
    this.code = code
  }
}

export function problemDocument({ code, message }: AdminProblem) {
  const [status, title] = ADMIN_PROBLEMS[code]
  return { type: `urn:capsule-gate:admin:${code}`, title, status, detail: message, code }
}
