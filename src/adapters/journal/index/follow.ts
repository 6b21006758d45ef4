import type { CapsuleEntry, CapsuleFilter, JournalLine } from '../../../ports/journal.js'
import { findDispatch } from '../read/find.js'
import { readJournal } from '../read/read-journal.js'
import type { Store } from './catalog.js'
import { entryOf } from './entry.js'
import { listedOf, type Sender } from './listed.js'

/** Capsules after the last line of a listing, as they are written; who sent them may stand before it. */
export async function* followCapsules(
  store: Store,
  last: { readonly segment: number; readonly seq: number },
  filter: CapsuleFilter,
  signal: AbortSignal,
): AsyncGenerator<CapsuleEntry<JournalLine>> {
  const sent = new Map<string, Sender>()
  const earlier = async (action: string): Promise<Sender | null> => {
    const found = await findDispatch(store, last.segment + 1, action)
    return found === 'archived' ? null : found
  }
  for await (const { line } of readJournal(store.dir, { follow: { signal }, from: last.segment })) {
    const listed = line.seq > last.seq ? listedOf(line.type, () => line) : null
    if (listed?.kind === 'dispatch') sent.set(listed.action, listed)
    if (listed?.kind !== 'capsule') continue
    const { action, about, dispatched } = listed
    const dispatch = dispatched ? (sent.get(action) ?? (await earlier(action))) : null
    sent.delete(action)
    const entry = entryOf(line, listed, about ?? dispatch, filter)
    if (entry !== null) yield entry
  }
}
