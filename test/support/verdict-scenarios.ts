import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import type { Code, TransitionCode } from '../../src/core/verdict/table.js'
import { INTENT_SCENARIOS, INTENT_TOOLS, OBJECT } from './intent-scenarios.js'
import { httpCall } from './manifests.js'
import { answering, type Behaviour } from './raw-upstream.js'
import { OTHER_TOKEN, TOKEN } from './rig.js'

/**
 * How each row of the verdict table is made to happen, told once for every mount: the call, what the
 * tool does, and what must have happened before. Values a record must never show carry SECRET.
 */
export const SECRET = 'zq7-private'

export const MANIFEST = `id: com.acme.payments
${OBJECT}tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal, note: {type: string, optional: true}}
    irreversibility: one_way_consequential
    deadlines: {connect_ms: 400, first_byte_ms: 400, total_ms: 800}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD]}}
  annotate:
    match: POST /v1/notes
    args: {note: {type: string, optional: true}}
    constraints:
      note_form: {note: {matches: "[a-z0-9 -]+"}}
  count_up:
    match: POST /v1/counts
    args: {by: integer}
  limited:
    match: POST /v1/limited
    args: {order: string}
    constraints:
      per_hour: {count: {max: 1, window: 1h}}
  close:
    match: POST /v1/close
  held:
    match: POST /v1/held
    args: {order: string}
    hold_response: true
  once:
    match: POST /v1/once
    args: {order: string}
    constraints:
      only_once: {dedupe: {per: [order], window: 1h}}
${INTENT_TOOLS}`

export const POLICIES = `
@id("support") permit (principal == Agent::"support-bot", action, resource)
when { principal == Agent::"support-bot" };
@id("closed-to-others") forbid (principal == Agent::"other-bot", action, resource);
@id("large-refund") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
@id("overflow") forbid (principal, action == Action::"count_up", resource)
when { context.args.by * 9223372036854775807 < 0 };
`

const OK_BODY = `{"id":"rf_${SECRET}","state":"done"}`
export const respond = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
export const fine: Behaviour = answering(respond('200 OK', OK_BODY))

const post = (target: string, body: unknown, more: Partial<HttpCall> = {}): HttpCall =>
  httpCall('POST', target, body, {
    caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
    ...more,
  })
export const held: HttpCall = post('/v1/held', { order: `o-${SECRET}` })
const refund = (amount: string, more: Partial<HttpCall> = {}): HttpCall =>
  post('/v1/refunds', { order: `o-${SECRET}`, currency: 'EUR', amount }, more)
const caller = (bearer: string | null): Partial<HttpCall> => ({
  caller: { bearer, certificate: null, asserted: null, source: '127.0.0.1' },
})

const cutAfterRequest: Behaviour = async (peer) => {
  await peer.request()
  peer.reset()
}

export type Scenario = {
  readonly call: HttpCall
  /** Default: answers 200 with a JSON body. `refused`: nobody listens. `no_tls`: TLS never comes up. */
  readonly tool?: Behaviour | 'refused' | 'no_tls'
  /** Calls that go first and are not looked at. */
  readonly first?: readonly { readonly call: HttpCall; readonly tool?: Behaviour }[]
  /** What an operator, or a call on another way in, does between `first` and the call. */
  readonly before?: (gate: RunningGate) => Promise<void>
  /** The gate's own doing around the call. */
  readonly doing?:
    | 'halt'
    | 'turn_before_first_byte'
    | 'state_store_dead'
    | 'nobody_to_ask'
    | 'one_may_wait'
    | 'cancel_before_first_byte'
    | 'no_memory'
    | 'no_memory_to_hold'
    | 'permits_held'
}

/** Rows that one HTTP call brings about; those of deciders and deadlines are in test/gate/approval. */
type HttpRow = Exclude<
  Code,
  | TransitionCode
  | 'approval_mismatch'
  | 'claimed'
  | 'held_memory_exhausted'
  | 'runtime_failed'
  | 'recovered'
  | 'passed_through'
  | 'tool_changed'
  | 'permits_exhausted'
  | 'ungated_report'
  | 'unfinished'
  | 'call_cancelled'
>

