import type { Hashing } from '../../crypto/crypto.js'
import type { VerificationRecord } from '../../journal/lines/intent.js'
import { innerHash, merkleTree } from '../../journal/merkle.js'
import type { LineOf } from '../../journal/vocabulary.js'
import {
  type Alert,
  type AuditedApproval,
  type AuditedIntent,
  type CapsuleSeen,
  type Gap,
  MOST_LISTED,
  type Place,
  SAR_VERSION,
  type SessionAudit,
} from './model.js'

type Row = {
  readonly of: Declared
  match: AuditedIntent['match_result']
  capsule: string | null
}
type Declared = AuditedIntent extends infer I
  ? I extends AuditedIntent
    ? Omit<I, 'match_result' | 'capsule_id'>
    : never
  : never

export type Folded = ReturnType<typeof foldSession>

/** One session, line by line. `own` copies a text that would keep its whole line in memory. */
export function foldSession(
  sessionId: string,
  begun: Place,
  crypto: Hashing,
  own: (text: string) => string,
) {
  const inner = innerHash(crypto)
  const capsules = merkleTree(inner)
  const submitted = merkleTree(inner)
  /** By event id, in the order of the steps. */
  const listed = new Map<string, Row>()
  const verdicts = new Map<string, number>()
  const approvals = new Map<
    string,
    { -readonly [M in keyof AuditedApproval]: AuditedApproval[M] }
  >()
  const mandates = new Set<string>()
  const principals = new Set<string>()
  const deciders = new Set<string>()
  const policies = new Set<string>()
  const manifests = new Set<string>()
  const restricted: string[] = []
  const gaps: Gap[] = []
  const alerts: Alert[] = []
  const counts = { matches: 0, denials: 0, mismatches: 0 }
  const first = place(begun)
  let last = first
  let agent: string | null = null
  let openedAt: string | null = null
  let closed: { readonly at: string; readonly why: string } | null = null

  function place({ seq, prev }: Place): Place {
    return { seq, prev: own(prev) }
  }

  return {
    sessionId,
    /** Its opening is among the lines. */
    isWhole: (): boolean => openedAt !== null,
    isClosed: (): boolean => closed !== null,
    /** Every line of the session comes here first. */
    touch(line: Place): void {
      last = place(line)
    },
    opened(line: LineOf<'SESSION_OPENED'>): void {
      agent ??= own(line.agent)
      openedAt ??= own(line.at)
    },
    closed({ reason, at }: LineOf<'SESSION_CLOSED'>): void {
      closed ??= { at: own(at), why: reason }
    },
    presented: (line: LineOf<'MANDATE_PRESENTED'>): void => void mandates.add(own(line.mandate_id)),
    submitted(line: LineOf<'IDP_SUBMITTED'>): void {
      const { idp_id, step_sequence, profile, audit_accessible } = line
      const event_id = own(line.event_id)
      agent ??= own(line.agent)
      submitted.push(own(line.intent_digest))
      if (!audit_accessible) restricted.push(event_id)
      if (listed.size >= MOST_LISTED) return
      const intent_digest = own(line.intent_digest)
      const said = { idp_id: own(idp_id), step_sequence, profile, intent_digest }
      const of: Declared = audit_accessible
        ? { event_id, audit_accessible, ...said }
        : { event_id, audit_accessible }
      listed.set(event_id, { of, match: null, capsule: null })
    },
    lists: (eventId: string): boolean => listed.has(eventId),
    denied: (): void => void counts.denials++,
    mismatched: (): void => void counts.mismatches++,
    transitioned({ principal }: LineOf<'STATE_TRANSITIONED'>): void {
      if (principal !== undefined) principals.add(own(principal))
    },
    /** `eventId`: of the declaration, where it is known. */
    verified(record: VerificationRecord, eventId: string | null, at: string): void {
      const row = eventId === null ? undefined : listed.get(eventId)
      if (row !== undefined) row.match = record.match_result
      if (record.match_result === 'MATCHED') {
        counts.matches++
        return
      }
      const state_transition_id = own(record.state_transition_id)
      gaps.push({ state_transition_id, capsule_id: row?.capsule ?? null })
      alerts.push({
        alert_trigger: 'IDP_COMMITMENT_GAP',
        severity: 'CRITICAL',
        state_transition_id,
        at: own(at),
      })
    },
    asked({ approval_id, holds }: LineOf<'APPROVAL_OPENED'>): void {
      const id = own(approval_id)
      approvals.set(id, { approval_id: id, holds: holds ?? null, outcome: 'hitl_dispatched' })
    },
    voted: (line: LineOf<'APPROVAL_VOTED'>): void => void deciders.add(own(line.voter)),
    resumed({ approval_id }: LineOf<'SESSION_RESUMED'>): void {
      const asked = approvals.get(approval_id)
      if (asked !== undefined) asked.outcome = 'resumed'
    },
    /** `eventId`: of the declaration that it is about. */
    concluded(capsule: CapsuleSeen, eventId: string | null): void {
      const { capsuleId, verdict, decisionId, policyDigest, manifestDigest } = capsule
      const id = own(capsuleId)
      capsules.push(id)
      verdicts.set(own(verdict), (verdicts.get(verdict) ?? 0) + 1)
      if (policyDigest !== null) policies.add(own(policyDigest))
      if (manifestDigest !== null) manifests.add(own(manifestDigest))
      const row = eventId === null ? undefined : listed.get(eventId)
      if (row !== undefined) row.capsule = id
      const asked = decisionId === null ? undefined : approvals.get(decisionId)
      if (asked !== undefined) asked.outcome = own(verdict)
    },
    audit: (): SessionAudit => ({
      sar_version: SAR_VERSION,
      session_id: sessionId,
      agent,
      opened_at: openedAt,
      closed_at: closed?.at ?? null,
      why: closed?.why ?? null,
      mandates: [...mandates],
      verdicts: Object.fromEntries([...verdicts].sort(byName)),
      capsules: { count: capsules.size, root: capsules.root() },
      submitted: { count: submitted.size, root: submitted.root() },
      intents: [...listed.values()].map(shown),
      ...counts,
      gaps: [...gaps],
      approvals: [...approvals.values()].map((asked) => ({ ...asked })),
      alerts: [...alerts],
      restricted: [...restricted],
      principals: [...principals].sort(),
      deciders: [...deciders].sort(),
      policy_digests: [...policies].sort(),
      manifest_digests: [...manifests].sort(),
      first,
      last,
    }),
  }
}

const shown = ({ of, match, capsule }: Row): AuditedIntent => ({
  ...of,
  match_result: match,
  capsule_id: capsule,
})
const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : 1
