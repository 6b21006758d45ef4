import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { utf8 } from '../../../src/core/bytes/text.js'
import { admit } from '../../../src/gate/govern/admit.js'
import type { HaltScope } from '../../../src/gate/operate/halt.js'
import type { State } from '../../../src/ports/state.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, type RigOptions, refund, rig } from '../../support/rig.js'
import { called, filesGate, MANIFEST, POISONED, WRITE } from '../servers/files-server.js'
import { matched } from './stages.js'

const NOTHING = { kind: 'read', bytes: utf8('') } as const

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

it.each<[HaltScope]>([
  [{ kind: 'all' }],
  [{ kind: 'agent', name: 'support-bot' }],
  [{ kind: 'tool', name: 'create_refund' }],
  [{ kind: 'operator', name: 'acme' }],
])('stops a call under a halt of %j, which the reason names', async (scope) => {
  const parts = { ...at.gate.parts, halts: () => [scope] }
  const left = await admit(await matched(refund('5'), parts), parts)
  expect(left).toMatchObject({ exit: 'refused', code: 'halted', reason: { observed: scope } })
})

it('lets it on under halts of others, with its agent', async () => {
  const others: HaltScope[] = [
    { kind: 'agent', name: 'create_refund' },
    { kind: 'tool', name: 'support-bot' },
    { kind: 'operator', name: 'other' },
  ]
  const parts = { ...at.gate.parts, halts: () => others }
  expect(await admit(await matched(refund('5'), parts), parts)).toMatchObject({
    agent: { kind: 'known', agent: 'support-bot' },
  })
})

describe('a tool of a server', () => {
  const [D1, D2, D3] = [WRITE.digest, POISONED.digest, 'd'.repeat(64)]
  let files: Rig
  afterEach(() => files.close())

  type Case = {
    /** What the call was made by, the state knows and the manifest says. */
    readonly shown?: typeof WRITE
    readonly pin?: readonly [definition: string, changed: string | null]
    readonly manifest?: string
  }
  async function admitted({ shown, pin, manifest }: Case, more: Partial<RigOptions> = {}) {
    const definition = manifest === undefined ? '' : `, definition: ${manifest}`
    const text = MANIFEST.replace('path: string}', `path: string}${definition}`)
    files = await filesGate({ manifest: text, ...more })
    const { parts } = files.gate
    const known = pin && { server: 'files', tool: 'write', definition: pin[0], changed: pin[1] }
    const state = { ...parts.state, pin: async () => known ?? null }
    return admit(await matched(called(shown ?? null), parts), { ...parts, state })
  }

  it.each<[string, Case]>([
    ['nothing is known of', {}],
    ['nothing is held to anything', { shown: WRITE }],
    ['is described as pinned', { shown: WRITE, pin: [D1, null] }],
    ['is described as the manifest says', { shown: WRITE, manifest: D1 }],
    ['is described as manifest and pin say', { shown: WRITE, pin: [D1, null], manifest: D1 }],
    ['changed to what the manifest says', { shown: WRITE, pin: [D2, D1], manifest: D1 }],
  ])('that %s is let on', async (_, given) => {
    expect(await admitted(given)).toMatchObject({ agent: { kind: 'known' } })
  })

  it.each<[string, Case, readonly [string, string | null]]>([
    ['was shown otherwise than pinned', { shown: POISONED, pin: [D1, null] }, [D1, D2]],
    ['changed, and was called by what it was', { shown: WRITE, pin: [D1, D2] }, [D1, D2]],
    ['changed, and was called by the change', { shown: POISONED, pin: [D1, D2] }, [D1, D2]],
    ['changed twice', { shown: POISONED, pin: [D1, D3] }, [D1, D2]],
    ['is not listed any more', { pin: [D1, null] }, [D1, null]],
    ['is not as the manifest says', { shown: WRITE, manifest: D2 }, [D2, D1]],
    ['is not listed, and the manifest says how', { manifest: D1 }, [D1, null]],
    [
      'an operator accepted against the manifest',
      { shown: WRITE, pin: [D1, null], manifest: D2 },
      [D2, D1],
    ],
    [
      'others were shown otherwise than the manifest says',
      { shown: WRITE, pin: [D1, D3], manifest: D1 },
      [D1, D3],
    ],
    [
      'others were last shown as pinned, not as the manifest says',
      { shown: WRITE, pin: [D2, null], manifest: D1 },
      [D1, D2],
    ],
  ])(
    'that %s is refused, in every mode; the reason has the digests',
    async (_, given, [pinned, seen]) => {
      const refused = {
        exit: 'refused',
        code: 'tool_changed',
        reason: { observed: { pinned, seen } },
        details: {},
      }
      expect(await admitted(given)).toMatchObject(refused)
      await files.close()
      expect(await admitted(given, { mode: 'observe' })).toMatchObject(refused)
    },
  )

  it('is looked up; what is no tool, or of no server, is not, and is let on at once', async () => {
    files = await filesGate()
    const { parts } = files.gate
    const asked: string[] = []
    const pin: State['pin'] = async (server, tool) => {
      asked.push(`${server} ${tool}`)
      return null
    }
    const watched = { ...parts, state: { ...parts.state, pin } }
    const resource = called(null, 'write', { method: 'resources/read', body: NOTHING })
    expect(admit(await matched(resource, parts), watched)).toMatchObject({ agent: {} })
    expect(admit(await matched(refund('5'), at.gate.parts), watched)).toMatchObject({ agent: {} })
    expect(asked).toEqual([])
    expect(admit(await matched(called(WRITE), parts), watched)).toBeInstanceOf(Promise)
    expect(asked).toEqual(['files write'])
  })

  it('is halted as any other, and that is told first', async () => {
    files = await filesGate()
    const { parts } = files.gate
    await files.gate.pinTools('files', [WRITE])
    const halted = { ...parts, halts: () => [{ kind: 'tool', name: 'files.write' } as const] }
    expect(admit(await matched(called(POISONED), parts), halted)).toMatchObject({ code: 'halted' })
  })
})
