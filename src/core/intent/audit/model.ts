import type { Line, LineOf } from '../../journal/vocabulary.js'

export const SAR_VERSION = 'gate.session-audit/v1'
/** Declarations that a record lists one by one; of all others it has counts and the roots. */
export const MOST_LISTED = 1000

/** A line by number, and the hash of the line before it, which fixes all lines up to there. */
export type Place = { readonly seq: number; readonly prev: string }

/** A declaration of the session. Of a restricted one it says only that it was there and what came of it (§4.2). */
export type AuditedIntent =
  | (Outcome & {
      readonly event_id: string
      readonly audit_accessible: true
      readonly idp_id: string
      readonly step_sequence: number
      readonly profile: string
      readonly intent_digest: string
    })
  | (Outcome & { readonly event_id: string; readonly audit_accessible: false })
type Outcome = {
  /** Of the record of its verification; null: it was not sent, or a crash left it open. */
  readonly match_result: 'MATCHED' | 'IDP_COMMITMENT_GAP' | null
  /** The newest capsule of its call. */
  readonly capsule_id: string | null
}
export type AuditedApproval = {
  readonly approval_id: string
  /** What waited for it: the session, its call, or only the call itself. */
  readonly holds: 'session' | 'call' | null
  /** `resumed`, or the verdict of its newest capsule; `hitl_dispatched` while it is open. */
  readonly outcome: string
}

/**
 * What a session was, from its lines alone, so that a verifier derives the same record from the same lines. It
 * holds no words of an agent, no argument and no name of a person.
 */
export type SessionAudit = {
  readonly sar_version: typeof SAR_VERSION
  readonly session_id: string
  readonly agent: string | null
  /** Null: in lines that are not here. */
  readonly opened_at: string | null
  /** Null: it is open. */
  readonly closed_at: string | null
  readonly why: string | null
  readonly mandates: readonly string[]
  /** Capsules of the session, by verdict class. */
  readonly verdicts: { readonly [verdict: string]: number }
  readonly capsules: { readonly count: number; readonly root: string }
  readonly submitted: {
    readonly count: number
    /** RFC 6962 root; the leaves are the digests of the received octets, in the order of the steps. */
    readonly root: string
  }
  /** The first of them. */
  readonly intents: readonly AuditedIntent[]
  readonly matches: number
  readonly denials: number
  readonly mismatches: number
  readonly gaps: readonly Gap[]
  readonly approvals: readonly AuditedApproval[]
  readonly alerts: readonly Alert[]
  /** Event ids of declarations that auditors may not read; all of them (§4.2). */
  readonly restricted: readonly string[]
  /** Pseudonyms of the persons for whom objects were changed, and of those who decided. */
  readonly principals: readonly string[]
  readonly deciders: readonly string[]
  readonly policy_digests: readonly string[]
  readonly manifest_digests: readonly string[]
  readonly first: Place
  readonly last: Place
}
export type Gap = { readonly state_transition_id: string; readonly capsule_id: string | null }
export type Alert = {
  readonly alert_trigger: 'IDP_COMMITMENT_GAP'
  readonly severity: 'CRITICAL'
  readonly state_transition_id: string
  readonly at: string
}

/** What of a capsule's line a record is made from. */
export type CapsuleSeen = Place & {
  readonly type: 'CAPSULE'
  readonly at: string
  readonly capsuleId: string
  readonly actionId: string
  readonly decisionId: string | null
  readonly intentRef: string | null
  readonly verdict: string
  readonly policyDigest: string | null
  readonly manifestDigest: string | null
  /** Sent and observed: lines on the transition stand behind it in the same append. */
  readonly transits: boolean
}
/** A line as the fold takes it. */
export type AuditLine = Exclude<Line, LineOf<'CAPSULE'>> | CapsuleSeen

export function auditLine(line: Line): AuditLine {
  if (line.type !== 'CAPSULE') return line
  const { capsule, seq, prev, at } = line
  return {
    type: 'CAPSULE',
    seq,
    prev,
    at,
    capsuleId: capsule.capsule_id,
    actionId: capsule.action_id,
    decisionId: capsule['dev.capsulegate.decision_id'] ?? null,
    intentRef: capsule['dev.capsulegate.intent_ref'] ?? null,
    verdict: capsule.disposition.verdict_class,
    policyDigest: capsule['dev.capsulegate.policy_digest'] ?? null,
    manifestDigest: capsule['dev.capsulegate.manifest_digest'] ?? null,
    transits: capsule.effect !== undefined,
  }
}
