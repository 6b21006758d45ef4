import { JournalError } from '../../adapters/journal/error.js'
import type { Capsule } from '../../core/capsule/model.js'
import { type Line, readLine } from '../../core/journal/vocabulary.js'
import type { Journal } from '../../ports.js'

/**
 * What a ledger can be filtered by. Capsules name no tool and no agent: both come from the dispatch
 * line of the same action. A refusal has none, so it is found by agent only where the developer it
 * names is the one asked for, and never by tool.
 */
export type LedgerFilter = {
  readonly verdict?: string | undefined
  readonly tool?: string | undefined
  readonly agent?: string | undefined
  /** RFC 3339; the line's own time. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}
export type Entry = {
  readonly seq: number
  readonly at: string
  readonly agent: string | null
  readonly tool: string | null
  readonly capsule: Capsule
}
export type Page = {
  readonly entries: readonly Entry[]
  /** Where to go on; null when there is nothing older. A page may be empty before the end. */
  readonly before: number | null
}

type Sender = { readonly agent: string; readonly tool: string }

export type LedgerReader = {
  /** The entry of a capsule line that is wanted, else null; lines MUST come in journal order. */
  entry(line: Line): Entry | null
  /** The action whose dispatch line stands before the first line read, if this one concludes it. */
  misses(line: Line): string | null
  remember(line: Line): void
}

/** Who sent what is remembered from its dispatch line until its conclusion. */
export function ledgerReader(filter: LedgerFilter): LedgerReader {
  const from = filter.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(filter.from)
  const to = filter.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(filter.to)
  const senders = new Map<string, Sender>()
  const remember = (line: Line): void => {
    if (line.type !== 'ACTION_DISPATCHED') return
    senders.set(line.action_id, { agent: line.agent, tool: line.tool })
  }
  return {
    remember,
    misses(line) {
      if (line.type !== 'CAPSULE') return null
      const { action_id, action_type, effect } = line.capsule
      // Outcomes and passed-through requests are informational and were never dispatched here.
      const dispatched = effect !== undefined && action_type === 'decide'
      return dispatched && !senders.has(action_id) ? action_id : null
    },
    entry(line) {
      remember(line)
      if (line.type !== 'CAPSULE') return null
      const { capsule } = line
      const sender = senders.get(capsule.action_id) ?? null
      senders.delete(capsule.action_id)
      const at = Date.parse(line.at)
      const wanted =
        at >= from &&
        at <= to &&
        (filter.verdict === undefined || filter.verdict === capsule.disposition.verdict_class) &&
        (filter.tool === undefined || filter.tool === sender?.tool) &&
        (filter.agent === undefined || filter.agent === (sender?.agent ?? capsule.developer))
      if (!wanted) return null
      const { agent, tool } = sender ?? { agent: null, tool: null }
      return { seq: line.seq, at: line.at, agent, tool, capsule }
    },
  }
}

/** One request reads so many lines and no more: the journal is the data plane's too. */
const WINDOW = 10_000

/** The newest `limit` matches before a line, newest first. */
export async function browse(
  journal: Pick<Journal, 'head' | 'lines' | 'find'>,
  filter: LedgerFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<Page> {
  const end = Math.min(before ?? Number.POSITIVE_INFINITY, journal.head().seq + 1)
  for (let size = WINDOW; ; size = Math.floor(size / 2)) {
    const start = Math.max(1, end - size)
    try {
      return await readWindow(journal, filter, start, end, limit)
    } catch (error) {
      // Older segments may have been archived; what is here is shown, down to the last line.
      if (!(error instanceof JournalError) || error.code !== 'archived' || size <= 1) throw error
    }
  }
}

async function readWindow(
  journal: Pick<Journal, 'lines' | 'find'>,
  filter: LedgerFilter,
  start: number,
  end: number,
  limit: number,
): Promise<Page> {
  const read = ledgerReader(filter)
  const found: Entry[] = []
  let overflow = false
  let reached = Number.NEGATIVE_INFINITY
  if (start >= end) return { entries: [], before: null }
  for await (const raw of journal.lines(start)) {
    if (raw.seq >= end) break
    if (raw.seq === start) reached = Date.parse(raw.at)
    const line = readLine(raw)
    if (line === null) continue
    const early = read.misses(line)
    if (early !== null) {
      for (const dispatch of await journal.find(early)) read.remember(dispatch)
    }
    const entry = read.entry(line)
    if (entry === null) continue
    found.push(entry)
    if (found.length > limit) {
      found.shift()
      overflow = true
    }
  }
  const over = start <= 1 || (filter.from !== undefined && reached < Date.parse(filter.from))
  const oldest = found[0]
  const next = overflow && oldest !== undefined ? oldest.seq : over ? null : start
  return { entries: found.reverse(), before: next }
}
