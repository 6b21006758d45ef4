import { clip } from '../finding.js'

/**
 * Why something cannot be decided although nothing was found wrong: a key, a head or a segment is not here.
 * One sentence each, in the order they were met; a hostile journal cannot make more of them.
 */
export type Missing = ReturnType<typeof createMissing>

const MOST = 32

export function createMissing() {
  const reasons = new Map<string, string>()
  let keys = false
  function add(about: string, why: string): void {
    if (reasons.size < MOST || reasons.has(about)) reasons.set(about, why)
  }
  return {
    add,
    /** A signature could not be checked, because its key is not in the keyring. */
    addKey(kid: string): void {
      keys = true
      add(`key ${kid}`, `the keyring has no key ${clip(kid)}`)
    },
    keys: (): boolean => keys,
    list: (): readonly string[] => [...reasons.values()],
  }
}
