import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { approvalOf, decide, person, tool } from '../../support/approvals.js'
import { describedTool } from '../../support/manifests.js'
import type { Rig } from '../../support/rig.js'
import { called, filesGate, linesOf, MANIFEST, POISONED, REMOVE, WRITE } from './files-server.js'

let at: Rig
let served: ReturnType<typeof tool>
beforeEach(async () => {
  at = await filesGate()
  served = tool()
})
afterEach(() => at.close())

const call = (...of: Parameters<typeof called>): Promise<Answer> =>
  at.gate.govern(called(...of), served.dispatch)
const accept = (definition: string, more: { tool?: string; server?: string } = {}) =>
  at.gate.acceptTool({ server: 'files', tool: 'write', definition, by: 'olga', ...more })
const pin = () => at.gate.read.pin('files', 'write')

describe('a tool from its first listing on', () => {
  it('serves, changes, is refused with one capsule each, is accepted and serves again; restarts change nothing', async () => {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    expect(await call(WRITE)).toMatchObject({ code: 'executed' })

    at = await at.restart()
    await at.gate.pinTools('files', [POISONED, REMOVE])
    expect(await call(POISONED)).toMatchObject({ kind: 'refused', code: 'tool_changed' })
    at = await at.restart()
    expect(await call(POISONED)).toMatchObject({ code: 'tool_changed' })
    expect(await call(WRITE)).toMatchObject({ code: 'tool_changed' })

    expect(await accept(POISONED.digest)).toBe('accepted')
    expect(await call(WRITE)).toMatchObject({ code: 'tool_changed' })
    expect(await call(POISONED)).toMatchObject({ code: 'executed' })
    at = await at.restart()
    await at.gate.pinTools('files', [POISONED, REMOVE])
    expect(await call(POISONED)).toMatchObject({ code: 'executed' })

    expect(served.sent).toHaveLength(3)
    const verdicts = (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)
    expect(verdicts).toEqual([
      'executed',
      'denied',
      'denied',
      'denied',
      'denied',
      'executed',
      'executed',
    ])
  })

  it('that was changed and changed back serves as accepted', async () => {
    await at.gate.pinTools('files', [WRITE])
    await at.gate.pinTools('files', [POISONED])
    await at.gate.pinTools('files', [WRITE])
    expect(await call(WRITE)).toMatchObject({ code: 'executed' })
    expect(await call(POISONED)).toMatchObject({ code: 'tool_changed' })
  })
})

