import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SHARES, share, startCases } from './cases.js'
import { createStartJudge, type StartJudge } from './judge-start.js'
import type { World } from './operations/operation.js'
import { runCases } from './run-cases.js'
import { makeWorld } from './world.js'

/** No gate starts in silence on a folder that was changed without its keys, and none obeys what it did not write. */
let world: World
let judge: StartJudge
beforeAll(async () => {
  world = await makeWorld()
  judge = await createStartJudge(world)
})
afterAll(() => judge.close())

describe('a gate that is started', () => {
  it('refuses what was changed or tells of it, part 2 of 2', async () => {
    expect(await judge.judge(world.story.files)).toBeNull()
    const done = await runCases('start 2', share(startCases(world), 1, SHARES), judge)
    expect(done).toBeGreaterThan(0)
  }, 300_000)
})
