import { hash } from 'node:crypto'
import { describe, expect, it, jest } from '@jest/globals'
import type { Crypto } from '../../../src/core/crypto/crypto.js'

/** An engine under which every signature holds, as if nobody checked one. */
const trusting: Crypto = {
  name: 'trusting',
  sha256: (data) => hash('sha256', data, 'buffer'),
  sha256Hex: (data) => hash('sha256', data, 'hex'),
  verifyEd25519: () => true,
  verifyES256: () => true,
}
jest.unstable_mockModule('../../../src/adapters/crypto-node.js', () => ({ nodeCrypto: trusting }))

const { singles, RUNS_ALL } = await import('./cases.js')
const { createStartJudge } = await import('./judge-start.js')
const { makeWorld } = await import('./world.js')

describe('starts where signatures are not checked', () => {
  it('are red: lines that nobody signed are obeyed, and nothing is told', async () => {
    const world = await makeWorld()
    const judge = await createStartJudge(world)
    const red: string[] = []
    for (const { name, files } of singles(world)) {
      if (!/^one: (invented-before-last-head|snapshot-rewritten)/.test(name)) continue
      if ((await judge.judge(files)) !== null) red.push(name)
    }
    judge.close()
    if (!RUNS_ALL) return
    expect(red).toEqual(
      expect.arrayContaining([
        expect.stringContaining('invented-before-last-head (ACTION_DISPATCHED'),
        expect.stringContaining('invented-before-last-head (HALT posing)'),
        expect.stringContaining('snapshot-rewritten (old signature)'),
      ]),
    )
  }, 300_000)
})
