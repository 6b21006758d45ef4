import { expect } from '@jest/globals'
import { again, type Case, RUNS_ALL } from './cases.js'
import type { Files } from './folder.js'

type Judge = {
  judge(files: Files): Promise<string | null>
  readonly counts: Record<string, number>
}

/** Starts wait for timers between their reads: so many at a time keep one processor busy. */
const AT_ONCE = 8

/**
 * Judges every case, says how many there were of each kind, and fails with all that are not as they must be, and where
 * there are fewer than `least`.
 */
export async function runCases(
  about: string,
  cases: Iterable<Case>,
  judge: Judge,
  least: number,
): Promise<void> {
  const faults: string[] = []
  let done = 0
  const next = cases[Symbol.iterator]()
  const work = async (): Promise<void> => {
    for (let item = next.next(); item.done !== true; item = next.next()) {
      const { name, files } = item.value
      const fault = await judge.judge(files)
      done++
      if (fault !== null) faults.push(`${fault}\n    ${again(name)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const kinds = Object.entries(judge.counts).map(([kind, count]) => `${count} ${kind}`)
  process.stdout.write(`tamper: ${about}: ${done} cases: ${kinds.join(', ')}\n`)
  expect(faults).toEqual([])
  if (RUNS_ALL) expect(done).toBeGreaterThanOrEqual(least)
}
