import type { LineOf } from '../core/journal/vocabulary.js'
import type { Parts } from './context.js'

/** An action by its lines: one that was sent has a dispatch, one that ended a capsule. */
export type ActionLines = {
  readonly dispatched: LineOf<'ACTION_DISPATCHED'> | null
  readonly concluded: LineOf<'CAPSULE'> | null
}

/** Null where no line has the id. The journal also finds a capsule by its own id: that is no action's. */
export async function findAction(
  id: string,
  { journal }: Pick<Parts, 'journal'>,
): Promise<ActionLines | null> {
  const lines = await journal.find(id)
  if (lines.length === 0) return null
  const capsules = lines.filter((line) => line.type === 'CAPSULE')
  return {
    dispatched: lines.find((line) => line.type === 'ACTION_DISPATCHED') ?? null,
    concluded: capsules.find(({ capsule }) => capsule.action_id === id) ?? null,
  }
}
