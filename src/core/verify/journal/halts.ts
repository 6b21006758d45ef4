import type { HaltScope } from '../../journal/lines/operate.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { detached } from './line.js'

const keyOf = (scope: HaltScope): string =>
  scope.kind === 'all' ? 'all' : `${scope.kind} ${scope.name}`

/** Which halts stand at a line: given by HALT, lifted by a RESUME of exactly that scope. */
export function createHalts() {
  const standing = new Set<string>()
  return {
    halt: ({ scope }: LineOf<'HALT'>) => void standing.add(detached(keyOf(scope))),
    resume: ({ scope }: LineOf<'RESUME'>) => void standing.delete(keyOf(scope)),
    /** Whether one of them stops this call. */
    covers: ({ agent, tool, operator, intent }: LineOf<'ACTION_DISPATCHED'>): boolean =>
      standing.size > 0 &&
      [
        'all',
        `agent ${agent}`,
        `tool ${tool}`,
        `operator ${operator}`,
        ...(intent === undefined ? [] : [`session ${intent.session_id}`]),
      ].some((key) => standing.has(key)),
  }
}
