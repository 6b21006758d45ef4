import { supersedesId } from '../../../core/journal/line.js'
import { readLine } from '../../../core/journal/vocabulary.js'
import type { Journal } from '../../../ports.js'
import { itemOf, type OlderBlocked, type OpenItem } from './open-items.js'

type Lines = Pick<Journal, 'find' | 'lines'>

/** A blocked item that is too old for memory, by its journal line; null if it is closed or never was. */
export async function olderItem(
  capsuleId: string,
  older: OlderBlocked,
  journal: Pick<Lines, 'find'>,
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
  journal: Lines,
): AsyncGenerator<OpenItem> {
  if (after >= older.last) return
  for await (const raw of journal.lines(Math.max(after + 1, older.first))) {
    if (raw.seq > older.last) return
    const line = readLine(raw)
    if (line?.type !== 'CAPSULE') continue
    const { capsule_id, disposition } = line.capsule
    if (disposition.verdict_class !== 'blocked') continue
    const item = await olderItem(capsule_id, older, journal)
    if (item !== null) yield item
  }
}
