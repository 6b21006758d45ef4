import type { Capsule } from '../capsule/model.js'
import type { LineOf } from '../journal/vocabulary.js'

/**
 * One act as other formats are made from it: its CAPSULE line and its dispatch line, and nothing else, so that whoever
 * has the journal makes the same. What neither says is not known here.
 */
export type Act = {
  readonly capsule: Capsule
  readonly agent: string
  /** Null: the call came to no rule. */
  readonly tool: string | null
  /** The manifest's id, from the public document of its digest; null: none was reached, or it is not here. */
  readonly manifestId: string | null
  /** The session of a declared call. */
  readonly sessionId: string | null
}

type Lines = {
  readonly line: LineOf<'CAPSULE'>
  readonly dispatched: LineOf<'ACTION_DISPATCHED'> | null
}

export function actOf({ line, dispatched }: Lines, manifestId: string | null): Act {
  const { capsule, about } = line
  return {
    capsule,
    agent: dispatched?.agent ?? about?.agent ?? capsule.developer,
    tool: dispatched?.tool ?? about?.tool ?? null,
    manifestId,
    sessionId: dispatched?.intent?.session_id ?? null,
  }
}

/** What became of it, as far as the record says. */
export type Outcome =
  /** The response was read whole, and is a success. */
  | 'confirmed'
  /** The tool said that it failed. */
  | 'failed'
  /** Bytes left, and nobody saw what came of them. */
  | 'unconfirmed'
  /** People are asked, or somebody has to be. */
  | 'waiting'
  /** Nothing was sent, and will not be. */
  | 'stopped'

const WAITING: ReadonlySet<string> = new Set([
  'hitl_dispatched',
  'needs_decision',
  'deferred',
  'escalated',
])

export function outcomeOf({ effect, disposition }: Capsule): Outcome {
  if (effect === undefined || effect.status === 'planned') {
    return WAITING.has(disposition.verdict_class) ? 'waiting' : 'stopped'
  }
  switch (effect.status) {
    case 'confirmed':
      return 'confirmed'
    case 'failed':
      return 'failed'
    case 'dispatched':
    case 'reverted':
      return 'unconfirmed'
  }
}

/** On whose word it was as it was. */
export type Authority =
  /** A person let exactly this run. */
  | 'human_approved'
  /** A person has to decide, is deciding, or refused. */
  | 'escalated'
  /** Nothing was enforced: observe mode, or a route that is passed through. */
  | 'autonomous'
  | 'policy'

export const PASS_THROUGH = 'dev.capsulegate.pass_through'

export function authorityOf(capsule: Capsule): Authority {
  const { disposition, effect } = capsule
  const { human_disposed, decision, verdict_class } = disposition
  if (human_disposed) return decision === 'accept' ? 'human_approved' : 'escalated'
  if (WAITING.has(verdict_class) || verdict_class === 'expired') return 'escalated'
  // A request to people that nobody answered ends as a timeout that supersedes it.
  if (verdict_class === 'timeout' && effect === undefined && capsule.chain !== undefined)
    return 'escalated'
  const isOpen = capsule['dev.capsulegate.mode'] === 'observe' || effect?.type === PASS_THROUGH
  return isOpen && effect !== undefined ? 'autonomous' : 'policy'
}
