/**
 * What was noted last, at least so many entries of it, in two generations: when the younger is full the older is
 * dropped as a whole. To drop the one oldest entry of a Map, V8 first walks over all that were dropped before.
 */
export function createRecent(least: number) {
  let young = new Map<string, string>()
  let old = new Map<string, string>()
  return {
    get: (key: string): string | undefined => young.get(key) ?? old.get(key),
    set(key: string, value: string): void {
      if (young.size >= least) {
        old = young
        young = new Map()
      }
      young.set(key, value)
    },
    clear(): void {
      young = new Map()
      old = new Map()
    },
  }
}
