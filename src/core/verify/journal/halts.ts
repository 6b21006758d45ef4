import type { HaltScope } from '../../journal/lines/operate.js'
import type { LineOf } from '../../journal/vocabulary.js'
import { detached } from './line.js'

/** Which halts stand at a line: given by HALT, lifted by a RESUME of exactly that scope. */
export type Halts = {
  halt(line: LineOf<'HALT'>): void
  resume(line: LineOf<'RESUME'>): void
  /** Whether one of them stops this call. */
  covers(line: LineOf<'ACTION_DISPATCHED'>): boolean
}

const keyOf = (scope: HaltScope): string =>
  scope.kind === 'all' ? 'all' : `${scope.kind} ${scope.name}`

export function createHalts(): Halts {
  const standing = new Set<string>()
  return {
    halt: ({ scope }) => void standing.add(detached(keyOf(scope))),
    resume: ({ scope }) => void standing.delete(keyOf(scope)),
    covers: ({ agent, tool, operator }) =>
      standing.size > 0 &&
      ['all', `agent ${agent}`, `tool ${tool}`, `operator ${operator}`].some((key) =>
        standing.has(key),
      ),
  }
}
