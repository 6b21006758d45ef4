import { draws } from '../../support/draws.js'
import { type Case, type Part, pairs, RUNS_ALL, singles, WHOLE } from './cases.js'
import { journalOf } from './folder.js'
import { BESIDE } from './operations/beside.js'
import type { World } from './operations/operation.js'
import { OPERATIONS } from './operations/table.js'

/** Test files that the cases of one judge are spread over. */
export const SHARES = 2
/** A case that is run alone has to be among them. */
const drawn = (full: number, quick: number): number => (RUNS_ALL ? draws(full, quick) : full)
const TARGETS = drawn(Number.POSITIVE_INFINITY, 2)
const PAIRS = drawn(860, 120)
const START_PAIRS = drawn(300, 60)

export function* allCases(world: World, part: Part = WHOLE): Generator<Case> {
  yield* singles(world, part, OPERATIONS, TARGETS)
  yield* pairs(world, PAIRS, part)
}

export function* startCases(world: World, part: Part = WHOLE): Generator<Case> {
  yield* singles(world, part, OPERATIONS, TARGETS)
  yield* pairs(world, START_PAIRS, part)
  // Pairs that hide a cut from what would show it.
  yield* pairs(world, START_PAIRS / 2, part, [CUTS, BESIDE])
}
const CUTS = OPERATIONS.filter(({ name }) => /^cut-behind|^segments-from|^line-removed/.test(name))

/**
 * Every journal of the verify cases with the keyring they must not verify under, for a checker that is not this
 * package: it may accept none of them but those that are the honest journal or a cut of it behind a head.
 */
export function* journals(world: World): Generator<{ name: string; journal: Buffer }> {
  for (const { name, files } of allCases(world)) yield { name, journal: journalOf(files) }
}
