const MAX_REMEMBERED = 4096
const MAX_KEY = 1024

/**
 * Decisions are a function of the set and what it uses, so they are remembered (promise 7), in two generations:
 * when the younger is full the older is dropped as a whole. To drop the one oldest entry of a Map, V8 first walks
 * over all that were dropped since it last grew.
 */
export function createMemo<T>() {
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  function set(key: string, outcome: T): void {
    if (key.length > MAX_KEY) return
    if (young.size >= MAX_REMEMBERED / 2) {
      old = young
      young = new Map()
    }
    young.set(key, outcome)
  }
  return {
    set,
    get(key: string): T | undefined {
      const recent = young.get(key)
      if (recent !== undefined) return recent
      const known = old.get(key)
      if (known !== undefined) set(key, known)
      return known
    },
  }
}
