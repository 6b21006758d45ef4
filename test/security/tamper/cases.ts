import { type Files, sameFiles } from './folder.js'
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
export const RUNS_ALL = ONLY === ''

const stepName = ({ operation, target }: Step): string =>
  target === '' ? operation.name : `${operation.name} (${target})`

/** Each operation with its targets, or with so many of them that the seed picks, spread over all. */
function stepsOf(
  world: World,
  operations: readonly Operation[],
  most: number = Number.POSITIVE_INFINITY,
): readonly Step[] {
  return operations.flatMap((operation) => {
    const targets = operation.targets(world)
    const count = Math.min(most, targets.length)
    const first = randomOf(`${SEED} targets of ${operation.name}`).int(targets.length)
    const chosen = new Set(
      Array.from({ length: count }, (_, nth) => {
        const at = first + Math.floor((nth * targets.length) / count)
        return targets[at % targets.length]
      }),
    )
    return targets.flatMap((target) => (chosen.has(target) ? [{ operation, target }] : []))
  })
}

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

/** The cases of one test file out of so many, which workers share. */
export type Part = { readonly index: number; readonly of: number }
export const WHOLE: Part = { index: 0, of: 1 }

/** Every operation on everything it can be done to, or on so many `targets` of each. */
export function* singles(
  world: World,
  part: Part = WHOLE,
  operations: readonly Operation[] = OPERATIONS,
  targets?: number,
): Generator<Case> {
  for (const [at, step] of stepsOf(world, operations, targets).entries()) {
    if (at % part.of !== part.index) continue
    const made = run(world, `one: ${stepName(step)}`, [step])
    if (made !== null) yield made
  }
}

/** So many pairs are drawn by the seed: one operation, and another on what it left, where that can be done. */
export function* pairs(
  world: World,
  draws: number,
  part: Part = WHOLE,
  [firsts, seconds] = [OPERATIONS, OPERATIONS],
): Generator<Case> {
  const drawable = (operations: readonly Operation[]) =>
    operations.map((operation) => ({ operation, targets: operation.targets(world) }))
  const [one, other] = [drawable(firsts), drawable(seconds)]
  for (let at = part.index; at < draws; at += part.of) {
    const draw = randomOf(`${SEED} pair ${at}`)
    const step = (of: typeof one): Step => {
      const { operation, targets } = draw.pick(of)
      return { operation, target: draw.pick(targets) }
    }
    const steps = [step(one), step(other)]
    const made = run(world, `two ${at}: ${steps.map(stepName).join(' + ')}`, steps)
    if (made !== null) yield made
  }
}

/** What a failure says: enough to do it again. */
export const again = (name: string): string =>
  `TAMPER_SEED=${JSON.stringify(SEED)} TAMPER_CASE=${JSON.stringify(name)}`
