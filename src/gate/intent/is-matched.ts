import type { Known, Matched } from '../context.js'

/** Whether the call came as far as its rule and its arguments. */
export const isMatched = (known: Known): known is Known & Matched =>
  known.requestOctets !== undefined
