import type { Capsule } from '../capsule/model.js'
import type { Line, LineOf, LineType } from './vocabulary.js'

/** A digest that must have an evidence record, and the member of the line that holds it. */
export type EvidenceDigest = { readonly member: string; readonly digest: string }

type Declared<T extends LineType> = (line: LineOf<T>) => readonly EvidenceDigest[]

const none = (): readonly EvidenceDigest[] => []
/** Who did it; older lines name them in clear. */
const actor = (
  line: LineOf<'HALT' | 'RESUME' | 'EVIDENCE_ERASING' | 'EVIDENCE_ERASED'>,
): readonly EvidenceDigest[] =>
  'evidence_digest' in line ? named('evidence_digest', line.evidence_digest) : []

/**
 * Which digests of a line stand for a private record that must be in the evidence store (DESIGN §5). A digest
 * that is not here commits to something the gate does not keep: `request_digest`, `response_digest`, octets of
 * tools without `capture: full`. A dispatch is not here either: its capsule names the same constraints, or says
 * that their evidence is missing.
 */
const DECLARED: { readonly [T in LineType]: Declared<T> } = {
  CAPSULE: ({ capsule, captured = [] }) => [
    ...constraintDigests(capsule),
    ...named('capsule.disposition.reason_digest', capsule.disposition.reason_digest),
    ...captured.flatMap((which) => {
      const name = `dev.capsulegate.${which}_octets` as const
      return named(`capsule.effect.${name}.digest`, capsule.effect?.[name]?.digest)
    }),
  ],
  APPROVAL_OPENED: ({ document_digest }) => named('document_digest', document_digest),
  APPROVAL_VOTED: ({ document_digest, evidence_digest }) => [
    ...named('document_digest', document_digest),
    ...named('evidence_digest', evidence_digest),
  ],
  REFUSAL_LIFTED: ({ evidence_digest }) => named('evidence_digest', evidence_digest),
  ITEM_CLOSED: ({ evidence_digest }) => named('evidence_digest', evidence_digest),
  GRANT_ISSUED: (line) =>
    line.standing === true ? named('evidence_digest', line.evidence_digest) : [],
  ACTION_DISPATCHED: none,
  REPLAYED: none,
  APPROVAL_JOINED: none,
  APPROVAL_REMINDER: none,
  DECISION_LOST: none,
  REFUSAL_REPEATED: none,
  GRANT_REVOKED: none,
  HALT: actor,
  RESUME: actor,
  CONFIG_CHANGED: none,
  EVIDENCE_ERASING: actor,
  EVIDENCE_ERASED: actor,
  HEAD: none,
  ADOPTED: none,
  SEGMENT_SEALED: none,
  REFUSALS_DROPPED: none,
  WEBHOOK_DISABLED: none,
  WEBHOOK_ENABLED: none,
  WEBHOOK_DEAD: none,
}

export const evidenceDigestsOf = (line: Line): readonly EvidenceDigest[] =>
  (DECLARED[line.type] as Declared<LineType>)(line)

const named = (member: string, digest: string | undefined): readonly EvidenceDigest[] =>
  digest === undefined ? [] : [{ member, digest }]

const constraintDigests = ({ constraints = [] }: Capsule): readonly EvidenceDigest[] =>
  constraints.flatMap(({ id, evidence_digest }) =>
    named(`capsule.constraints ${id}`, evidence_digest),
  )