describe('accepting', () => {
  beforeEach(async () => {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    await at.gate.pinTools('files', [POISONED])
  })

  it('is signed, with who did it in evidence and a pseudonym in the line', async () => {
    await accept(POISONED.digest)
    const [line] = await linesOf(at, 'TOOL_ACCEPTED')
    expect(line).toMatchObject({
      server: 'files',
      tool: 'write',
      definition: POISONED.digest,
      actor: at.gate.parts.tenant.voter('olga'),
      sig: expect.any(String),
    })
    expect(JSON.stringify(line)).not.toContain('olga')
    const found = await at.gate.data.evidence.byDigest(String(line?.evidence_digest))
    const scope = { server: 'files', tool: 'write', definition: POISONED.digest }
    expect(found).toMatchObject({ value: { value: { did: 'TOOL_ACCEPTED', name: 'olga', scope } } })
  })

  it.each([
    ['never seen', 'f'.repeat(64), {}, 'not_seen'],
    ['of another tool', REMOVE.digest, {}, 'not_seen'],
    ['the one it is held to', WRITE.digest, {}, 'in_force'],
    ['of a tool never listed', WRITE.digest, { tool: 'chmod' }, 'unknown'],
    ['of a server never listed', WRITE.digest, { server: 'other' }, 'unknown'],
  ])('a definition that is %s changes nothing', async (_, definition, more, answer) => {
    const before = await at.lines()
    expect(await accept(definition, more)).toBe(answer)
    expect(await at.lines()).toHaveLength(before.length)
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: POISONED.digest })
    expect(await call(WRITE)).toMatchObject({ code: 'tool_changed' })
  })

  it('one that the server has left behind again is refused: it would be held to what nobody serves', async () => {
    const third = describedTool('write', 'Writes any file.')
    await at.gate.pinTools('files', [third])
    expect(await accept(POISONED.digest)).toBe('not_seen')
    expect(await accept(third.digest)).toBe('accepted')
    expect(await accept(third.digest)).toBe('in_force')
    expect(await linesOf(at, 'TOOL_ACCEPTED')).toHaveLength(1)
  })

  it('at the same time as listings ends in one of both orders', async () => {
    const third = describedTool('write', 'Writes any file.')
    const [accepted] = await Promise.all([
      accept(POISONED.digest),
      at.gate.pinTools('files', [third]),
      accept(third.digest),
      at.gate.pinTools('files', [POISONED]),
    ])
    expect(accepted).toBe('accepted')
    const known = await at.gate.read.pins()
    at = await at.restart()
    expect(await at.gate.read.pins()).toEqual(known)
  })

  it('stops calls that were judged before it', async () => {
    await at.gate.pinTools('files', [WRITE])
    await at.close()
    let turn = async (): Promise<unknown> => undefined
    at = await filesGate({
      seam: async (name) => void (name === 'before_first_byte' ? await turn() : undefined),
    })
    await at.gate.pinTools('files', [WRITE, REMOVE])
    const other = describedTool('remove', 'Removes files and folders.')
    await at.gate.pinTools('files', [other])
    turn = () => accept(other.digest, { tool: 'remove' })
    expect(await call(WRITE)).toMatchObject({ code: 'judgement_stale' })
    expect(served.sent).toEqual([])
  })
})

describe('what a person approved', () => {
  const CHANGED = describedTool('remove', 'Removes a folder and all that is in it.')

  async function approved(): Promise<string> {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    const asked = await call(REMOVE)
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    await decide(at.gate, asked.approvalId, person('dora'), { kind: 'approve' })
    return asked.approvalId
  }
  const acceptChange = async (): Promise<void> => {
    await at.gate.pinTools('files', [CHANGED])
    expect(await call(CHANGED)).toMatchObject({ code: 'tool_changed' })
    expect(await accept(CHANGED.digest, { tool: 'remove' })).toBe('accepted')
  }

  it('runs while the tool is described as it was', async () => {
    await approved()
    expect(await call(REMOVE)).toMatchObject({ code: 'executed' })
  })

  it('does not serve the tool as it is described after a change, also when that was accepted', async () => {
    const id = await approved()
    await acceptChange()
    const again = await call(CHANGED)
    expect(again).toMatchObject({ kind: 'pending' })
    expect('approvalId' in again && again.approvalId).not.toBe(id)
    const named = await call(CHANGED, 'remove', { approvalId: id })
    expect(named).toMatchObject({
      code: 'approval_mismatch',
      problem: { differs_at: '/request/definition' },
    })
    expect(await call(REMOVE, 'remove', { approvalId: id })).toMatchObject({ code: 'tool_changed' })
    expect(served.sent).toEqual([])
    expect((await approvalOf(at.gate, id)).state.kind).toBe('approved')
  })

  it('is not sent by the gate itself either, when the tool changed meanwhile', async () => {
    await at.close()
    const manifest = MANIFEST.replace('remove: {', 'remove: {hitl: {on_approval: dispatch}, ')
    at = await filesGate({ manifest })
    await approved()
    await acceptChange()
    await at.gate.dispatchApproved(() => served.dispatch)
    await at.gate.stop()
    expect(served.sent).toEqual([])
    const reasons = (await at.capsules()).map(({ about }) => about?.tool)
    expect(reasons).toEqual(['files.remove', 'files.remove', 'files.remove'])
  })
})
