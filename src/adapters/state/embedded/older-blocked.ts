import { supersedesId } from '../../../core/journal/line.js'
import type { CapsuleList, Journal } from '../../../ports.js'
import { itemOf, type OlderBlocked, type OpenItem } from './open-items.js'

/** A blocked item that is too old for memory, by its journal line; null if it is closed or never was. */
export async function olderItem(
  capsuleId: string,
  older: OlderBlocked,
  journal: Pick<Journal, 'find'>,
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

/** Those with a line number above `after`, oldest first, as far as they are still open. */
export async function* olderItems(
  after: number,
  older: OlderBlocked,
  journal: Pick<Journal, 'find' | 'list'>,
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

const BLOCKED = { verdict: 'blocked' } as const
const PAGE = 200
