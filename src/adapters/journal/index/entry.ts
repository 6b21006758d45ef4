import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'
import type { CapsuleListed, Sender } from './listed.js'

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
  const wanted =
    (filter.verdict === undefined || filter.verdict === capsule.verdict) &&
    (filter.decision === undefined || filter.decision === capsule.decision) &&
    (filter.tool === undefined || filter.tool === tool) &&
    (filter.agent === undefined ||
      filter.agent === (sender === null ? capsule.developer : agent)) &&
    (filter.from === undefined || time >= Date.parse(filter.from)) &&
    (filter.to === undefined || time <= Date.parse(filter.to))
  return wanted ? { seq, at, agent, tool, line } : null
}