export const SCENARIOS: Readonly<Record<HttpRow, Scenario>> = {
  tool_unknown: { call: post('/v1/unheard-of', {}) },
  target_malformed: { call: post('/v1/../v1/refunds', {}) },
  target_ambiguous: { call: post('/v1/Refunds', {}) },
  query_not_read: { call: refund('5', { target: '/v1/refunds?dry_run=1' }) },
  member_not_read: {
    call: post('/v1/refunds', { order: `o-${SECRET}`, currency: 'EUR', amount: '5', role: 'x' }),
  },
  body_not_read: { call: post('/v1/close', { order: `o-${SECRET}` }) },
  request_malformed: {
    call: refund('5', { body: { kind: 'malformed', fault: 'length_beside_coding' } }),
  },
  body_too_large: { call: refund('5', { body: { kind: 'too_large' } }) },
  bodies_exhausted: { call: refund('5', { body: { kind: 'no_room' } }), doing: 'no_memory' },
  body_aborted: { call: refund('5', { body: { kind: 'aborted' } }) },
  body_consumed: { call: refund('5', { body: { kind: 'consumed' } }) },
  body_unreadable: {
    call: post('/v1/refunds', '{"order":"a","order":"b","currency":"EUR","amount":"1"}'),
  },
  arguments_invalid: { call: post('/v1/refunds', { order: `o-${SECRET}`, currency: 'EUR' }) },
  unauthenticated: { call: refund('5', caller(null)) },
  halted: { call: refund('5'), doing: 'halt' },
  ...INTENT_SCENARIOS,
  constraint_failed: { call: refund('600.00') },
  constraint_error: { call: post('/v1/notes', {}) },
  policy_denied: { call: refund('5', caller(OTHER_TOKEN)) },
  policy_error: { call: post('/v1/counts', { by: 2 }) },
  decision_needed: { call: refund('150.00'), doing: 'nobody_to_ask' },
  approval_pending: { call: refund('150.00') },
  approval_closed: { call: refund('150.00', { approvalId: 'no-such-approval' }) },
  approvals_exhausted: {
    call: refund('150.00'),
    first: [{ call: refund('160.00') }],
    doing: 'one_may_wait',
  },
  budget_exceeded: {
    call: post('/v1/limited', { order: `o-${SECRET}` }),
    first: [{ call: post('/v1/limited', { order: `o-${SECRET}-0` }) }],
  },
  duplicate_call: {
    call: post('/v1/once', { order: `o-${SECRET}` }),
    first: [{ call: post('/v1/once', { order: `o-${SECRET}` }) }],
  },
  idempotency_mismatch: {
    call: refund('6', { idempotencyKey: `key-${SECRET}` }),
    first: [{ call: refund('5', { idempotencyKey: `key-${SECRET}` }) }],
  },
  idempotency_in_flight: {
    call: refund('5', { idempotencyKey: `key-${SECRET}` }),
    first: [{ call: refund('5', { idempotencyKey: `key-${SECRET}` }), tool: cutAfterRequest }],
  },
  keys_exhausted: {
    call: refund('6', { idempotencyKey: `key-${SECRET}-2` }),
    first: [{ call: refund('5', { idempotencyKey: `key-${SECRET}` }) }],
  },
  judgement_stale: { call: refund('5'), doing: 'turn_before_first_byte' },
  upstream_unreachable: { call: refund('5'), tool: 'refused' },
  deadline_before_dispatch: { call: refund('5'), tool: 'no_tls' },
  gate_failed: { call: refund('5'), doing: 'state_store_dead' },
  executed: { call: refund('5.00') },
  tool_refused: { call: refund('5'), tool: answering(respond('409 Conflict', '{"error":"gone"}')) },
  tool_failed: { call: refund('5'), tool: answering(respond('500 Oops', '{"error":"x"}')) },
  outcome_unknown: {
    call: refund('5'),
    tool: async (peer) => {
      await peer.request()
      await peer.write(respond('200 OK', OK_BODY).slice(0, -3))
      peer.reset()
    },
  },
  deadline_after_dispatch: {
    call: refund('5'),
    tool: async (peer) => {
      await peer.request()
    },
  },
}
