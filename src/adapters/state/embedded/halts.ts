import type { HaltScope } from '../../../core/journal/lines/operate.js'

const keyOf = (scope: HaltScope): string =>
  scope.kind === 'all' ? 'all' : `${scope.kind} ${scope.name}`

export type Halts = ReturnType<typeof createHalts>

export function createHalts() {
  const halts = new Map<string, HaltScope>()
  const list = (): HaltScope[] => [...halts.keys()].sort().map((key) => halts.get(key) as HaltScope)
  return {
    halt: (scope: HaltScope) => halts.set(keyOf(scope), scope),
    resume: (scope: HaltScope) => halts.delete(keyOf(scope)),
    list,
    load(dump: readonly HaltScope[]): void {
      halts.clear()
      for (const scope of dump) halts.set(keyOf(scope), scope)
    },
  }
}
