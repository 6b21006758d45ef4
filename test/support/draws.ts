/**
 * How many cases a suite draws: `full` in `npm run test:long`, `quick` in `npm test`. The long run takes the suites
 * that import this file, and those named `*.long.test.ts`, which the quick run leaves out.
 */
export const draws = (full: number, quick: number): number =>
  process.env.TEST_LONG === '1' ? full : quick

/** All of them in the long run; in the quick one so many, spread evenly over the list. */
export const sample = <T>(all: readonly T[], quick: number): readonly T[] => {
  const count = Math.min(all.length, draws(all.length, quick))
  return Array.from({ length: count }, (_, nth) => all[Math.floor((nth * all.length) / count)] as T)
}
