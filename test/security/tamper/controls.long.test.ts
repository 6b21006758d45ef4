import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { LINES } from '../../../src/core/journal/vocabulary.js'
import { verifyLedger } from '../../../src/verify.js'
import { RUNS_ALL, singles } from './cases.js'
import {
  type Files,
  HEAD_FILE,
  journalOf,
  SNAPSHOT,
  segmentFile,
  segments,
  withFile,
  withoutFile,
} from './folder.js'
import { createStartJudge, type StartJudge } from './judge-start.js'
import { createVerifyJudge } from './judge-verify.js'
import type { World } from './operations/operation.js'
import { rowsOf, withRows } from './rows.js'
import { makeWorld } from './world.js'

/** What shows that the suite judges something: the honest folder passes, and a verifier that trusts all fails it. */
let world: World
let start: StartJudge
beforeAll(async () => {
  world = await makeWorld()
  start = await createStartJudge(world)
})
afterAll(() => start.close())

const verify = (files: Files, head?: string) =>
  verifyLedger(journalOf(files), {
    ...{ crypto: nodeCrypto, keys: world.keyring },
    ...(head === undefined ? {} : { head }),
  }).journal

describe('the folder as the gate left it', () => {
  it('passes verify, up to the newest head, also with that head given', () => {
    const { story } = world
    const last = JSON.parse(rowsOf(story.files)?.at(-1)?.text ?? '') as {
      upto: number
      time: string
    }
    for (const head of [undefined, story.files.get(HEAD_FILE)?.toString('utf8')]) {
      expect(verify(story.files, head)).toMatchObject({
        status: 'valid',
        complete: { ok: true, upto: last.upto, time: last.time },
      })
    }
  })

  it('starts a gate that has nothing to tell', async () => {
    expect(await start.judge(world.story.files)).toBeNull()
    expect(start.counts).toEqual({ 'silent, unchanged or cut back': 1 })
  })

  it('has every type of line that a gate writes, four closed segments and more, and nothing private', () => {
    const { types, story } = world
    const own = Object.keys(LINES).filter((type) => type !== 'ADOPTED')
    expect([...types].sort()).toEqual(own.sort())
    expect(segments(story.files).length).toBeGreaterThan(4)
    expect(story.secret.length).toBeGreaterThan(40)
    for (const [name, bytes] of story.files) {
      expect([name, bytes.includes(story.secret)]).toEqual([name, false])
    }
  })
})

describe('an older copy of everything', () => {
  /** Lines, snapshot and second head of one earlier moment. */
  function copyOf(index: number): { files: Files; upto: number } {
    const { snapshot, head } = world.story.earlier[index] as { snapshot: Buffer; head: Buffer }
    const { seq } = JSON.parse(snapshot.toString('utf8', 0, snapshot.indexOf(10))) as {
      seq: number
    }
    const lines = withRows(world.story.files, (rowsOf(world.story.files) ?? []).slice(0, seq))
    return { files: withFile(withFile(lines, SNAPSHOT, snapshot), HEAD_FILE, head), upto: seq - 1 }
  }

  it.each([0, 1])(
    'is whole up to its head and says which, until a later head is given',
    async (index) => {
      const { files, upto } = copyOf(index)
      expect(verify(files)).toMatchObject({ status: 'valid', complete: { ok: true, upto } })
      expect(verify(files, files.get(HEAD_FILE)?.toString('utf8'))?.status).toBe('valid')
      const newest = world.story.files.get(HEAD_FILE)?.toString('utf8')
      expect(verify(files, newest)?.status).toBe('invalid')
      expect(await start.judge(files)).toBeNull()
      // With the second head of today it does not start.
      const before = start.counts.refused ?? 0
      const held = withFile(files, HEAD_FILE, world.story.files.get(HEAD_FILE) as Buffer)
      expect(await start.judge(held)).toBeNull()
      expect(start.counts.refused).toBe(before + 1)
    },
  )
})

describe('segments that were archived', () => {
  it('are told as that and as nothing else', async () => {
    const told: string[] = []
    const archived = withoutFile(world.story.files, segmentFile(1), segmentFile(2))
    expect(await start.judge(archived, told)).toBeNull()
    expect(told.map((each) => (JSON.parse(each) as { kind: string }).kind)).toEqual([
      'segments_archived',
    ])
  })
})

describe('the suite itself', () => {
  it('is red where signatures are not checked', async () => {
    const trusting = { ...nodeCrypto, verifyEd25519: () => true }
    const judge = createVerifyJudge(world, trusting)
    const passed: string[] = []
    for (const { name, files } of singles(world)) {
      if (!/heads that fit \((CAPSULE|HALT|HEAD)|invented-in-middle/.test(name)) continue
      if ((await judge.judge(files)) !== null) passed.push(name)
    }
    judge.close()
    if (!RUNS_ALL) return
    // Heads of their own, lines put in and taken out: the signature alone stands against these. Where a session's audit
    // record stands behind what was changed, its digest does not fit either.
    expect(passed.length).toBeGreaterThan(10)
    for (const operation of ['line-removed, relinked with heads that fit', 'invented-in-middle']) {
      expect(passed.some((name) => name.startsWith(`one: ${operation}`))).toBe(true)
    }
  })
})
