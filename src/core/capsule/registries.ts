/** The six registries of seed §12.1, initial contents verbatim. Unknown values inform, never reject. */
export const VERDICT_CLASSES = [
  'executed',
  'blocked',
  'hitl_dispatched',
  'denied',
  'timeout',
  'errored',
  'engine_failure',
  'deferred',
  'needs_decision',
  'expired',
  'escalated',
  'resolved',
] as const
export const DECISIONS = ['accept', 'reject', 'needs_input', 'deferred'] as const
export const EFFECT_TYPES = ['write_order', 'send_payment'] as const
/** Ordered by ascending consequence. */
export const IRREVERSIBILITY_CLASSES = [
  'two_way',
  'one_way_recoverable',
  'one_way_consequential',
  'one_way_terminal',
] as const
export const EFFECT_ATTESTATIONS = ['gate_executed', 'runtime_claimed'] as const
export const CHAIN_RELATIONS = ['supersedes'] as const

export type VerdictClass = (typeof VERDICT_CLASSES)[number]
export type DispositionDecision = (typeof DECISIONS)[number]
export type IrreversibilityClass = (typeof IRREVERSIBILITY_CLASSES)[number]
export type EffectAttestation = (typeof EFFECT_ATTESTATIONS)[number]
export type ChainRelation = (typeof CHAIN_RELATIONS)[number]

/** Seed §5.4.2: classes that by their kind never dispatch; their effect_mode is not_applicable. */
export const NEVER_DISPATCH = [
  'blocked',
  'hitl_dispatched',
  'denied',
  'engine_failure',
  'deferred',
  'needs_decision',
  'expired',
  'escalated',
  'resolved',
] as const satisfies readonly VerdictClass[]
export type NeverDispatch = (typeof NEVER_DISPATCH)[number]
export type MayDispatch = Exclude<VerdictClass, NeverDispatch>

/** Seed §5.4.4, the open-items predicate. */
export const OPEN_CLASSES = [
  'deferred',
  'needs_decision',
  'hitl_dispatched',
  'escalated',
  'blocked',
] as const satisfies readonly VerdictClass[]
