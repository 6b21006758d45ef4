import type { JournalLine } from '../../ports.js'

/**
 * Which members of a journal line a viewer may see, by type; a type that is not listed shows its
 * envelope only. ACTION_DISPATCHED keeps back its budgets (amounts are arguments) and the hash of the
 * idempotency key; sealed intents and votes keep back everything but ids (promise 8).
 */
const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  CAPSULE: ['statement', 'capsule', 'protected', 'signature'],
  ACTION_DISPATCHED: [
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
  REPLAYED: ['action_id', 'capsule_id', 'by'],
  HALT: ['scope', 'by'],
  RESUME: ['scope', 'by'],
  CONFIG_CHANGED: ['policy_digest', 'manifest_digests', 'mode'],
  SEGMENT_SEALED: ['segment', 'size', 'root', 'head'],
  APPROVAL_OPENED: ['approval_id', 'capsule_id', 'agent', 'operator', 'tool'],
  APPROVAL_JOINED: ['approval_id'],
  APPROVAL_VOTED: ['approval_id', 'outcome'],
  REFUSAL_REPEATED: ['approval_id', 'capsule_id'],
  REFUSAL_LIFTED: ['approval_id'],
  GRANT_ISSUED: ['grant', 'agent', 'tool', 'expires_at', 'standing'],
  GRANT_REVOKED: ['grant'],
  EVIDENCE_ERASING: ['operator', 'day', 'by'],
  EVIDENCE_ERASED: ['operator', 'day', 'by', 'records'],
}
const ENVELOPE = ['v', 'origin', 'seq', 'prev', 'at', 'type'] as const

export function publicLine(line: JournalLine): { readonly [member: string]: unknown } {
  const shown: Record<string, unknown> = {}
  const listed = Object.hasOwn(PUBLIC, line.type) ? (PUBLIC[line.type] ?? []) : []
  for (const member of [...ENVELOPE, ...listed]) {
    if (Object.hasOwn(line, member)) shown[member] = line[member]
  }
  return shown
}
