import { addDecimals, type Decimal, negateDecimal } from '../../../core/json/decimal.js'

/** One amount in a window. `counted`: it is part of the running total; `live`: it was not given back. */
export type Entry = {
  readonly at: number
  readonly amount: Decimal
  /** The action in flight that may still give it back; null once committed. */
  action: string | null
  live: boolean
  counted: boolean
}

export type SlidingTotal = ReturnType<typeof slidingTotal>

export const ZERO: Decimal = { units: 0n, scale: 0 }
const COMPACT_AFTER = 64

/**
 * A running total over a sliding window, amortised O(1). Two positions in one queue: before `head` are entries too
 * old by the journal's own time, before `cursor` those too old by the newest reader's. A reader may be ahead of the
 * journal, and must not make the running state forget what a fold still holds.
 */
export function slidingTotal(windowMs: number) {
  let entries: Entry[] = []
  let head = 0
  let cursor = 0
  let total = ZERO
  let counted = 0

  const uncount = (entry: Entry): void => {
    if (!entry.counted) return
    entry.counted = false
    counted--
    // An empty window is zero again, so that a long fraction once seen is not carried forever.
    total = counted === 0 ? ZERO : addDecimals(total, negateDecimal(entry.amount))
  }
  const advance = (time: number): void => {
    for (; cursor < entries.length; cursor++) {
      const entry = entries[cursor] as Entry
      if (entry.live && entry.at > time - windowMs) return
      uncount(entry)
    }
  }
  return {
    /** `at` never goes back. */
    push(at: number, amount: Decimal, action: string | null): Entry {
      const entry: Entry = { at, amount, action, live: true, counted: true }
      entries.push(entry)
      counted++
      total = addDecimals(total, amount)
      return entry
    },
    /** Gives the amount back. */
    remove(entry: Entry): void {
      entry.live = false
      uncount(entry)
    },
    /** The total of what is younger than the window at `time`; an entry exactly as old as the window is out. */
    totalAt(time: number): Decimal {
      advance(time)
      return total
    },
    /** What a fold that has reached `time` still holds, oldest first. */
    inside: (time: number): Entry[] =>
      entries.slice(head).filter((entry) => entry.live && entry.at > time - windowMs),
    /** Drops what is out at `time`; true when nothing is left. */
    prune(time: number): boolean {
      advance(time)
      while (head < cursor) {
        const entry = entries[head] as Entry
        if (entry.live && entry.at > time - windowMs) break
        head++
      }
      if (head === entries.length || (head > COMPACT_AFTER && head * 2 > entries.length)) {
        entries = entries.slice(head)
        cursor -= head
        head = 0
      }
      return entries.length === 0
    },
  }
}
