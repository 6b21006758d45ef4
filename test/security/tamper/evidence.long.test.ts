import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { compareEvidence } from '../../../src/cli/ledger/evidence.js'
import { cli } from '../../cli/support.js'
import { type Case, pairs, RUNS_ALL, singles } from './cases.js'
import { HEAD_FILE, withFile, writeFolder } from './folder.js'
import { EVIDENCE_KEYS, type FrameAt, frames, segmentPaths, slotOf } from './frames.js'
import { createEvidenceJudge, type EvidenceJudge } from './judge-evidence.js'
import { EVIDENCE_CHANGED } from './operations/evidence.js'
import type { World } from './operations/operation.js'
import { runCases } from './run-cases.js'
import { makeWorld } from './world.js'

/** Evidence that must exist and does not is told as missing or damaged, never as erased and never as none. */
let world: World
let judge: EvidenceJudge
let root = ''
beforeAll(async () => {
  world = await makeWorld()
  judge = createEvidenceJudge(world)
  root = mkdtempSync(join(tmpdir(), 'gate-tamper-command-'))
})
afterAll(() => {
  judge.close()
  rmSync(root, { recursive: true, force: true })
})

const PAIRS = 150
const without = (bytes: Buffer, { offset, length }: FrameAt): Buffer =>
  Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + length)])

describe('evidence in the hands of someone without its key', () => {
  it('is whole as it was left, with what was erased', async () => {
    expect(await judge.judge(world.story.files)).toBeNull()
    expect([...judge.lost(world.story.files)]).toEqual([])
    expect(judge.counts).toEqual({ whole: 1 })
  })

  it('is told digest by digest where it was changed', async () => {
    function* cases(): Generator<Case> {
      yield* singles(world, undefined, EVIDENCE_CHANGED)
      yield* pairs(world, PAIRS, undefined, [EVIDENCE_CHANGED, EVIDENCE_CHANGED])
    }
    await runCases('evidence', cases(), judge, 250)
  }, 300_000)

  it('is missing where only an erased record of another call has the same octets', async () => {
    const { files } = world.story
    const keys = files.get(EVIDENCE_KEYS) as Buffer
    const isDark = ({ keyId }: FrameAt): boolean => slotOf(keys, keyId)[0] === 2
    const all = segmentPaths(files).flatMap((path) => frames(files.get(path) as Buffer))
    const dark = new Set(all.filter(isDark).flatMap(({ digests }) => digests))
    const shared = all
      .filter((frame) => !isDark(frame))
      .flatMap(({ digests }) => digests.filter((digest) => dark.has(digest)))
    const left = segmentPaths(files).reduce((changed, path) => {
      const bytes = files.get(path) as Buffer
      const rest = frames(bytes)
        .filter((frame) => !isDark(frame) && frame.digests.some((each) => shared.includes(each)))
        .reduceRight(without, bytes)
      return withFile(changed, path, rest)
    }, files)
    expect(judge.lost(left).size).toBeGreaterThan(0)
    expect(await judge.judge(left)).toBeNull()
  })

  // An erasure's line has a digest of the names of what it darkened: no other record can take the place of one.
  it('does not count as erased where a record took the place of an erased one', async () => {
    const { files } = world.story
    const keys = files.get(EVIDENCE_KEYS) as Buffer
    const path = segmentPaths(files)[0] as string
    const bytes = Buffer.from(files.get(path) as Buffer)
    const all = frames(bytes)
    const isDark = ({ keyId }: FrameAt): boolean => slotOf(keys, keyId)[0] === 2
    const live = all.filter((frame) => !isDark(frame))
    const spare = all.find(
      (frame) =>
        isDark(frame) && judge.lost(withFile(files, path, without(bytes, frame))).size === 0,
    )
    const hidden = live.find(
      (frame) => judge.lost(withFile(files, path, without(bytes, frame))).size > 0,
    )
    if (spare === undefined || hidden === undefined)
      throw new Error('the story has no such records')
    spare.keyId.copy(bytes, hidden.offset + 44)
    const end = hidden.offset + 12 + bytes.readUInt32BE(hidden.offset + 4)
    bytes.writeUInt32BE(crc32(bytes.subarray(hidden.offset, end)), end)
    const dir = mkdtempSync(join(root, 'case-'))
    writeFolder(dir, withFile(files, path, without(bytes, spare)))
    const masterKey = join(dir, 'data', 'keys', 'evidence.key')
    const report = await compareEvidence({ data: join(dir, 'data'), masterKey })
    expect(report.kind === 'compared' && report.findings.length > 0).toBe(true)
  })

  it.each([
    ['evidence-file-removed (data/evidence/segments/0000000001.seg)', 'missing'],
    ['evidence-file-removed (data/evidence/keys)', 'damaged'],
    ['evidence-removed (/public)', 'missing'],
    ['evidence-record-removed', 'missing'],
    ['evidence-record-zeroed', 'missing'],
    ['evidence-key-destroyed', 'missing'],
  ])('%s: the command exits 1 and says %s', async (name, word) => {
    const cases = [...singles(world, undefined, EVIDENCE_CHANGED)]
    const made = cases.find(
      (each) => each.name.startsWith(`one: ${name}`) && judge.lost(each.files).size > 0,
    )
    if (made === undefined) {
      expect(RUNS_ALL).toBe(false)
      return
    }
    const dir = mkdtempSync(join(root, 'case-'))
    writeFolder(dir, made.files)
    const args = ['--data', join(dir, 'data'), '--head', join(dir, HEAD_FILE)]
    const { code, out } = await cli(['ledger', 'verify', '--evidence', ...args])
    expect([code, out]).toEqual([1, expect.stringMatching(new RegExp(`evidence: ${word}`))])
  })
})
