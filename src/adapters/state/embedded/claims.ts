import type { Claimed } from '../../../ports/state.js'

type Holder = { readonly by: string; readonly settled: Promise<void>; readonly settle: () => void }
export type Claims = ReturnType<typeof createClaims>

/** Exclusive holds on lines that are about to be written. In memory only: a crash ends them all. */
export function createClaims() {
  const held = new Map<string, Holder>()
  const names = new Map<string, string[]>()
  return {
    isFree: (name: string): boolean => !held.has(name),
    take(name: string, by: string): Claimed {
      const holder = held.get(name)
      if (holder !== undefined) {
        return holder.by === by
          ? { kind: 'claimed' }
          : { kind: 'held', by: holder.by, settled: holder.settled }
      }
      let settle: () => void = () => undefined
      const settled = new Promise<void>((resolve) => {
        settle = resolve
      })
      held.set(name, { by, settled, settle })
      names.set(by, [...(names.get(by) ?? []), name])
      return { kind: 'claimed' }
    },
    release(by: string): void {
      for (const name of names.get(by) ?? []) {
        held.get(name)?.settle()
        held.delete(name)
      }
      names.delete(by)
    },
    clear(): void {
      for (const by of [...names.keys()]) this.release(by)
    },
  }
}
