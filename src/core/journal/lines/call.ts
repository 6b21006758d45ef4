import { capsule, constraintRecord, irreversibility, mode, octets } from '../../capsule/shapes.js'
import {
  anyText,
  count,
  decimal,
  digest,
  flag,
  list,
  type Of,
  oneOf,
  optional,
  record,
  text,
} from '../../json/shape.js'
import { line } from './line-type.js'

/**
 * A windowed constraint's claim, as the fold takes it again (DESIGN §8). `amount` stands in older lines only,
 * whose `scope` is a plain digest; a keyed one stands in all others.
 */
const budget = record({
  constraint: text,
  scope: digest,
  window_seconds: count,
  kind: oneOf('count', 'sum', 'dedupe'),
  amount: optional(decimal),
})
const settles = record({
  action_id: text,
  outcome: oneOf('commit', 'release'),
  replayable: flag,
})
const about = record({
  agent: anyText,
  tool: optional(anyText),
  request_digest: optional(digest),
})
const captured = list(oneOf('request', 'response'))

export type BudgetLine = Of<typeof budget>
/** What becomes of the claims of the action that a capsule concludes. */
export type Settles = Of<typeof settles>
/** The agent, tool and request of a refused call: no line before its capsule names them (DESIGN §5). */
export type About = Of<typeof about>
/**
 * Which octets of an effect are in the evidence under the digest that its capsule names, as the tool's
 * `capture: full` says. Where that digest is salted the store has another one, and the line does not name them.
 */
export type Captured = Of<typeof captured>

/** What a call leaves. */
export const CALL_LINES = {
  ACTION_DISPATCHED: line({
    signed: false,
    says: 'A call is about to be sent. Durable before its first byte leaves, with the evidence from which a restart concludes it after a crash. `amounts` is what it takes from its `sum` budgets, encrypted; older lines have it in clear in `budgets`.',
    members: record({
      action_id: text,
      decision_id: text,
      operator: anyText,
      agent: anyText,
      developer: anyText,
      tool: anyText,
      request_digest: digest,
      request_octets: octets,
      effect_type: anyText,
      irreversibility_class: irreversibility,
      manifest_digest: digest,
      policy_digest: digest,
      mode,
      constraints: list(constraintRecord),
      /** SHA-256 of the Idempotency-Key. */
      key: optional(digest),
      grant: optional(anyText),
      supersedes: optional(digest),
      budgets: optional(list(budget)),
      /** What its `sum` budgets take, in their order, encrypted for this line alone (promise 8). */
      amounts: optional(text),
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
    ],
  }),
  CAPSULE: line({
    signed: false,
    says: 'A verdict: the capsule, and the COSE_Sign1 statement over it taken apart. `settles` says what becomes of the claims of its action, `about` whose refused call it was, `captured` which octets of its effect the evidence holds.',
    members: record({
      statement: oneOf('agent_action', 'outcome'),
      capsule,
      protected: text,
      signature: text,
      settles: optional(settles),
      about: optional(about),
      captured: optional(captured),
    }),
    shown: ['statement', 'capsule', 'protected', 'signature'],
  }),
  REPLAYED: line({
    signed: false,
    says: 'A recorded response was given again for the same Idempotency-Key; `by` is the action that asked.',
    members: record({ action_id: text, capsule_id: digest, by: text }),
    shown: ['action_id', 'capsule_id', 'by'],
  }),
} as const
