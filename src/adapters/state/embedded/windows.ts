import {
  addDecimals,
  compareDecimals,
  type Decimal,
  formatDecimal,
  parseDecimal,
} from '../../../core/json/decimal.js'
import type { BudgetClaim, BudgetReading } from '../../../ports/state.js'
import type { Taken } from './sealed.js'
import { type Entry, type SlidingTotal, slidingTotal } from './sliding-total.js'
import { sweeper } from './sweep.js'

/** What an action holds in one window, so that it can be given back. */
export type Held = { readonly in: SlidingTotal; readonly entry: Entry }

/** One window: what the journal carries, and what was reserved but is not in the journal yet. */
type Window = {
  readonly constraint: string
  readonly scope: string
  readonly kind: string
  readonly windowSeconds: number
  readonly folded: SlidingTotal
  readonly held: SlidingTotal
}
export type WindowDump = readonly [
  constraint: string,
  scope: string,
  kind: string,
  windowSeconds: number,
  entries: readonly (readonly [at: number, amount: string, action: string | null])[],
]

type Place = Pick<Window, 'constraint' | 'scope' | 'kind' | 'windowSeconds'>
const ZERO: Decimal = { units: 0n, scale: 0 }

function exact(text: string, what: string): Decimal {
  const value = parseDecimal(text)
  if (value === null) throw new TypeError(`${what}: "${text}" is not a plain decimal`)
  return value
}
/** A negative amount must not buy room for others, so in a total it weighs nothing. */
const weight = (amount: Decimal): Decimal => (amount.units < 0n ? ZERO : amount)

export type Windows = ReturnType<typeof createWindows>

export function createWindows() {
  const windows = new Map<string, Window>()
  const sweep = sweeper(windows, ({ folded, held }, time) => {
    const nothingHeld = held.prune(time)
    return folded.prune(time) && nothingHeld
  })

  /** The journal's own time: nothing a fold still knows is let go before it. */
  let foldedTo = 0

  function at(place: Place): Window {
    const key = `${place.constraint}\0${place.scope}\0${place.kind}\0${place.windowSeconds}`
    let window = windows.get(key)
    if (window === undefined) {
      sweep(foldedTo)
      const { constraint, scope, kind, windowSeconds } = place
      const ms = windowSeconds * 1000
      const totals = { folded: slidingTotal(ms), held: slidingTotal(ms) }
      window = { constraint, scope, kind, windowSeconds, ...totals }
      windows.set(key, window)
    }
    return window
  }

  return {
    /** Reads and takes, in one step; the caller gives back what it took when another claim fails. */
    take(claim: BudgetClaim, time: number, action: string): { reading: BudgetReading; held: Held } {
      const amount = exact(claim.amount, claim.constraint)
      const max = exact(claim.max, claim.constraint)
      const window = at(claim)
      const prior = addDecimals(window.folded.totalAt(time), window.held.totalAt(time))
      const fits = amount.units >= 0n && compareDecimals(addDecimals(prior, amount), max) <= 0
      return {
        reading: {
          constraint: claim.constraint,
          prior: formatDecimal(prior),
          within: fits,
        },
        held: { in: window.held, entry: window.held.push(time, weight(amount), action) },
      }
    },
    /** The journal carries it. */
    fold(taken: Taken, time: number, action: string): Held {
      const { folded } = at(taken)
      const entry = folded.push(time, weight(exact(taken.amount, taken.constraint)), action)
      return { in: folded, entry }
    },
    /** A line of that time was read: a few windows with nothing left in them go. */
    advance(time: number): void {
      foldedTo = time
      sweep(time)
    },
    dump(time: number): WindowDump[] {
      const out: WindowDump[] = []
      for (const key of [...windows.keys()].sort()) {
        const window = windows.get(key) as Window
        const entries = window.folded
          .inside(time)
          .map((entry) => [entry.at, formatDecimal(entry.amount), entry.action] as const)
        if (entries.length === 0) continue
        out.push([window.constraint, window.scope, window.kind, window.windowSeconds, entries])
      }
      return out
    },
    /** `own` is told of every entry that an action in flight may still give back. */
    load(dump: readonly WindowDump[], own: (action: string, held: Held) => void): void {
      windows.clear()
      foldedTo = 0
      for (const [constraint, scope, kind, windowSeconds, entries] of dump) {
        const { folded } = at({ constraint, scope, kind, windowSeconds })
        for (const [time, amount, action] of entries) {
          const entry = folded.push(time, exact(amount, constraint), action)
          if (action !== null) own(action, { in: folded, entry })
        }
      }
    },
  }
}
