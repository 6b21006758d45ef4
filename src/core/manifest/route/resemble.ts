import { fold } from './pointer.js'

/**
 * Names that some server takes for an argument's although they are spelled otherwise (promise 5):
 * `[limit]` and `limit[]` for `limit` (qs), `user.id`, `user id` and `user[id` for `user_id` (PHP),
 * `userId` for `user_id` (protobuf JSON), any letter case (ASP.NET, Go). Compared are letters and
 * digits alone, of the whole name and step by step of a nested one.
 */
export type Guarded = {
  /** As people write it, for the refusal. */
  readonly shown: string
  readonly whole: string
  readonly steps: readonly string[]
}

/** `steps` are a JSON pointer's tokens; without them the name is read as a query's. */
export function guard(name: string, steps: readonly string[] = stepsOf(name)): Guarded {
  return { shown: name, whole: plain(name), steps: steps.map(plain) }
}

export function resembles(name: string, guarded: Guarded): boolean {
  const whole = plain(name)
  if (whole === '') return false
  if (whole === guarded.whole) return true
  const steps = stepsOf(name).map(plain)
  const shared = Math.min(steps.length, guarded.steps.length)
  // `filter` and `filter[status][x]` both reach into `filter[status]`.
  return shared > 0 && steps.slice(0, shared).every((step, index) => step === guarded.steps[index])
}

/** What servers may take a name in the query or the body for; null where nothing resembles it. */
export function resemblance(
  part: 'query' | 'body',
  name: string,
  guarded: readonly Guarded[],
): string | null {
  const clash = guarded.find((each) => resembles(name, each))
  if (clash !== undefined) return readAs(part, name, clash.shown)
  return isMethodOverride(name)
    ? `the ${part} holds ${JSON.stringify(name)}, which servers may take for a method`
    : null
}

export const readAs = (part: 'query' | 'body', name: string, meant: string): string =>
  `the ${part} holds ${JSON.stringify(name)}, which servers may read as ${meant}`

export const plain = (name: string): string => fold(name).replace(/[^\p{L}\p{N}]/gu, '')

const stepsOf = (name: string): readonly string[] => name.split(/[[\].]+/).filter((s) => s !== '')

/**
 * Rails, Laravel and others run a request as another method when a parameter `_method` says so. PHP
 * makes `_` of a leading dot or bracket, and drops leading spaces.
 */
export function isMethodOverride(name: string): boolean {
  const text = fold(name).trimStart()
  return text.replace(/[[\]]/g, '') === '_method' || text.replace(/[. [\]]/g, '_') === '_method'
}
