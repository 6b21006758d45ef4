import { buildCapsule } from '../core/capsule/build.js'
import type { CapsuleInput, Identity } from '../core/capsule/input.js'
import type { Capsule } from '../core/capsule/model.js'
import { buildOutcome, type OutcomeInput } from '../core/capsule/outcome.js'
import { capsuleEntry } from '../core/journal/entry.js'
import type { About, Captured, Settles } from '../core/journal/lines/call.js'
import { subjectUrn } from '../core/statement/header.js'
import { toSign } from '../core/statement/sign.js'
import type { EvidenceRecord } from '../ports/evidence.js'
import type { JournalEntry } from '../ports/journal.js'
import type { Parts } from './context.js'

/** What is written with a capsule; this file is their only writer. */
export type WrittenWith = {
  /** The private record it commits to; durable before this resolves. */
  readonly evidence: EvidenceRecord | null
  /**
   * Evidence is handed to the kernel first and synced at the same time as the line. A person decides on what
   * `awaited` evidence holds, so it is durable before the line is even handed over.
   */
  readonly awaited?: boolean
  /** What becomes of what its action reserved: given back, or spent, with a response to replay or not. */
  readonly settles?: Omit<Settles, 'action_id'>
  readonly about?: About
  /** Octets of the effect that the evidence holds whole (`capture: full`). */
  readonly captured?: Captured
  /** Of what a runtime reported; the evidence holds it. */
  readonly reportDigest?: string
  /** Further lines of the same append. */
  readonly beside?: (capsule: Capsule) => readonly JournalEntry[]
  /** What this capsule brings about, in the same append behind those lines. */
  readonly following?: Following
  /** Concludes something that was sent: may use the space set aside for that. */
  readonly urgent?: boolean
  /** Called with the capsule before it is written; MUST NOT throw. */
  readonly announce?: (capsule: Capsule) => void
}

/** A second capsule. People decide on what its evidence holds, so that is durable before any line is handed over. */
export type Following = {
  readonly input: CapsuleInput
  readonly evidence: EvidenceRecord
  readonly about: About
  readonly beside: (capsule: Capsule) => readonly JournalEntry[]
}

type Writing = Pick<Parts, 'journal' | 'evidence' | 'state' | 'crypto' | 'seam'>

/** A verdict on an action. Resolves when the capsule and its evidence are durable (promises 1 and 8). */
export const writeCapsule = (
  input: CapsuleInput,
  written: WrittenWith,
  parts: Writing,
): Promise<Capsule> => write(buildCapsule(input, parts.crypto), ['agent_action'], written, parts)

/** A consequence of an earlier action, which is the subject of its statement (seed §3.3). */
export const writeOutcome = (
  input: OutcomeInput,
  { operator, action_id }: Pick<Capsule, 'operator' | 'action_id'>,
  written: WrittenWith,
  parts: Writing,
): Promise<Capsule> => {
  const statement = ['outcome', subjectUrn(operator, action_id)] as const
  return write(buildOutcome(input, parts.crypto), statement, written, parts)
}

/** The journal signs the capsule where it writes the line. */
async function write(
  capsule: Capsule,
  [statement, subject]: readonly [statement: 'agent_action' | 'outcome', subject?: string],
  {
    evidence,
    awaited,
    settles,
    about,
    captured,
    reportDigest,
    beside,
    following,
    urgent = false,
    announce,
  }: WrittenWith,
  parts: Writing,
): Promise<Capsule> {
  announce?.(capsule)
  await parts.seam('before_capsule')
  const put = evidence === null ? undefined : parts.evidence.put(evidence, { urgent })
  if (awaited === true) await put
  const { action_id, capsule_id: capsuleId } = capsule
  const entry = capsuleEntry(toSign(capsule, statement, subject), {
    statement,
    capsule,
    ...(settles === undefined ? {} : { settles: { action_id, ...settles } }),
    ...(about === undefined ? {} : { about }),
    ...(captured === undefined ? {} : { captured }),
    ...(reportDigest === undefined ? {} : { report_digest: reportDigest }),
  })
  const entries = [entry, ...(beside?.(capsule) ?? [])]
  if (following !== undefined) entries.push(...(await followingEntries(following, parts)))
  await Promise.all([put, parts.journal.append(entries, { urgent })])
  await parts.seam('after_capsule')
  if (settles !== undefined) {
    const { outcome: kind, replayable } = settles
    const settlement = kind === 'release' ? { kind } : { kind, capsuleId, replayable }
    await parts.state.settle(action_id, settlement)
  }
  return capsule
}

async function followingEntries(
  { input, evidence, about, beside }: Following,
  parts: Writing,
): Promise<readonly JournalEntry[]> {
  await parts.evidence.put(evidence, { urgent: true })
  const capsule = buildCapsule(input, parts.crypto)
  const statement = 'agent_action'
  return [
    capsuleEntry(toSign(capsule, statement), { statement, capsule, about }),
    ...beside(capsule),
  ]
}

/** The identity of an action in which something was decided. */
export const decidedAction = (
  action_id: string,
  { operator, developer }: Pick<Identity, 'operator' | 'developer'>,
  timestamp: string,
): Identity => ({ action_id, action_type: 'decide', operator, developer, timestamp })
