import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { readJournal } from '../../src/adapters/journal/read/read-journal.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import { verifyLedger } from '../../src/verify.js'
import { sample } from '../support/draws.js'
import { expectEvidence } from '../support/evidence.js'
import { POLICIES } from '../support/rig.js'

/**
 * kill -9 between any two steps of asking, deciding and running, again and again on one data folder.
 * Whatever was acknowledged is still so; nothing is sent twice or on nobody's word; nothing stays open.
 */
const SEAMS = sample(
  [
    'before_intent',
    'after_intent',
    'before_first_byte',
    'after_first_byte',
    'after_last_byte',
    'before_capsule',
    'after_capsule',
    'before_write',
    'after_write',
    'before_sync',
    'after_sync',
    'before_evidence_write',
    'after_evidence_write',
    'after_evidence_sync',
  ],
  5,
)
const ROUNDS = Number(process.env.TORTURE_ROUNDS ?? 1)
const CHILD = join(import.meta.dirname, '..', 'support', 'approval-child.mjs')
const dir = mkdtempSync(join(tmpdir(), 'gate-approval-crash-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Line = { readonly type: string; readonly [member: string]: unknown }
const read = (file: string): string[][] =>
  readFileSync(join(dir, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))

it('keeps every word it gave, wherever it is killed', async () => {
  const seed = Number(process.env.TORTURE_SEED ?? Date.now() % 1_000_000)
  let state = seed >>> 0
  const upTo = (most: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return 1 + Math.floor((state / 2 ** 32) * most)
  }
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'policies', 'p.cedar'), POLICIES)
  const run = (seam: string, hits: number, name: string) =>
    spawnSync(process.execPath, [CHILD, dir, seam, String(hits), name], {
      encoding: 'utf8',
      timeout: 60_000,
    })
  for (let round = 0; round < ROUNDS; round++) {
    for (const seam of SEAMS) {
      // A dispatch happens once or twice in a round of paths, a write at every step.
      const hits = upTo(/intent|byte/.test(seam) ? 5 : 20)
      const child = run(seam, hits, `${seed}-${round}-${seam}`)
      if (child.signal !== 'SIGKILL' || !child.stdout.includes(`killed at ${seam}`)) {
        throw new Error(`seed ${seed}, ${seam} × ${hits}: ${child.stdout}${child.stderr}`)
      }
    }
  }
  const last = run('none', 1, `${seed}-last`)
  expect({ seed, err: last.stderr, out: last.stdout }).toEqual({ seed, err: '', out: 'finished\n' })

  const lines: Line[] = []
  let journal = ''
  for await (const { line, raw } of readJournal(join(dir, 'data', 'journal'))) {
    journal += `${Buffer.from(raw).toString('utf8').replace(/\n$/, '')}\n`
    lines.push(line)
  }
  const { keys } = exportKeyring(join(dir, 'data', 'keys'))
  const verified = verifyLedger(journal, { keys, crypto: nodeCrypto })
  const { results, open_items } = verified
  expect(verified.journal).toMatchObject({ status: 'valid', complete: { ok: true } })
  expect(results.flatMap(({ ok, findings }) => (ok ? [] : findings))).toEqual([])
  expect(open_items).toEqual([])
  const codes = results.flatMap(({ findings }) => findings.map(({ code }) => code))
  expect(codes).not.toContain('concurrent_supersedes')

  const capsules = new Map(
    lines
      .filter(({ type }) => type === 'CAPSULE')
      .map(({ capsule }) => capsule as { action_id: string; disposition: object })
      .map((capsule) => [capsule.action_id, capsule] as const),
  )
  const sent = read('tool.log')
  const orders = sent.map(([order]) => order)
  expect(orders.length - new Set(orders).size).toBe(0)
  for (const [, action = ''] of sent) {
    expect(capsules.get(action)?.disposition).toMatchObject({ human_disposed: true })
  }
  const named = (type: string): Set<unknown> =>
    new Set(lines.filter((line) => line.type === type).map((line) => line.approval_id))
  const [opened, granted] = [named('APPROVAL_OPENED'), named('GRANT_ISSUED')]
  for (const [what, first, second] of read('acks.log')) {
    if (what === 'approval_pending') expect(opened).toContain(second)
    if (what === 'decided-approved') expect(granted).toContain(first)
    if (what === 'executed') expect(capsules.has(first ?? '')).toBe(true)
  }
  const kept = await expectEvidence(join(dir, 'data'))
  process.stdout.write(
    `approval crash seed ${seed}: ${JSON.stringify({ kills: SEAMS.length * ROUNDS, sent: sent.length, opened: opened.size, granted: granted.size, capsules: capsules.size, ...kept })}\n`,
  )
}, 600_000)
