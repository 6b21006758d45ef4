import { afterEach, describe, expect, it } from '@jest/globals'
import { haltFor, sameScope } from '../../../src/gate/operate/halt.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'

const CALL = { agent: 'bot', tool: 'pay', operator: 'acme' }
const AGENT = { kind: 'agent', name: 'bot' } as const
const TOOL = { kind: 'tool', name: 'pay' } as const

describe('haltFor', () => {
  it('is the first halt that names the call, in its own sense', () => {
    expect(haltFor([TOOL, AGENT], CALL)).toBe(TOOL)
    expect(haltFor([{ kind: 'all' }], CALL)).toEqual({ kind: 'all' })
    expect(haltFor([{ kind: 'operator', name: 'bot' }], CALL)).toBeNull()
    expect(haltFor([], CALL)).toBeNull()
    const session = { kind: 'session', name: 's-1' } as const
    expect(haltFor([session], CALL)).toBeNull()
    expect(haltFor([session], { ...CALL, sessionId: 's-2' })).toBeNull()
    expect(haltFor([session], { ...CALL, sessionId: 's-1' })).toBe(session)
  })
})

describe('sameScope', () => {
  it('compares kind and name, and `all` by its kind alone', () => {
    expect(sameScope({ kind: 'all' }, { kind: 'all' })).toBe(true)
    expect(sameScope({ kind: 'all' }, AGENT)).toBe(false)
    expect(sameScope(AGENT, { ...AGENT })).toBe(true)
    expect(sameScope(AGENT, { kind: 'agent', name: 'other' })).toBe(false)
    expect(sameScope(AGENT, { kind: 'tool', name: 'bot' })).toBe(false)
  })
})

describe('a halt', () => {
  let at: Rig
  afterEach(() => at.close())

  it('is held once however often it is ordered, and is over when it is resumed', async () => {
    at = await rig({ manifest: PAYMENTS })
    await at.gate.halt(AGENT, 'olga')
    await at.gate.halt({ ...AGENT }, 'olga')
    await at.gate.halt(TOOL, 'olga')
    expect(at.gate.read.halts()).toEqual([AGENT, TOOL])
    await at.gate.resume(AGENT, 'olga')
    expect(at.gate.read.halts()).toEqual([TOOL])
    at = await at.restart()
    expect(at.gate.read.halts()).toEqual([TOOL])
  })

  it('has who ordered it in evidence and a pseudonym in its line', async () => {
    at = await rig({ manifest: PAYMENTS })
    await at.gate.halt(AGENT, 'olga')
    const line = Object((await at.lines()).find(({ type }) => type === 'HALT'))
    expect(JSON.stringify(line)).not.toContain('olga')
    expect(line.actor).toBe(at.gate.parts.tenant.voter('olga'))
    const found = await at.gate.data.evidence.byDigest(line.evidence_digest)
    expect(found).toMatchObject({ value: { value: { did: 'HALT', name: 'olga', scope: AGENT } } })
  })
})
