import type { CedarWasm } from './wasm.js'

/**
 * One wasm instance and its two seats. What is preparsed under a name is never freed, only replaced,
 * so a reload writes under the names of the other seat; whoever sat there is retired and says so.
 */
export type CedarHost = {
  wasm(): CedarWasm
  /** Grows when the instance is replaced: what was preparsed before is gone. */
  generation(): number
  /** After a trap. The lost instance is garbage; seats stay with their holders. */
  replace(): void
  sit(seat: Seat): Lease
}
export type Seat = 'A' | 'B'
export type Lease = { readonly seat: Seat; held(): boolean }

export const otherSeat = (seat: Seat): Seat => (seat === 'A' ? 'B' : 'A')

export function cedarHost(instantiate: () => CedarWasm): CedarHost {
  let instance = instantiate()
  let generation = 0
  const holders: Record<Seat, symbol | null> = { A: null, B: null }
  return {
    wasm: () => instance,
    generation: () => generation,
    replace() {
      instance = instantiate()
      generation++
    },
    sit(seat) {
      const holder = Symbol(seat)
      holders[seat] = holder
      return { seat, held: () => holders[seat] === holder }
    },
  }
}
