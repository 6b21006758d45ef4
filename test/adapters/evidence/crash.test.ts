import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Seam } from '../../../src/adapters/evidence/seams.js'
import { digestOf } from '../../contract/evidence.js'
import { type Bench, openBench } from './bench.js'

/** kill -9 at every named place, in a process of its own; then the store is opened and asked. */
const DIST = pathToFileURL(join(import.meta.dirname, '..', '..', '..', 'dist')).href

/** The child's prelude: `arm(n)` makes the n-th passing of the seam from now on the last thing it does. */
const PRELUDE = `
import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { openEvidence } from '${DIST}/adapters/evidence/open.js'
import { jsonDigest } from '${DIST}/core/json/build.js'
const [dir, seam] = process.argv.slice(1)
const sha256 = (data) => createHash('sha256').update(data).digest()
let left = 0
const arm = (n) => { left = n }
const die = () => process.kill(process.pid, 'SIGKILL')
const evidence = await openEvidence({
  dir,
  masterKey: new Uint8Array(32).fill(7),
  reserveBytes: 4096,
  segmentBytes: 600,
  seams: { [seam]: () => { if (left > 0 && --left === 0) die() } },
})
const part = (i) => ({ digest: jsonDigest({ i }, { sha256 }), kind: 'reason', value: { i } })
const record = (i, subject = null) =>
  ({ actionId: 'a' + i, operator: 'acme', subject, at: '2026-03-01T12:00:00.000Z', parts: [part(i)] })
const say = (text) => writeSync(1, text + '\\n')
`

let bench: Bench
beforeEach(async () => {
  bench = await openBench()
  await bench.evidence.close()
})
afterEach(() => bench.dispose())

/** Runs the script until it kills itself; what it had said by then. */
async function untilKilled(seam: Seam | 'none', script: string): Promise<string[]> {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', PRELUDE + script, bench.dir, seam],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  let complaint = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  const [, signal] = await once(child, 'close')
  expect({ signal, complaint }).toEqual({ signal: 'SIGKILL', complaint: '' })
  return said.split('\n').filter((line) => line !== '')
}
const stateOf = async (i: number): Promise<string> => (await bench.evidence.byAction(`a${i}`)).state

describe('kill -9 while putting', () => {
  const putting = (n: number) => `
    arm(${n})
    for (let i = 0; ; i++) { await evidence.put(record(i)); say(String(i)) }
  `
  it.each(
    [1, 4].flatMap((nth) => [
      { nth, seam: 'before_evidence_write' as const, last: 'missing' },
      { nth, seam: 'after_evidence_write' as const, last: 'present' },
      { nth, seam: 'before_evidence_sync' as const, last: 'present' },
      { nth, seam: 'after_evidence_sync' as const, last: 'present' },
    ]),
  )('at $seam of put $nth: the acknowledged are there, the last is $last', async (one) => {
    const acknowledged = (await untilKilled(one.seam, putting(one.nth))).length
    expect(acknowledged).toBe(one.nth - 1)
    await bench.reopen()
    for (let i = 0; i < acknowledged; i++) expect(await stateOf(i)).toBe('present')
    // What is in the kernel outlives the process: evidence precedes what commits to it.
    expect(await stateOf(acknowledged)).toBe(one.last)
    expect(await stateOf(acknowledged + 1)).toBe('missing')
    expect(bench.evidence.findings().filter((found) => !found.includes('made again'))).toEqual([])
  })

  it('right after put returned its promise: the record is there', async () => {
    await untilKilled('none', 'evidence.put(record(0)); evidence.put(record(1, "ada")); die()')
    await bench.reopen()
    expect([await stateOf(0), await stateOf(1)]).toEqual(['present', 'present'])
  })

  it.each(['before_index_swap', 'after_index_swap'] as const)(
    'at %s: every acknowledged record is found, and the index is made again if need be',
    async (seam) => {
      const acknowledged = (await untilKilled(seam, putting(2))).length
      expect(acknowledged).toBeGreaterThan(2)
      await bench.reopen()
      for (let i = 0; i < acknowledged; i++) {
        expect(await stateOf(i)).toBe('present')
        expect(await bench.evidence.byDigest(digestOf({ i }))).toMatchObject({ state: 'present' })
      }
    },
  )
})

describe('kill -9 while erasing', () => {
  it.each(['before_key_overwrite', 'after_key_overwrite'] as const)(
    'at %s: the order stands, and is carried out at the next start',
    async (seam) => {
      await untilKilled(
        seam,
        `
        await evidence.put(record(0, 'ada'))
        await evidence.put(record(1, 'bob'))
        arm(1)
        await evidence.erase({ subject: 'ada' })
        say('erased')
      `,
      )
      expect(existsSync(join(bench.dir, 'keys.erasing'))).toBe(true)
      await bench.reopen()
      expect([await stateOf(0), await stateOf(1)]).toEqual(['erased', 'present'])
      expect(existsSync(join(bench.dir, 'keys.erasing'))).toBe(false)
      expect(bench.evidence.findings().join()).toMatch(/interrupted erasure was completed/)
      await bench.reopen()
      expect(bench.evidence.findings()).toEqual([])
      expect(await bench.evidence.erase({ subject: 'ada' })).toBe(0)
    },
  )
})

describe('the lock', () => {
  it('is let go of by a killed process, and held against a living one', async () => {
    await bench.reopen()
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { openEvidence } from '${DIST}/adapters/evidence/open.js'
         await openEvidence({ dir: process.argv[1], masterKey: new Uint8Array(32).fill(7) })
           .catch((error) => { process.exitCode = error.code === 'locked' ? 7 : 8 })`,
        bench.dir,
      ],
      { stdio: 'ignore' },
    )
    expect(await once(child, 'close')).toEqual([7, null])
  })
})
