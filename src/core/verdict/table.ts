import { DECLARE_ROWS, SESSION_ROWS } from './intent-rows.js'
import {
  blocked,
  broken,
  CREDENTIALED,
  DECIDED,
  denied,
  type EffectRow,
  EMBEDDED,
  EVERYWHERE,
  HTTP,
  MCP,
  type Mount,
  NETWORK,
  ON_A_WIRE,
  OVER_HTTP,
  PROXY,
  REPORTED,
  type Row,
  row,
  SAFE_TO_RETRY,
} from './row.js'

const FIX_AND_RESEND = 'Correct the request and send it again; nothing was dispatched.'
const ASK_OPERATOR = 'Do not retry unchanged; choose another action or ask the operator.'
const UNKNOWN_OUTCOME =
  'The tool may have acted: do not retry without the same Idempotency-Key; check the tool first.'

/**
 * Everything that can happen to a call, what the record then says and what the caller gets (DESIGN §6,
 * §7). One row for each; the row's name is the stable code
 * on the wire. `said` and `instead` are written for a model: what was refused, what to do instead.
 */
export const TABLE = {
  // match
  tool_unknown: denied(403, ON_A_WIRE, [
    'No governed tool matches this call.',
    'Call one of the tools you were given, with its exact name or path.',
  ]),
  tool_changed: denied(403, MCP, [
    'The server describes this tool otherwise than when it was accepted.',
    'Do not retry; an operator has to look at the change and accept it first.',
  ]),
  target_malformed: denied(400, ON_A_WIRE, [
    'The request target is not in a form that can be judged.',
    'Send a plain origin-form path, or URI of a resource, without dot segments or encoded slashes.',
  ]),
  target_ambiguous: denied(400, HTTP, [
    'The path is a second spelling of one that an operator governs otherwise.',
    'Send the path exactly as the tool has it: letter case, no suffix, GET instead of HEAD.',
  ]),
  request_malformed: denied(400, ON_A_WIRE, [
    'The request is framed or labelled in a way that can be read as two different requests.',
    FIX_AND_RESEND,
  ]),
  body_too_large: denied(413, ON_A_WIRE, [
    'The request body is over the size limit.',
    FIX_AND_RESEND,
  ]),
  bodies_exhausted: denied(429, ON_A_WIRE, [
    'The request bodies you have in flight take all the memory one agent may use.',
    'Wait for the answers to your earlier calls, then send it again; nothing was dispatched.',
  ]),
  body_aborted: denied(400, OVER_HTTP, ['The request body ended early.', FIX_AND_RESEND]),
  body_consumed: broken(503, EMBEDDED, [
    'A body parser of this application read the request body before the gate could.',
    'Do not retry; the operator has to put the gate before the body parser. Nothing was dispatched.',
  ]),
  body_unreadable: denied(400, EVERYWHERE, [
    'The request body is not strict UTF-8 JSON of the expected type.',
    'Send application/json without content coding, byte order mark or duplicate names.',
  ]),
  arguments_invalid: denied(400, EVERYWHERE, [
    "An argument is missing, not of the tool's declared type, or could be read in two ways.",
    FIX_AND_RESEND,
  ]),
  query_not_read: denied(400, HTTP, [
    'The query holds a name that this tool does not read.',
    'Leave the named parameter out and send the call again; nothing was dispatched.',
  ]),
  member_not_read: denied(400, EVERYWHERE, [
    'The body holds a member that this tool does not read.',
    'Leave the named member out and send the call again; nothing was dispatched.',
  ]),
  body_not_read: denied(400, HTTP, [
    'The call has a body, and this tool reads none.',
    'Send the call without a body; nothing was dispatched.',
  ]),
  // admit
  unauthenticated: denied(401, CREDENTIALED, [
    'The call carries no credential this gate accepts.',
    'Send the bearer token or certificate that was issued to you.',
  ]),
  halted: denied(403, EVERYWHERE, [
    'An operator has halted this agent, session, tool or everything.',
    'Stop and wait; only an operator can resume.',
  ]),
  // declare
  ...DECLARE_ROWS,
  // constrain
  constraint_failed: blocked(403, EVERYWHERE, [
    "The call does not satisfy one of the operator's constraints.",
    ASK_OPERATOR,
  ]),
  constraint_error: blocked(403, EVERYWHERE, [
    'A constraint could not be decided from this call.',
    FIX_AND_RESEND,
  ]),
  // authorize
  policy_denied: denied(403, EVERYWHERE, ['No policy permits this action.', ASK_OPERATOR]),
  policy_error: broken(503, EVERYWHERE, ['Policy could not be evaluated.', SAFE_TO_RETRY]),
  // approve
  decision_needed: row('needs_decision', 'none', 403, EVERYWHERE, [
    'A human must decide this call, and approvals are off here: nobody can be asked.',
    'Do not retry; tell your user that a person has to take this step.',
  ]),
  approval_pending: row('hitl_dispatched', 'none', 202, EVERYWHERE, [
    'A person has been asked to decide this call; nothing was dispatched yet.',
    'Ask for the status later, or send the identical call again once it is approved.',
  ]),
  approval_mismatch: denied(409, EVERYWHERE, [
    'The call differs from the one the named approval is for.',
    'Send exactly the approved call, or leave the approval out to ask for a new one.',
  ]),
  approval_closed: denied(409, EVERYWHERE, [
    'The named approval cannot be used: it is unknown, in use or over.',
    'Look up its status. What a person refused stays refused; what ended otherwise may be asked anew, without naming an approval.',
  ]),
  approvals_exhausted: denied(429, EVERYWHERE, [
    'Too many of your calls already wait for a person.',
    'Wait until some of them are decided, or withdraw those no longer needed.',
  ]),
  // resolve and expire: what becomes of an open item
  approval_refused: row('resolved', 'none', 403, EVERYWHERE, [
    'A decider refused this call.',
    'Do not send it again; tell your user that it was refused.',
  ]),
  approval_withdrawn: row('resolved', 'none', 403, EVERYWHERE, [
    'The request for approval was withdrawn.',
    'Send the call again if it is needed after all.',
  ]),
  approval_deferred: row('deferred', 'none', 202, EVERYWHERE, [
    'A person postponed the decision on this call.',
    'Ask for the status later; nothing was dispatched.',
  ]),
  approval_escalated: row('escalated', 'none', 202, EVERYWHERE, [
    'The decision on this call was passed on to somebody else.',
    'Ask for the status later; nothing was dispatched.',
  ]),
  approval_expired: row('expired', 'none', 403, EVERYWHERE, [
    'The postponed decision was not taken in time.',
    'Send the call again if it is still needed; a person will be asked anew.',
  ]),
  approval_timed_out: row('timeout', 'none', 403, EVERYWHERE, [
    'Nobody decided this call in time, or its approval was not used in time.',
    'Send the call again if it is still needed; a person will be asked anew.',
  ]),
  // what stops a session, and how that ends
  ...SESSION_ROWS,
  call_cancelled: denied(409, MCP, [
    'The caller cancelled the call before it was sent.',
    'Send it again if it is needed after all; nothing was dispatched.',
  ]),
  // reserve
  budget_exceeded: blocked(429, EVERYWHERE, [
    'A windowed limit on this tool is used up.',
    'Wait for the window to pass before you try again.',
  ]),
  duplicate_call: blocked(409, EVERYWHERE, [
    'The same call was already made within its window.',
    'Do not repeat it; look up the earlier result.',
  ]),
  idempotency_mismatch: denied(422, EVERYWHERE, [
    'This Idempotency-Key was used for a different request.',
    'Use a fresh key for a new request.',
  ]),
  idempotency_in_flight: denied(409, EVERYWHERE, [
    'A call with this Idempotency-Key is in flight or its outcome is unknown.',
    'Ask for the status of the named action instead of sending it again.',
  ]),
  keys_exhausted: denied(429, EVERYWHERE, [
    'You have used as many Idempotency-Keys as one agent may have remembered at once.',
    'Use a key only where a call must not run twice; old keys are forgotten with time.',
  ]),
  // dispatch
  held_memory_exhausted: broken(503, ON_A_WIRE, [
    'The answer would have to be held and there is no memory left to hold it.',
    SAFE_TO_RETRY,
  ]),
  permits_exhausted: denied(429, DECIDED, [
    'You hold as many open permits as one agent may.',
    'Report what became of the earlier ones, or wait until they are over, then ask again.',
  ]),
  judgement_stale: broken(503, EVERYWHERE, [
    'Policy, manifest, mode, halts or your credentials changed while the call was judged.',
    SAFE_TO_RETRY,
  ]),
  upstream_unreachable: broken(503, NETWORK, ['The tool could not be reached.', SAFE_TO_RETRY]),
  deadline_before_dispatch: row('timeout', 'none', 504, NETWORK, [
    'The tool could not be reached in time.',
    SAFE_TO_RETRY,
  ]),
  gate_failed: broken(503, EVERYWHERE, ['The gate could not process the call.', SAFE_TO_RETRY]),
  // observe
  executed: row('executed', 'confirmed', 'upstream', ON_A_WIRE, [
    'The call was executed and its response observed.',
    'Use the response.',
  ]),
  tool_refused: row('executed', 'failed', 'upstream', ON_A_WIRE, [
    'The tool answered with a clean failure.',
    "Read the tool's own answer.",
  ]),
  tool_failed: row('errored', 'failed', 'upstream', ON_A_WIRE, [
    'The tool answered with a server error.',
    UNKNOWN_OUTCOME,
  ]),
  outcome_unknown: row('errored', 'dispatched', 502, EVERYWHERE, [
    'The call was sent and its response was cut short.',
    UNKNOWN_OUTCOME,
  ]),
  deadline_after_dispatch: row('timeout', 'dispatched', 504, ON_A_WIRE, [
    'The call was sent and no complete response came in time.',
    UNKNOWN_OUTCOME,
  ]),
  unfinished: row('executed', 'dispatched', 'upstream', MCP, [
    'The tool has taken the call on and is not done: it wants input first, or works on by itself.',
    "Read the tool's own answer: it says what to send or where to ask for the result.",
  ]),
  claimed: row('executed', 'dispatched', 'upstream', REPORTED, [
    'The call was executed; the gate did not itself observe the result.',
    'Use the result.',
  ]),
  runtime_failed: row('errored', 'dispatched', 502, REPORTED, [
    'The call ran and reported a failure.',
    UNKNOWN_OUTCOME,
  ]),
  recovered: row('errored', 'dispatched', 502, EVERYWHERE, [
    'The call was sent and the gate stopped before it saw the response.',
    UNKNOWN_OUTCOME,
  ]),
  // reports of runtimes that act themselves
  ungated_report: row('errored', 'dispatched', 404, DECIDED, [
    'No permit of yours is on record for this action; that you report it has been recorded.',
    'Ask for a permit before you act, and report under the action id that came with it.',
  ]),
  // pass-through routes: recorded, not governed
  passed_through: row('executed', 'dispatched', 'upstream', PROXY, [
    'The request was passed through an ungoverned route.',
    'Use the response.',
  ]),
} as const satisfies Record<string, Row>

