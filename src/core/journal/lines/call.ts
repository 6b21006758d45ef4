import { capsule, constraintRecord, irreversibility, mode, octets } from '../../capsule/shapes.js'
import * as s from '../../json/shape.js'
import { line } from './line-type.js'

/**
 * A windowed constraint's claim, as the fold takes it again (DESIGN §8). `amount` stands in older lines only,
 * whose `scope` is a plain digest; a keyed one stands in all others.
 */
const budget = s.record({
  constraint: s.text,
  scope: s.digest,
  window_seconds: s.count,
  kind: s.oneOf('count', 'sum', 'dedupe'),
  amount: s.optional(s.decimal),
})
const settles = s.record({
  action_id: s.text,
  outcome: s.oneOf('commit', 'release'),
  replayable: s.flag,
})
const about = s.record({
  agent: s.anyText,
  tool: s.optional(s.anyText),
  request_digest: s.optional(s.digest),
})
const captured = s.list(s.oneOf('request', 'response'))

const intentStep = s.record({
  /** Of the IDP_SUBMITTED line. */
  event_id: s.text,
  idp_id: s.text,
  session_id: s.text,
  so_id: s.text,
  step_sequence: s.positive,
  cedar_action: s.text,
  from_state: s.nullable(s.text),
  to_state: s.nullable(s.text),
})
export type IntentStep = s.Of<typeof intentStep>

export type BudgetLine = s.Of<typeof budget>
/** What becomes of the claims of the action that a capsule concludes. */
export type Settles = s.Of<typeof settles>
/** The agent, tool and request of a refused call: no line before its capsule names them (DESIGN §5). */
export type About = s.Of<typeof about>
/**
 * Which octets of an effect are in the evidence under the digest that its capsule names, as the tool's
 * `capture: full` says. Where that digest is salted the store has another one, and the line does not name them.
 */
export type Captured = s.Of<typeof captured>

/** What a call leaves. */
export const CALL_LINES = {
  ACTION_DISPATCHED: line({
    signed: false,
    says: 'A call is about to be sent. Durable before its first byte leaves, with the evidence from which a restart concludes it after a crash. `amounts` is what it takes from its `sum` budgets, encrypted; older lines have it in clear in `budgets`. With `acts` its caller acts itself, under a permit: what came of it is the caller’s word.',
    members: s.record({
      action_id: s.text,
      decision_id: s.text,
      operator: s.anyText,
      agent: s.anyText,
      developer: s.anyText,
      tool: s.anyText,
      request_digest: s.digest,
      request_octets: octets,
      effect_type: s.anyText,
      irreversibility_class: irreversibility,
      manifest_digest: s.digest,
      policy_digest: s.digest,
      mode,
      constraints: s.list(constraintRecord),
      /** SHA-256 of the Idempotency-Key. */
      key: s.optional(s.digest),
      grant: s.optional(s.anyText),
      supersedes: s.optional(s.digest),
      budgets: s.optional(s.list(budget)),
      /** What its `sum` budgets take, in their order, encrypted for this line alone (promise 8). */
      amounts: s.optional(s.text),
      /** `runtime`: the gate gave leave and its caller acts itself; else the gate sends it. */
      acts: s.optional(s.only('runtime')),
      /** The step that was declared, and what it makes of its object; absent where nothing was declared. */
      intent: s.optional(intentStep),
    }),
    // A short key can be guessed from its hash (promise 8).
    shown: [
      'action_id',
      'decision_id',
      'operator',
      'agent',
      'developer',
      'tool',
      'effect_type',
      'irreversibility_class',
      'manifest_digest',
      'policy_digest',
      'mode',
      'acts',
      'intent',
    ],
  }),
  CAPSULE: line({
    signed: false,
    says: 'A verdict: the capsule, and the COSE_Sign1 statement over it taken apart. `settles` says what becomes of the claims of its action, `about` whose refused call it was, `captured` which octets of its effect the evidence holds, `report_digest` what a runtime reported of it.',
    members: s.record({
      statement: s.oneOf('agent_action', 'outcome'),
      capsule,
      protected: s.text,
      signature: s.text,
      settles: s.optional(settles),
      about: s.optional(about),
      captured: s.optional(captured),
      /** Of what a runtime reported of the act (evidence part `claimed`). */
      report_digest: s.optional(s.digest),
    }),
    shown: ['statement', 'capsule', 'protected', 'signature'],
  }),
  REPLAYED: line({
    signed: false,
    says: 'A recorded response was given again for the same Idempotency-Key; `by` is the action that asked.',
    members: s.record({ action_id: s.text, capsule_id: s.digest, by: s.text }),
    shown: ['action_id', 'capsule_id', 'by'],
  }),
} as const
