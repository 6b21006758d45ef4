import { isIndexedType } from '../../../core/journal/line.js'
import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'

/** Whose call a capsule is about, as far as a line names them. */
export type Sender = { readonly agent: string | null; readonly tool: string | null }

/** What the capsule list keeps of one line. */
export type Listed = DispatchListed | CapsuleListed
export type DispatchListed = { readonly kind: 'dispatch'; readonly action: string } & Sender
export type CapsuleListed = {
  readonly kind: 'capsule'
  readonly action: string
  readonly verdict: string | null
  readonly decision: string
  readonly developer: string | null
  /** From the line itself: a refusal says whose call it was. */
  readonly about: Sender | null
  /** It concludes a dispatch: without `about`, that line names the sender. */
  readonly dispatched: boolean
}

type Members = { readonly [member: string]: unknown }
const NOTHING: Members = {}

/** All that the capsule list reads of a line's members; null for a line that is not listed. */
export function listedOf(type: string, members: () => Members): Listed | null {
  if (!isIndexedType(type)) return null
  const line = members()
  if (type === 'ACTION_DISPATCHED') {
    const action = textOf(line.action_id)
    return action === null ? null : { kind: 'dispatch', action, ...senderOf(line) }
  }
  const capsule = membersOf(line.capsule) ?? NOTHING
  const action = textOf(capsule.action_id) ?? ''
  const about = membersOf(line.about)
  return {
    kind: 'capsule',
    action,
    verdict: textOf(membersOf(capsule.disposition)?.verdict_class),
    decision: textOf(capsule['dev.capsulegate.decision_id']) ?? action,
    developer: textOf(capsule.developer),
    about: about === null ? null : senderOf(about),
    // Outcomes and passed-through requests have an effect too; they are informational.
    dispatched:
      membersOf(line.settles) !== null ||
      (membersOf(capsule.effect) !== null && capsule.action_type === 'decide'),
  }
}

const senderOf = ({ agent, tool }: Members): Sender => ({
  agent: textOf(agent),
  tool: textOf(tool),
})
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const membersOf = (value: unknown): Members | null => (isMembers(value) ? value : null)
const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null

/** The entry of a capsule line, by its own members; null when the filter does not want it. */
export function entryOf(
  line: JournalLine,
  capsule: CapsuleListed,
  sender: Sender | null,
  filter: CapsuleFilter,
): CapsuleEntry<JournalLine> | null {
  const { seq, at } = line
  const time = Date.parse(at)
  const { agent, tool } = sender ?? { agent: null, tool: null }
  const { verdict, decision, developer } = capsule
  const is = (wanted: string | undefined, found: string | null): boolean =>
    wanted === undefined || wanted === found
  const wanted =
    is(filter.verdict, verdict) &&
    is(filter.decision, decision) &&
    is(filter.tool, tool) &&
    is(filter.agent, sender === null ? developer : agent) &&
    (filter.from === undefined || time >= Date.parse(filter.from)) &&
    (filter.to === undefined || time <= Date.parse(filter.to))
  return wanted ? { seq, at, agent, tool, line } : null
}
