import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

/** How .ci/run ends: one closing part over the summaries of both runs. */
const SUM = join(import.meta.dirname, '..', '..', 'scripts', 'test', 'sum.mjs')
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'test-sum-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

type NotRun = { suite: string; reason: string; tests: number }
function write(name: string, passed: number, failed: number, notRun: NotRun[] = []): string {
  const file = join(dir, name)
  const suites = [{ suite: 'test/a.test.ts', seconds: passed, run: name }]
  writeFileSync(file, JSON.stringify({ passed, failed, notRun, suites }))
  return file
}
function sum(files: readonly string[], ci = 'false'): { status: number | null; lines: string[] } {
  const env = { ...process.env, CI: ci }
  const { status, stdout } = spawnSync(process.execPath, [SUM, ...files], {
    encoding: 'utf8',
    env,
  })
  return { status, lines: stdout.split('\n') }
}

describe('the sum of two runs, as a command', () => {
  it('ends with the counts of both, the slowest suites of both before them', () => {
    const { status, lines } = sum([write('quick', 10, 0), write('long', 3, 0)])
    expect(lines).toEqual([
      '',
      'slowest suites:',
      '   10.0 s  test/a.test.ts (quick)',
      '    3.0 s  test/a.test.ts (long)',
      '13 passed, 0 failed',
      '',
    ])
    expect(status).toBe(0)
  })

  it('exits 1 where either failed, or left no summary', () => {
    const failing = sum([write('quick', 10, 0), write('long', 3, 2)])
    expect([failing.status, failing.lines.at(-2)]).toEqual([1, '13 passed, 2 failed'])
    const absent = sum([write('quick', 10, 0), join(dir, 'absent')])
    expect([absent.status, absent.lines.at(-2)]).toEqual([1, '10 passed, 1 failed'])
  })

  it('exits 1 in CI where a test did not run for a reason that is not listed', () => {
    const vectors = '../shared/vectors is not here'
    const listed = { suite: 'test/core/verify/vectors.test.ts', reason: vectors, tests: 2 }
    const other = { ...listed, reason: 'python3 is missing or older than 3.9' }
    expect(sum([write('quick', 1, 0, [listed])], 'true').status).toBe(0)
    expect(sum([write('quick', 1, 0, [other])], 'false').status).toBe(0)
    const { status, lines } = sum([write('quick', 1, 0, [other])], 'true')
    expect([status, lines.at(-2)]).toEqual([1, '1 passed, 1 failed'])
  })
})
