/**
 * How many cases a suite draws: `full` in `npm run test:long`, `quick` in `npm test`. The long run takes the suites
 * that import this file, and those named `*.long.test.ts`, which the quick run leaves out.
 */
export const draws = (full: number, quick: number): number =>
  process.env.TEST_LONG === '1' ? full : quick
