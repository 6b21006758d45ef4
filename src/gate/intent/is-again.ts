import type { Intended } from '../context.js'

/** The call's declaration was on record before it came: it is that step once more, and runs at most once. */
export const isAgain = ({ intent }: Pick<Intended, 'intent'>): boolean =>
  intent !== null && intent.written === null
