import { itemOf, type OpenItem } from '../../core/capsule/open-item.js'
import { supersedesId } from '../../core/journal/line.js'
import type { CapsuleList } from '../../ports/journal.js'
import type { OlderBlocked } from '../../ports/state.js'
import type { Parts } from '../context.js'

type Reading = Pick<Parts, 'state' | 'journal'>

/** An open item (seed §5.4.4), from the state or the journal; null for what is closed or never was open. */
export async function findOpenItem(
  capsuleId: string,
  { state, journal }: Reading,
): Promise<OpenItem | null> {
  const known = await state.openItem(capsuleId)
  if (known !== null) return known
  // Read second: what left the state in between is among the older ones by then.
  const older = await state.olderBlocked()
  return older === null ? null : olderItem(capsuleId, older, journal)
}

/** Blocked items behind a line, in ledger order: those that the state no longer has come first. */
export async function blockedAfter(
  after: number,
  size: number,
  { state, journal }: Reading,
): Promise<readonly OpenItem[]> {
  const { items, older } = await state.blocked()
  const page: OpenItem[] = []
  if (older !== null) {
    for await (const item of olderItems(after, older, journal)) {
      page.push(item)
      if (page.length === size) return page
    }
  }
  for (const item of items) {
    if (page.length === size) break
    if (item.seq > after) page.push(item)
  }
  return page
}

/** A blocked item that the state no longer has, by its journal line. */
async function olderItem(
  capsuleId: string,
  older: OlderBlocked,
  journal: Reading['journal'],
): Promise<OpenItem | null> {
  const lines = await journal.find(capsuleId, { superseding: true })
  if (lines.some((line) => supersedesId(line, capsuleId))) return null
  for (const line of lines) {
    if (line.type !== 'CAPSULE' || line.seq > older.last) continue
    const item = itemOf(line.capsule, line.seq)
    if (item?.verdict_class === 'blocked' && item.capsule_id === capsuleId) return item
  }
  return null
}

const BLOCKED = { verdict: 'blocked' } as const
const PAGE = 200

/** Those with a line number above `after`, oldest first, as far as they are still open. */
async function* olderItems(
  after: number,
  older: OlderBlocked,
  journal: Reading['journal'],
): AsyncGenerator<OpenItem> {
  let next: number | null = Math.max(after, older.first - 1)
  while (next !== null && next < older.last) {
    const page: CapsuleList = await journal.list(BLOCKED, { after: next, limit: PAGE })
    for (const { seq, line } of page.entries) {
      if (seq > older.last) return
      const item = await olderItem(line.capsule.capsule_id, older, journal)
      if (item !== null) yield item
    }
    next = page.next
  }
}
