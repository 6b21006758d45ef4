import type { OpenItem } from '../../src/core/capsule/open-item.js'
import type { State } from '../../src/ports/state.js'

/** All that the state itself holds, in ledger order. */
export async function openItems(
  state: Pick<State, 'awaiting' | 'blocked'>,
): Promise<readonly OpenItem[]> {
  const [awaiting, { items }] = await Promise.all([state.awaiting(), state.blocked()])
  return [...awaiting, ...items].sort((a, b) => a.seq - b.seq)
}
