import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** Every bench still runs and prints its rows. The numbers of a short round mean nothing and are not looked at. */
const FOLDER = join(import.meta.dirname, '..', '..', 'bench')
const run = (...args: string[]) => {
  const [file = '', ...more] = args
  return spawnSync(process.execPath, [join(FOLDER, file), ...more], {
    encoding: 'utf8',
    timeout: 110_000,
  })
}

/** The rows of DESIGN §10 that each prints with value, floor and whether it is met. */
const BENCHES: Readonly<Record<string, readonly string[]>> = {
  verify: ['verify a capsule vs its signature check alone, native'],
  cedar: ['a decision at 1,000 policies vs 10, asked'],
  journal: [
    'boot with 4000 lines, without snapshot, vs reading and hashing what it must check',
    'boot with 4000 lines, snapshot near the end, vs reading and hashing what it must check',
  ],
  upstream: [],
  spine: ['cost of the spine at 1,000 policies vs 10, asked'],
  proxy: [
    'throughput vs the limit, 64 connections, asked',
    'throughput vs HPM on express, 64 connections, memo',
    'throughput vs HPM on express, 16 connections, memo',
    'CPU per call vs HPM on express, 64 connections, memo',
    'throughput asked vs memo, 64 connections',
    'added p50 at 1 connection vs one durable append to two files',
    'cost at 1,000 policies vs 10, 16 connections, asked',
  ],
  intent: [
    'throughput with intent vs without, 64 connections',
    'throughput with intent vs without, 16 connections',
  ],
  'intent-boot': [],
  mcp: ['MCP stdio call, governed: added p50 vs one durable append to two files'],
}
const ROW = /^(.+): -?\d+\.\d\d×, floor at (?:least|most) [\d.]+×: (?:met|missed)$/gm

describe('npm run bench', () => {
  it('knows the benches told here', () => {
    const { status, stderr } = run('run.mjs', 'no-such-bench')
    expect(status).toBe(2)
    expect(stderr).toContain(`there are ${Object.keys(BENCHES).join(', ')}\n`)
  })

  it.each(Object.entries(BENCHES))(
    '%s runs a short round',
    (name, rows) => {
      const { status, stdout, stderr } = run('run.mjs', name, '--short')
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(stdout).not.toMatch(/NOT (?:200|OK)/)
      expect([...stdout.matchAll(ROW)].map(([, row]) => row)).toEqual(rows)
      expect(stdout.trim().split('\n').length).toBeGreaterThan(3)
    },
    120_000,
  )
})
