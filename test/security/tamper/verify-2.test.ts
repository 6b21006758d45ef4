import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { allCases, SHARES, share } from './cases.js'
import { createVerifyJudge, type VerifyJudge } from './judge-verify.js'
import type { World } from './operations/operation.js'
import { runCases } from './run-cases.js'
import { makeWorld } from './world.js'

/** Nothing that is done to a journal without the keys passes `verify` (SECURITY.md). */
let world: World
let judge: VerifyJudge
beforeAll(async () => {
  world = await makeWorld()
  judge = createVerifyJudge(world)
})
afterAll(() => judge.close())

describe('an auditor with the keyring', () => {
  it('is not told that a journal holds that was changed, part 2 of 2', async () => {
    expect(await judge.judge(world.story.files)).toBeNull()
    const done = await runCases('verify 2', share(allCases(world), 1, SHARES), judge)
    expect(done).toBeGreaterThan(0)
  }, 300_000)
})
