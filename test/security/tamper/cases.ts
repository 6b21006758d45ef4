import type { PublicKeyRecord } from '../../../src/core/statement/keys.js'
import { type Files, journalOf, sameFiles } from './folder.js'
import { BESIDE } from './operations/beside.js'
import type { Operation, World } from './operations/operation.js'
import { OPERATIONS } from './operations/table.js'
import { randomOf } from './random.js'

/** One folder in the hands of someone without its keys: what was done to it, and how to do it again. */
export type Case = {
  /** `TAMPER_SEED` and `TAMPER_CASE` with this name run it alone. */
  readonly name: string
  readonly files: Files
}
type Step = { readonly operation: Operation; readonly target: string }

export const SEED = process.env.TAMPER_SEED ?? '1'
/** Runs the cases alone whose name begins with it. */
const ONLY = process.env.TAMPER_CASE ?? ''

const stepName = ({ operation, target }: Step): string =>
  target === '' ? operation.name : `${operation.name} (${target})`

export const stepsOf = (world: World, operations: readonly Operation[]): readonly Step[] =>
  operations.flatMap((operation) =>
    operation.targets(world).map((target) => ({ operation, target })),
  )

/** Null where it cannot be done, or changes nothing. */
function run(world: World, name: string, steps: readonly Step[]): Case | null {
  if (!name.startsWith(ONLY)) return null
  const random = randomOf(`${SEED} ${name}`)
  let { files } = world.story
  for (const { operation, target } of steps) {
    const next = operation.apply(files, target, random, world)
    if (next === null) return null
    files = next
  }
  return sameFiles(files, world.story.files, () => true) ? null : { name, files }
}

/** Every operation on everything it can be done to. */
export function* singles(
  world: World,
  operations: readonly Operation[] = OPERATIONS,
): Generator<Case> {
  for (const step of stepsOf(world, operations)) {
    const made = run(world, `one: ${stepName(step)}`, [step])
    if (made !== null) yield made
  }
}

/** So many pairs, drawn by the seed: one operation, and another one on what it left. */
export function* pairs(
  world: World,
  count: number,
  firsts: readonly Operation[] = OPERATIONS,
  seconds: readonly Operation[] = OPERATIONS,
): Generator<Case> {
  const byName = (operations: readonly Operation[]) =>
    operations.map((operation) => ({ operation, targets: operation.targets(world) }))
  const [one, other] = [byName(firsts), byName(seconds)]
  for (let made = 0, drawn = 0; made < count && drawn < 4 * count; drawn++) {
    const draw = randomOf(`${SEED} pair ${drawn}`)
    const step = (of: typeof one): Step => {
      const { operation, targets } = draw.pick(of)
      return { operation, target: draw.pick(targets) }
    }
    const steps = [step(one), step(other)]
    const changed = run(world, `two ${drawn}: ${steps.map(stepName).join(' + ')}`, steps)
    if (changed === null) continue
    made++
    yield changed
  }
}

/** The cases of one test file out of so many, which workers share. */
export function* share<T>(cases: Iterable<T>, index: number, of: number): Generator<T> {
  let at = 0
  for (const each of cases) if (at++ % of === index) yield each
}

/** Test files that the cases of one judge are spread over. */
export const SHARES = 2
const PAIRS = 1_100
const START_PAIRS = 500

export function* allCases(world: World): Generator<Case> {
  yield* singles(world)
  yield* pairs(world, PAIRS)
}

export function* startCases(world: World): Generator<Case> {
  yield* singles(world)
  yield* pairs(world, START_PAIRS)
  // A pair that hides a cut from the heads that would show it.
  yield* pairs(world, START_PAIRS / 5, CUTS, BESIDE)
}
const CUTS = OPERATIONS.filter(({ name }) => /^cut-behind|^segments-from|^line-removed/.test(name))

/**
 * Every journal of the verify cases with the keyring they must not verify under, for a checker that is not this
 * package: it may accept none of them but those that are the honest journal or a cut of it behind a head.
 */
export function* journals(world: World): Generator<{ name: string; journal: Buffer }> {
  for (const { name, files } of allCases(world)) yield { name, journal: journalOf(files) }
}
export const keyringOf = (world: World): readonly PublicKeyRecord[] => world.keyring

/** What a failure says: enough to do it again. */
export const again = (name: string): string =>
  `TAMPER_SEED=${JSON.stringify(SEED)} TAMPER_CASE=${JSON.stringify(name)}`
