/** What a run of the tests came to: summaries of jest's reports, their sum, and the lines that close the output. */
import { relative } from 'node:path'

/**
 * @typedef {{ suite: string, seconds: number, run: string }} Timed
 * @typedef {{ suite: string, reason: string, tests: number }} NotRun
 * @typedef {{ passed: number, failed: number, notRun: NotRun[], suites: Timed[] }} Summary
 */

/** Set by test/support/needs.ts, as the name of a group that is skipped. */
const NOT_RUN = 'not run: '
const NO_REASON = 'no reason given'
const SLOWEST = 10

/** @returns {Summary} */
export const emptySummary = () => ({ passed: 0, failed: 0, notRun: [], suites: [] })

/** A report of `jest --json`, read as one run named `run`. */
export function summaryOf(report, run, root = process.cwd()) {
  const summary = emptySummary()
  for (const { name, status, startTime, endTime, assertionResults } of report.testResults) {
    const suite = relative(root, name)
    const count = (...statuses) =>
      assertionResults.filter((test) => statuses.includes(test.status)).length
    const failed = count('failed')
    summary.passed += count('passed')
    // A suite that does not load, or whose last hook fails, has no failed test to count.
    summary.failed += status === 'failed' && failed === 0 ? 1 : failed
    summary.suites.push({ suite, seconds: (endTime - startTime) / 1000, run })
    for (const test of assertionResults) {
      if (test.status !== 'passed' && test.status !== 'failed')
        addNotRun(summary.notRun, { suite, reason: reasonOf(test), tests: 1 })
    }
  }
  return summary
}

const reasonOf = ({ ancestorTitles }) =>
  ancestorTitles.find((title) => title.startsWith(NOT_RUN))?.slice(NOT_RUN.length) ?? NO_REASON

function addNotRun(list, { suite, reason, tests }) {
  const same = list.find((other) => other.suite === suite && other.reason === reason)
  if (same === undefined) list.push({ suite, reason, tests })
  else same.tests += tests
}

/** Over several runs: a test that neither of them could run is named once. */
export function sumOf(summaries) {
  const sum = emptySummary()
  for (const { passed, failed, notRun, suites } of summaries) {
    sum.passed += passed
    sum.failed += failed
    sum.suites.push(...suites)
    for (const { suite, reason, tests } of notRun) {
      const same = sum.notRun.find((other) => other.suite === suite && other.reason === reason)
      if (same === undefined) sum.notRun.push({ suite, reason, tests })
      else same.tests = Math.max(same.tests, tests)
    }
  }
  return sum
}

/**
 * The closing lines. With `strict`, each suite that was skipped for a reason that `allowed` (suite → reasons)
 * does not list is one more failure.
 */
export function closingOf(summary, { strict, allowed }) {
  const isAllowed = ({ suite, reason }) => allowed[suite]?.includes(reason) === true
  const refused = strict ? summary.notRun.filter((entry) => !isAllowed(entry)) : []
  const failed = summary.failed + refused.length
  const lines = [
    ...slowestOf(summary.suites),
    ...summary.notRun.map(
      (entry) =>
        `not run: ${entry.tests} ${entry.tests === 1 ? 'test' : 'tests'} of ${entry.suite} (${entry.reason})` +
        (refused.includes(entry) ? ': failed, not in test/may-be-skipped.json' : ''),
    ),
    `${summary.passed} passed, ${failed} failed`,
  ]
  return { lines, failed }
}

function slowestOf(suites) {
  if (suites.length === 0) return []
  const slowest = suites.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST)
  return [
    'slowest suites:',
    ...slowest.map(
      ({ suite, seconds, run }) => `${seconds.toFixed(1).padStart(7)} s  ${suite} (${run})`,
    ),
  ]
}
