import type { Bounds } from '../../../core/approval/bounds.js'
import type { ConstraintRecord, Mode, Octets } from '../../../core/capsule/model.js'
import type { IrreversibilityClass } from '../../../core/capsule/registries.js'
import type { JournalLine } from '../../../ports.js'

/** The members of the lines this state is a fold over, as the gate writes them. */
export type BudgetLine = {
  readonly constraint: string
  readonly scope: string
  readonly window_seconds: number
  readonly kind: 'count' | 'sum' | 'dedupe'
  readonly amount: string
}
/** ACTION_DISPATCHED: what was claimed, and all that is needed to conclude it after a crash. */
export type Dispatched = {
  readonly action_id: string
  readonly decision_id: string
  readonly operator: string
  readonly agent: string
  readonly developer: string
  readonly tool: string
  readonly request_digest: string
  /** Hex SHA-256 of the Idempotency-Key. */
  readonly key?: string
  readonly grant?: string
  readonly budgets?: readonly BudgetLine[]
  readonly effect_type: string
  readonly irreversibility_class: IrreversibilityClass
  readonly manifest_digest: string
  readonly policy_digest: string
  readonly mode: Mode
  readonly constraints: readonly ConstraintRecord[]
  readonly request_octets: Octets
}
/** On a CAPSULE line: what becomes of the claims of the action it concludes. */
export type Settles = {
  readonly action_id: string
  readonly outcome: 'commit' | 'release'
  readonly replayable: boolean
}
/** HALT and RESUME. */
export type HaltScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'agent' | 'tool' | 'operator'; readonly name: string }
/** CONFIG_CHANGED. */
export type Configured = {
  readonly policy_digest: string
  readonly manifest_digests: readonly string[]
  readonly mode: Mode
}
/** GRANT_ISSUED: for one exact request, or standing: for a tool within bounds. */
export type GrantLine = {
  readonly grant: string
  readonly agent: string
  readonly expires_at: string
  readonly uses: number
} & (
  | {
      readonly standing?: false
      readonly approval_id?: string
      readonly request_digest: string
      readonly policy_digest: string
      readonly manifest_digest: string
    }
  | { readonly standing: true; readonly tool: string; readonly bounds: Bounds }
)

/** A line that does not hold what its type must is a defect of its writer: named, never skipped. */
export function lineError(line: JournalLine, what: string): Error {
  return new Error(`journal line ${line.seq} (${line.type}): ${what}`)
}

export function text(line: JournalLine, member: string): string {
  const value = line[member]
  if (typeof value !== 'string') throw lineError(line, `${member} is not a string`)
  return value
}

/** The line's own members, without the envelope. Callers have checked what they read by name. */
export function members(line: JournalLine): { readonly [member: string]: unknown } {
  const { v, origin, seq, prev, at, type, ...own } = line
  return own
}

export function haltScope(line: JournalLine): HaltScope {
  const scope = line.scope as { kind?: unknown; name?: unknown } | undefined
  switch (scope?.kind) {
    case 'all':
      return { kind: 'all' }
    case 'agent':
    case 'tool':
    case 'operator':
      if (typeof scope.name === 'string') return { kind: scope.kind, name: scope.name }
  }
  throw lineError(line, 'scope names nothing that can be halted')
}
