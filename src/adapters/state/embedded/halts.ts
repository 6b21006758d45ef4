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
    /** The widest halt that stops such a call, or null. */
    stopping(call: { operator: string; agent: string; tool: string }): HaltScope | null {
      if (halts.size === 0) return null
      return (
        halts.get('all') ??
        halts.get(`operator ${call.operator}`) ??
        halts.get(`agent ${call.agent}`) ??
        halts.get(`tool ${call.tool}`) ??
        null
      )
    },
    list,
    load(dump: readonly HaltScope[]): void {
      halts.clear()
      for (const scope of dump) halts.set(keyOf(scope), scope)
    },
  }
}
