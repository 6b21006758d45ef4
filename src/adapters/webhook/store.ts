import { openOutbox } from './file.js'
import type { Tell } from './report.js'
import { MAX_DEAD, type OutboxRecord, type OutboxState } from './state.js'

/** The state, and the one way to change it. */
export type Store = {
  readonly state: Readonly<OutboxState>
  write(...records: readonly OutboxRecord[]): void
  /** Without a record: a line that was no event. */
  passed(seq: number): void
  close(): void
}

/**
 * A disk that takes no more stops no notification: the state goes on in memory, the operator is told,
 * and a restart from the older file repeats what it does not know of.
 */
export function openStore(folder: string, state: OutboxState, tell: Tell): Store {
  const file = openOutbox(folder, state)
  const unwritten = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      tell({ kind: 'unwritten', why: String(error) })
    }
  }
  return {
    state,
    write(...records) {
      const room = MAX_DEAD - state.dead.size
      unwritten(() => file.append(records))
      const buried = records.filter(({ t }) => t === 'dead').length
      if (buried > room) tell({ kind: 'forgotten', letters: buried - room })
    },
    passed(seq) {
      state.cursor = seq
    },
    close: () => unwritten(() => file.close()),
  }
}
