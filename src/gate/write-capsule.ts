import { buildCapsule } from '../core/capsule/build.js'
import type { CapsuleInput, Identity } from '../core/capsule/input.js'
import type { Capsule } from '../core/capsule/model.js'
import { buildOutcome, type OutcomeInput } from '../core/capsule/outcome.js'
import { capsuleEntry } from '../core/journal/entry.js'
import type { About, Captured } from '../core/journal/lines/call.js'
import { subjectUrn } from '../core/statement/header.js'
import { toSign } from '../core/statement/sign.js'
import type { EvidencePart, EvidenceRecord } from '../ports/evidence.js'
import type { JournalEntry } from '../ports/journal.js'
import type { Settlement } from '../ports/state.js'
import type { Parts } from './context.js'

/** One thing that happened, as the record will say it. */
export type Happening = {
  readonly what:
    | { readonly kind: 'verdict'; readonly input: CapsuleInput }
    /** A consequence of an earlier action, which its statement keeps as subject (seed §3.3). */
    | { readonly kind: 'outcome'; readonly input: OutcomeInput; readonly of: Subject }
  /** The private record it commits to; durable before the capsule is. */
  readonly evidence: EvidenceRecord | null
  /**
   * Evidence is handed to the kernel first and synced beside the line. A person decides on what
   * \`awaited\` evidence holds, so it is durable before the line is even handed over.
   */
  readonly awaited?: boolean
  /** What becomes of what its action claimed: given back, or spent, with a response to replay or not. */
  readonly settles?:
    | { readonly outcome: 'release' }
    | { readonly outcome: 'commit'; readonly replayable: boolean }
  readonly about?: About
  /** Octets of the effect that the evidence holds whole (`capture: full`). */
  readonly captured?: Captured
  /** Lines that stand beside the capsule in one append. */
  readonly beside?: (capsule: Capsule) => readonly JournalEntry[]
  /** Concludes something that was sent: may use the space set aside for that. */
  readonly urgent?: boolean
  /** Told of the capsule before it is written; MUST NOT throw. */
  readonly announce?: (capsule: Capsule) => void
}
type Subject = { readonly operator: string; readonly actionId: string }

type Writing = Pick<Parts, 'journal' | 'evidence' | 'state' | 'crypto' | 'seam'>

/**
 * The only writer of capsules: built, handed to the journal, which signs it, and durable, with its
 * evidence, before this resolves (promises 1 and 8).
 */
export async function writeCapsule(happening: Happening, parts: Writing): Promise<Capsule> {
  const { what, evidence, urgent = false } = happening
  const capsule =
    what.kind === 'verdict'
      ? buildCapsule(what.input, parts.crypto)
      : buildOutcome(what.input, parts.crypto)
  happening.announce?.(capsule)
  await parts.seam('before_capsule')
  const put = evidence === null ? undefined : parts.evidence.put(evidence, { urgent })
  if (happening.awaited === true) await put
  const entries = [entryOf(capsule, happening), ...(happening.beside?.(capsule) ?? [])]
  await Promise.all([put, parts.journal.append(entries, { urgent })])
  await parts.seam('after_capsule')
  const { settles } = happening
  if (settles !== undefined) {
    await parts.state.settle(capsule.action_id, settlement(settles, capsule))
  }
  return capsule
}

function entryOf(capsule: Capsule, { what, settles, about, captured }: Happening): JournalEntry {
  const { action_id } = capsule
  const statement = what.kind === 'verdict' ? 'agent_action' : 'outcome'
  const subject =
    what.kind === 'outcome' ? subjectUrn(what.of.operator, what.of.actionId) : undefined
  return capsuleEntry(toSign(capsule, statement, subject), {
    statement,
    capsule,
    ...(settles === undefined ? {} : { settles: { action_id, ...told(settles) } }),
    ...(about === undefined ? {} : { about }),
    ...(captured === undefined ? {} : { captured }),
  })
}

type Settles = NonNullable<Happening['settles']>

const told = (settles: Settles) =>
  settles.outcome === 'commit' ? settles : { outcome: settles.outcome, replayable: false }

const settlement = (settles: Settles, { capsule_id: capsuleId }: Capsule): Settlement =>
  settles.outcome === 'release'
    ? { kind: 'release' }
    : { kind: 'commit', capsuleId, replayable: settles.replayable }

/** Who acted for whom, and when: an action of its own that was decided. */
export const decidedAction = (
  action_id: string,
  { operator, developer }: Pick<Identity, 'operator' | 'developer'>,
  timestamp: string,
): Identity => ({ action_id, action_type: 'decide', operator, developer, timestamp })

/** The evidence of a capsule that no call wrote: under its subject's key, or the operator's of its day. */
export const evidenceOf = (
  { operator, actionId }: Subject,
  at: string,
  parts: readonly EvidencePart[],
  subject: string | null = null,
): EvidenceRecord => ({ actionId, operator, subject, at, parts })
