import type { Claimed } from '../../../ports/state.js'

type Held = { readonly by: string; readonly settled: Promise<void>; readonly letGo: () => void }

/** Who is about to write a line that only one may write. Of one process's memory: a crash lets go of all. */
export function createClaims() {
  const held = new Map<string, Held>()
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
      let letGo: () => void = () => undefined
      const settled = new Promise<void>((resolve) => {
        letGo = resolve
      })
      held.set(name, { by, settled, letGo })
      names.set(by, [...(names.get(by) ?? []), name])
      return { kind: 'claimed' }
    },
    letGo(by: string): void {
      for (const name of names.get(by) ?? []) {
        held.get(name)?.letGo()
        held.delete(name)
      }
      names.delete(by)
    },
    clear(): void {
      for (const by of [...names.keys()]) this.letGo(by)
    },
  }
}