export type { EffectRow, Mount, Row }
export type Code = keyof typeof TABLE

/** Answers that have no capsule of their own (promise 1). */
export const UNRECORDED = {
  record_unavailable: {
    status: 503,
    said: 'The gate cannot write its record, so nothing was dispatched.',
    instead: SAFE_TO_RETRY,
  },
  record_lost: {
    status: 502,
    said: 'The call was sent and its record could not be written; the response is withheld.',
    instead: UNKNOWN_OUTCOME,
  },
  overloaded: {
    status: 503,
    said: 'The gate is shedding load, so nothing was read or dispatched.',
    instead: SAFE_TO_RETRY,
  },
} as const
export type UnrecordedCode = keyof typeof UNRECORDED

type RowsWith<E extends EffectRow> = {
  [C in Code]: (typeof TABLE)[C]['effect'] extends E ? C : never
}[Code]
/** Rows that move or close an open item: no call ends in them. */
export type TransitionCode =
  | 'approval_refused'
  | 'approval_withdrawn'
  | 'approval_deferred'
  | 'approval_escalated'
  | 'approval_expired'
  | 'approval_timed_out'
  | 'session_escalated'
  | 'session_unattended'
  | 'session_resumed'
  | 'session_ended'
/** Rows that end a call before one byte left. */
export type RefusalCode = Exclude<RowsWith<'none'>, TransitionCode>
