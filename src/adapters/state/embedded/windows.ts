import {
  addDecimals,
  compareDecimals,
  type Decimal,
  formatDecimal,
  parseDecimal,
} from '../../../core/json/decimal.js'
import type { BudgetClaim, BudgetReading } from '../../../ports/state.js'
import type { Dump } from './dump.js'
import type { Taken } from './encrypted.js'
import { sortedValues, sweeper } from './maps.js'
import { type Entry, type SlidingTotal, slidingTotal, ZERO } from './sliding-total.js'

/** What an action holds in one window, so that it can be given back. */
export type Held = { readonly in: SlidingTotal; readonly entry: Entry }

/** What tells windows apart. */
type WindowId = Pick<Taken, 'constraint' | 'scope' | 'windowSeconds'> & { readonly kind: string }
/** What the journal carries (`folded`), and what is reserved but not in the journal yet (`held`). */
type Window = WindowId & { readonly folded: SlidingTotal; readonly held: SlidingTotal }

function exact(text: string, what: string): Decimal {
  const value = parseDecimal(text)
  if (value === null) throw new TypeError(`${what}: "${text}" is not a plain decimal`)
  return value
}
/** A negative amount must not make room for others, so in a total it counts as zero. */
const counted = (amount: Decimal): Decimal => (amount.units < 0n ? ZERO : amount)

export type Windows = ReturnType<typeof createWindows>

export function createWindows() {
  const windows = new Map<string, Window>()
  const sweep = sweeper(windows, ({ folded, held }, time) => {
    const nothingHeld = held.prune(time)
    return folded.prune(time) && nothingHeld
  })

  /** The journal's own time: nothing that is still in the fold is dropped before it. */
  let foldedTo = 0

  function windowOf({ constraint, scope, kind, windowSeconds }: WindowId): Window {
    const key = `${constraint}\0${scope}\0${kind}\0${windowSeconds}`
    const known = windows.get(key)
    if (known !== undefined) return known
    sweep(foldedTo)
    const ms = windowSeconds * 1000
    const totals = { folded: slidingTotal(ms), held: slidingTotal(ms) }
    const window = { constraint, scope, kind, windowSeconds, ...totals }
    windows.set(key, window)
    return window
  }

  return {
    /** Reads and takes in one step; the caller gives back what it took when another budget is exceeded. */
    take(claim: BudgetClaim, time: number, action: string): { reading: BudgetReading; held: Held } {
      const amount = exact(claim.amount, claim.constraint)
      const max = exact(claim.max, claim.constraint)
      const window = windowOf(claim)
      const prior = addDecimals(window.folded.totalAt(time), window.held.totalAt(time))
      const fits = amount.units >= 0n && compareDecimals(addDecimals(prior, amount), max) <= 0
      return {
        reading: { constraint: claim.constraint, prior: formatDecimal(prior), within: fits },
        held: { in: window.held, entry: window.held.push(time, counted(amount), action) },
      }
    },
    /** The journal carries it. */
    fold(taken: Taken, time: number, action: string): Held {
      const { folded } = windowOf(taken)
      const entry = folded.push(time, counted(exact(taken.amount, taken.constraint)), action)
      return { in: folded, entry }
    },
    /** The fold has reached that time: a few windows with nothing left in them are dropped. */
    advance(time: number): void {
      foldedTo = time
      sweep(time)
    },
    dump: (time: number): Dump['windows'] =>
      sortedValues(windows).flatMap(({ constraint, scope, kind, windowSeconds, folded }) => {
        const entries = folded
          .inside(time)
          .map(({ at, amount, action }) => [at, formatDecimal(amount), action] as const)
        return entries.length === 0 ? [] : [[constraint, scope, kind, windowSeconds, entries]]
      }),
    /** `own` gets every entry that an action in flight may still give back. */
    load(dump: Dump['windows'], own: (action: string, held: Held) => void): void {
      windows.clear()
      foldedTo = 0
      for (const [constraint, scope, kind, windowSeconds, entries] of dump) {
        const { folded } = windowOf({ constraint, scope, kind, windowSeconds })
        for (const [time, amount, action] of entries) {
          const entry = folded.push(time, exact(amount, constraint), action)
          if (action !== null) own(action, { in: folded, entry })
        }
      }
    },
  }
}
