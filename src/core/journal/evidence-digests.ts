import type { Line, LineOf, LineType } from './vocabulary.js'

/** A digest that must have an evidence record, and the member of the line that holds it. */
export type EvidenceDigest = { readonly member: string; readonly digest: string }

/**
 * For every type of line, so that a new one cannot be forgotten: which of its digests stand for a private record that must be in the evidence store (DESIGN §5). A digest
 * that is not here commits to something the gate does not keep: `request_digest`, `response_digest`, octets of
 * tools without `capture: full`. A dispatch is not here either: its capsule names the same constraints, or says
 * that their evidence is missing. Older lines, and grants for one request, lack `evidence_digest`.
 */
const DECLARED: {
  readonly [T in Exclude<LineType, 'CAPSULE'>]: readonly Exclude<keyof Digests, 'type'>[]
} = {
  APPROVAL_OPENED: ['document_digest'],
  APPROVAL_VOTED: ['document_digest', 'evidence_digest'],
  REFUSAL_LIFTED: ['evidence_digest'],
  ITEM_CLOSED: ['evidence_digest'],
  GRANT_ISSUED: ['evidence_digest'],
  HALT: ['evidence_digest'],
  RESUME: ['evidence_digest'],
  EVIDENCE_ERASING: ['evidence_digest'],
  EVIDENCE_ERASED: ['evidence_digest'],
  TOOL_ACCEPTED: ['evidence_digest'],
  SESSION_OPENED: ['evidence_digest'],
  SESSION_CLOSED: ['evidence_digest'],
  MANDATE_PRESENTED: ['evidence_digest'],
  MANDATE_REVOKED: ['evidence_digest'],
  MISSION_SET: ['evidence_digest'],
  OBJECT_SET: ['evidence_digest'],
  IDP_SUBMITTED: ['evidence_digest'],
  SESSION_AUDITED: [],
  SESSION_RESUMED: [],
  IDP_MISSION_REF_MISMATCH_REJECTED: [],
  CEDAR_DENY_RECORDED: [],
  STATE_TRANSITIONED: [],
  ACTION_RESULT_RECORDED: [],
  IDP_COMMITMENT_VERIFIED: [],
  IDP_COMMITMENT_GAP: [],
  ACTION_DISPATCHED: [],
  REPLAYED: [],
  APPROVAL_JOINED: [],
  APPROVAL_REMINDER: [],
  DECISION_LOST: [],
  REFUSAL_REPEATED: [],
  GRANT_REVOKED: [],
  CONFIG_CHANGED: [],
  HEAD: [],
  ADOPTED: [],
  SEGMENT_SEALED: [],
  REFUSALS_DROPPED: [],
  WEBHOOK_DISABLED: [],
  WEBHOOK_ENABLED: [],
  WEBHOOK_DEAD: [],
  TOOLS_PINNED: [],
  TOOL_CHANGED: [],
  SERVER_ASKED: [],
  SERVER_FAULT: [],
}

type Digests = Pick<Line, 'type'> & {
  readonly document_digest?: string
  readonly evidence_digest?: string
}

export function evidenceDigestsOf(line: Line): readonly EvidenceDigest[] {
  if (line.type === 'CAPSULE') return capsuleDigests(line)
  const members: Digests = line
  return DECLARED[line.type].flatMap((member) => named(member, members[member]))
}

/** Digests of a line that stand for a public document: without it verdicts cannot be derived, or changes shown. */
export function documentDigestsOf(line: Line): readonly EvidenceDigest[] {
  switch (line.type) {
    case 'CONFIG_CHANGED':
      return [
        ...named('policy_digest', line.policy_digest),
        ...line.manifest_digests.flatMap((digest) => named('manifest_digests', digest)),
      ]
    case 'TOOLS_PINNED':
      return line.tools.flatMap(({ tool, definition }) => named(`tools ${tool}`, definition))
    case 'SESSION_AUDITED':
      return named('audit_digest', line.audit_digest)
    case 'TOOL_CHANGED':
      return named('seen', line.seen)
    default:
      return []
  }
}

function capsuleDigests({
  capsule,
  captured = [],
  report_digest,
}: LineOf<'CAPSULE'>): readonly EvidenceDigest[] {
  const { constraints = [], disposition, effect } = capsule
  return [
    ...constraints.flatMap(({ id, evidence_digest }) =>
      named(`capsule.constraints ${id}`, evidence_digest),
    ),
    ...named('capsule.disposition.reason_digest', disposition.reason_digest),
    ...named('report_digest', report_digest),
    ...captured.flatMap((which) => {
      const name = `dev.capsulegate.${which}_octets` as const
      return named(`capsule.effect.${name}.digest`, effect?.[name]?.digest)
    }),
  ]
}

const named = (member: string, digest: string | undefined): readonly EvidenceDigest[] =>
  digest === undefined ? [] : [{ member, digest }]
