import type { LineOf } from '../../../../core/journal/vocabulary.js'
import type { CommitRequest } from '../../../../ports/state.js'
import { createRecent } from './recent.js'
import { createReplayIndex, replayKey } from './replay-index.js'

/** What was committed and has no line yet. */
type Reserved = CommitRequest & { readonly name: string }

/** How many recent commits are kept with their action, so that a caller whose connection broke finds it. */
const RECENT = 4096

/** Ids of declarations, by object: those on record, and those committed whose line is on its way. */
export function createCommittedIds() {
  const index = createReplayIndex()
  const reserved = new Map<string, Reserved>()
  /** Actions by the names that they reserved, and by those that were committed last. */
  const byName = new Map<string, string>()
  const recent = createRecent(RECENT)

  return {
    /** What an id is found by. */
    nameOf: (soId: string, idpId: string): string => replayKey(soId, idpId).toString('latin1'),
    /** Null: it is free. */
    find(name: string): { readonly actionId: string | null } | null {
      if (!byName.has(name) && !index.has(Buffer.from(name, 'latin1'))) return null
      return { actionId: byName.get(name) ?? recent.get(name) ?? null }
    },
    reserve(name: string, request: CommitRequest): void {
      reserved.set(request.actionId, { ...request, name })
      byName.set(name, request.actionId)
    },
    /** Frees what the action reserved; null where it has reserved nothing, or its line is there. */
    free(actionId: string): CommitRequest | null {
      const gone = reserved.get(actionId)
      if (gone === undefined) return null
      reserved.delete(actionId)
      byName.delete(gone.name)
      return gone
    },
    isReservedIn: (session: string): boolean =>
      [...reserved.values()].some(({ sessionId }) => sessionId === session),
    submitted({ so_id, idp_id, action_id }: LineOf<'IDP_SUBMITTED'>): void {
      // The name of this process's own commit was computed there.
      const key = reserved.get(action_id)?.name ?? replayKey(so_id, idp_id).toString('latin1')
      index.add(Buffer.from(key, 'latin1'))
      reserved.delete(action_id)
      byName.delete(key)
      recent.set(key, action_id)
    },
    size: index.size,
    bytes: index.bytes,
    dump: index.dump,
    load(dump: readonly string[]): void {
      reserved.clear()
      byName.clear()
      recent.clear()
      index.load(dump)
    },
  }
}
