import { beforeAll, describe, expect, it } from '@jest/globals'
import { draws } from '../../support/draws.js'
import { allCases, SHARES, startCases } from './drawn-cases.js'
import { createStartJudge } from './judge-start.js'
import { createVerifyJudge } from './judge-verify.js'
import type { World } from './operations/operation.js'
import { runCases } from './run-cases.js'
import { makeWorld } from './world.js'

/** What someone without the keys does to a journal passes no `verify` and starts no gate in silence (SECURITY.md). */
const PART = { index: 0, of: SHARES }
let world: World
beforeAll(async () => {
  world = await makeWorld()
})

describe('a journal that was changed, part 1 of 2', () => {
  it('is not called whole by verify', async () => {
    const judge = createVerifyJudge(world)
    try {
      expect(await judge.judge(world.story.files)).toBeNull()
      await runCases('verify 1', allCases(world, PART), judge, draws(1_000, 150))
    } finally {
      judge.close()
    }
  }, 300_000)

  it('is refused by a gate that is started, or told of; nothing in it is obeyed', async () => {
    const judge = await createStartJudge(world)
    try {
      expect(await judge.judge(world.story.files)).toBeNull()
      await runCases('start 1', startCases(world, PART), judge, draws(850, 130))
    } finally {
      judge.close()
    }
  }, 300_000)
})
