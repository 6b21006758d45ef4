import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { prove } from '../../../src/gate/operate/prove.js'
import type { PolicyEngine } from '../../../src/ports/policy.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'

/** A gate that cannot prove that it denies a known-forbidden call does not start (promise 6). */
const ALLOW_ALL = '@id("all") permit (principal, action, resource);'
const open: Rig[] = []
const start = async (
  options: Partial<Parameters<typeof rig>[0]> = {},
  dir?: string,
): Promise<Rig> => {
  const gate = await rig({ manifest: PAYMENTS, ...options }, dir)
  open.push(gate)
  return gate
}
afterEach(async () => {
  for (const gate of open.splice(0)) await gate.close()
})

describe('the canary', () => {
  it('leaves one denied, signed capsule at every start', async () => {
    const gate = await start()
    const canaries = (await gate.lines()).filter(
      ({ type, capsule }) =>
        type === 'CAPSULE' &&
        (capsule as { developer: string }).developer === 'dev.capsulegate.canary',
    )
    expect(canaries).toHaveLength(1)
    expect(canaries[0]?.capsule).toMatchObject({ disposition: { verdict_class: 'denied' } })
  })

  it('is judged on the enforce verdict when the gate observes', async () => {
    await expect(start({ mode: 'observe', policies: ALLOW_ALL })).rejects.toMatchObject({
      code: 'canary_not_denied',
    })
    expect((await start({ mode: 'observe' })).gate.read.judges().mode).toBe('observe')
  })

  it('starts under halts: they stop agents, not the proof', async () => {
    const gate = await start()
    await gate.gate.halt({ kind: 'all' }, 'test')
    const again = await gate.restart()
    open.splice(0, 1, again)
    expect(again.gate.read.halts()).toEqual([{ kind: 'all' }])
  })
})

describe('what keeps a gate from starting', () => {
  it('an empty policy set', async () => {
    await expect(start({ policies: '' })).rejects.toMatchObject({ code: 'config_invalid' })
  })

  it('a set that permits everything', async () => {
    await expect(start({ policies: ALLOW_ALL })).rejects.toMatchObject({
      code: 'canary_not_denied',
    })
  })

  it('a stubbed engine', async () => {
    const { gate } = await start()
    const stub: PolicyEngine = {
      digest: gate.read.judges().policy.digest,
      policyIds: ['stub'],
      decide: () => ({ kind: 'permit', policies: ['stub'], observed: [], request: {} }),
      mayPermit: () => true,
    }
    await expect(prove(withPolicy(gate.parts, stub), gate.data.keys())).rejects.toMatchObject({
      code: 'canary_not_denied',
    })
    const empty: PolicyEngine = { ...stub, policyIds: [] }
    await expect(prove(withPolicy(gate.parts, empty), gate.data.keys())).rejects.toMatchObject({
      code: 'policy_set_empty',
    })
    const broken: PolicyEngine = {
      ...stub,
      decide: () => ({ kind: 'error', errorClass: 'x', detail: 'x', request: {} }),
    }
    await expect(prove(withPolicy(gate.parts, broken), gate.data.keys())).rejects.toMatchObject({
      code: 'canary_not_denied',
    })
  })

  it('keys that do not verify what was just signed', async () => {
    const { gate } = await start()
    const other = await start()
    await expect(prove(gate.parts, other.gate.data.keys())).rejects.toMatchObject({
      code: 'canary_record_invalid',
    })
  })

  it('a missing private key', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gate-prove-'))
    const gate = await rig({ manifest: PAYMENTS }, dir)
    await gate.gate.close()
    const keys = join(dir, 'data', 'keys')
    for (const name of readdirSync(keys))
      if (name.startsWith('statement-')) rmSync(join(keys, name))
    await expect(rig({ manifest: PAYMENTS }, dir)).rejects.toThrow(/statement/)
    rmSync(dir, { recursive: true })
  })

  it('a private key that others may read', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gate-prove-'))
    const gate = await rig({ manifest: PAYMENTS }, dir)
    await gate.gate.close()
    chmodSync(join(dir, 'data', 'keys', 'evidence.key'), 0o644)
    await expect(rig({ manifest: PAYMENTS }, dir)).rejects.toThrow(/chmod 600/)
    rmSync(dir, { recursive: true })
  })

  it('a journal that cannot be written', async () => {
    const { gate } = await start()
    const parts: Parts = {
      ...gate.parts,
      // Refusing only the capsule cannot be caused on a real disk between two writes.
      journal: { ...gate.parts.journal, append: () => Promise.reject(new Error('EROFS')) },
    }
    await expect(prove(parts, gate.data.keys())).rejects.toMatchObject({
      code: 'journal_unwritable',
    })
  })
})

const withPolicy = (parts: Parts, policy: PolicyEngine): Parts => ({
  ...parts,
  world: () => ({ ...parts.world(), policy }),
})
