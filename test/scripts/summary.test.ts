import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** The closing part of `npm test`: every test is passed, failed or named with the reason it did not run. */
type NotRun = { suite: string; reason: string; tests: number }
type Timed = { suite: string; seconds: number; run: string }
type Summary = { passed: number; failed: number; notRun: NotRun[]; suites: Timed[] }
type Allowed = Readonly<Record<string, readonly string[]>>
const { closingOf, emptySummary, summaryOf, sumOf } = (await import(
  '../../scripts/test/summary.mjs' as string
)) as {
  emptySummary(): Summary
  summaryOf(report: object, run: string, root: string): Summary
  sumOf(summaries: readonly Summary[]): Summary
  closingOf(
    summary: Summary,
    options: { strict: boolean; allowed: Allowed },
  ): { lines: string[]; failed: number }
}
const ROOT = join(import.meta.dirname, '..', '..')

const test = (status: string, ...ancestorTitles: string[]) => ({ status, ancestorTitles })
const suite = (name: string, status: string, tests: object[], seconds = 1) => ({
  name: `/repo/test/${name}`,
  status,
  startTime: 5_000,
  endTime: 5_000 + seconds * 1000,
  assertionResults: tests,
})
const summary = (...testResults: object[]): Summary => summaryOf({ testResults }, 'quick', '/repo')
const skipped = (reason: string, tests = 1, name = 'a.test.ts'): Summary => ({
  ...emptySummary(),
  passed: 2,
  notRun: [{ suite: `test/${name}`, reason, tests }],
})

describe('a report of jest', () => {
  it('is counted by test, with the seconds of each suite', () => {
    const report = [
      suite('a.test.ts', 'passed', [test('passed', 'group'), test('passed')], 2.5),
      suite('b.test.ts', 'failed', [test('failed'), test('passed')]),
    ]
    expect(summary(...report)).toEqual({
      passed: 3,
      failed: 1,
      notRun: [],
      suites: [
        { suite: 'test/a.test.ts', seconds: 2.5, run: 'quick' },
        { suite: 'test/b.test.ts', seconds: 1, run: 'quick' },
      ],
    })
  })

  it('has a failure where a suite fails without a failed test', () => {
    expect(summary(suite('a.test.ts', 'failed', [])).failed).toBe(1)
    expect(summary(suite('a.test.ts', 'failed', [test('passed')])).failed).toBe(1)
  })

  it('names what was skipped by suite and reason, also where none was given', () => {
    const strace = 'not run: strace is missing'
    const report = [
      suite('a.test.ts', 'passed', [
        test('pending', 'outer', strace, 'inner'),
        test('pending', strace),
        test('pending', 'not run: chromium is missing'),
        test('passed'),
      ]),
      suite('b.test.ts', 'passed', [test('pending', 'group'), test('todo')]),
    ]
    expect(summary(...report).notRun).toEqual([
      { suite: 'test/a.test.ts', reason: 'strace is missing', tests: 2 },
      { suite: 'test/a.test.ts', reason: 'chromium is missing', tests: 1 },
      { suite: 'test/b.test.ts', reason: 'no reason given', tests: 2 },
    ])
  })
})

describe('the sum of two runs', () => {
  it('adds what passed and failed, and names once what neither could run', () => {
    const [quick, long] = [skipped('x', 3), skipped('x', 5)]
    quick.failed = 1
    expect(sumOf([quick, long])).toMatchObject({
      passed: 4,
      failed: 1,
      notRun: [{ suite: 'test/a.test.ts', reason: 'x', tests: 5 }],
    })
  })

  it('keeps other reasons and other suites apart', () => {
    const sum = sumOf([skipped('x'), skipped('y'), skipped('x', 1, 'b.test.ts')])
    expect(sum.notRun).toHaveLength(3)
  })
})

describe('the closing lines', () => {
  const lenient = { strict: false, allowed: {} }

  it('end with the counts alone', () => {
    expect(closingOf({ ...emptySummary(), passed: 7 }, lenient)).toEqual({
      lines: ['7 passed, 0 failed'],
      failed: 0,
    })
  })

  it('list the ten slowest suites of all runs, slowest first', () => {
    const suites = Array.from({ length: 12 }, (_, index) => ({
      suite: `test/${index}.test.ts`,
      seconds: index,
      run: index % 2 === 0 ? 'quick' : 'long',
    }))
    const { lines } = closingOf({ ...emptySummary(), suites }, lenient)
    expect(lines).toHaveLength(12)
    expect(lines.slice(0, 3)).toEqual([
      'slowest suites:',
      '   11.0 s  test/11.test.ts (long)',
      '   10.0 s  test/10.test.ts (quick)',
    ])
    expect(lines.at(-1)).toBe('0 passed, 0 failed')
  })

  it('say what did not run and why; outside of CI that is no failure', () => {
    expect(closingOf(skipped('strace is missing', 12), lenient)).toEqual({
      lines: ['not run: 12 tests of test/a.test.ts (strace is missing)', '2 passed, 0 failed'],
      failed: 0,
    })
  })

  it('in CI have one more failure for each reason that is not listed for its suite', () => {
    const strict = (allowed: Allowed) =>
      closingOf(skipped('strace is missing'), { strict: true, allowed })
    for (const allowed of [
      {},
      { 'test/b.test.ts': ['strace is missing'] },
      { 'test/a.test.ts': ['strace may not trace here'] },
    ]) {
      expect(strict(allowed)).toEqual({
        lines: [
          'not run: 1 test of test/a.test.ts (strace is missing): failed, not in test/may-be-skipped.json',
          '2 passed, 1 failed',
        ],
        failed: 1,
      })
    }
    expect(strict({ 'test/a.test.ts': ['another', 'strace is missing'] })).toMatchObject({
      lines: ['not run: 1 test of test/a.test.ts (strace is missing)', '2 passed, 0 failed'],
      failed: 0,
    })
  })
})

describe('test/may-be-skipped.json', () => {
  it('lists suites that there are, each with its reasons', () => {
    const listed: Allowed = JSON.parse(
      readFileSync(join(ROOT, 'test', 'may-be-skipped.json'), 'utf8'),
    )
    expect(Object.keys(listed).filter((name) => !existsSync(join(ROOT, name)))).toEqual([])
    for (const reasons of Object.values(listed)) expect(reasons.length).toBeGreaterThan(0)
  })
})

describe('suites', () => {
  it('skip tests by needs() alone', () => {
    const skipping = /\b(?:describe|it|test)\.(?:skip|only|todo)\b|\bx(?:it|describe|test)\(/
    const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    const found = files
      .filter((name) => /\.ts$/.test(name) && name !== join('support', 'needs.ts'))
      .filter((name) => skipping.test(readFileSync(join(ROOT, 'test', name), 'utf8')))
    expect(found).toEqual([])
  })
})
