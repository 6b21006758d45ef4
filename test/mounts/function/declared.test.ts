import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Call } from '../../../src/core/call/call.js'
import { type CallAs, inProcess } from '../../../src/mounts/function/call-as.js'
import { type GatedFetch, gatedFetch } from '../../../src/mounts/function/fetch.js'
import { wrap } from '../../../src/mounts/function/wrap.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, rig } from '../../support/rig.js'

/** What the application declares for the agent on whose behalf it calls. */
const MANIFEST = `id: com.acme.local
tools:
  note:
    args: {text: string}
  read:
    match: POST /read
    also: {body: any}
`
const POLICIES = `@id("all") permit (principal == Agent::"worker", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
const seen: Call[] = []
let at: Rig
let upstream: RawUpstream
let fetch: GatedFetch
let note: (as: CallAs) => Promise<void>
let close: () => Promise<void>
beforeAll(async () => {
  at = await rig({ manifest: MANIFEST, policies: POLICIES })
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const gate: typeof at.gate = {
    ...at.gate,
    govern: (call, ...rest) => {
      seen.push(call)
      return at.gate.govern(call, ...rest)
    },
  }
  const to = createUpstream({ name: 'default', origin: upstream.origin })
  const named = { upstream: to, origin: upstream.origin, deadlines: {} }
  fetch = gatedFetch(gate, { upstreams: new Map([['default', named]]), holdBytes: 1024 })
  const wrapped = wrap(gate, 'note', (_: { text: string }) => undefined)
  note = (as) => wrapped({ text: 'x' }, as)
  close = async () => {
    await to.close()
    await upstream.close()
    await at.close()
  }
})
afterAll(() => close())
beforeEach(() => {
  seen.length = 0
})
const agent = 'worker'
const carried = (text: string | null, mandate: string | null) => ({
  kind: 'carried',
  intent: text === null ? null : new Uint8Array(Buffer.from(text)),
  mandate,
})
const declared = () => seen.map((call) => call.declared)

describe('a wrapped function', () => {
  it('declares a text as it is, and an object as JSON', async () => {
    await note({ agent, intent: '{ "a":1.0 }', mandate: 'm' })
    await note({ agent, intent: { a: 1, b: undefined } })
    await note({ agent, mandate: 'm' })
    expect(declared()).toEqual([
      carried('{ "a":1.0 }', 'm'),
      carried('{"a":1}', null),
      carried(null, 'm'),
    ])
  })

  it('that declares nothing has nothing', async () => {
    await note({ agent })
    expect(seen[0]).not.toHaveProperty('declared')
  })

  it('keeps every text, and says of one that is too long that it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (intent) => {
        expect(inProcess({ agent, intent } as CallAs).declared).toEqual(carried(intent, null))
      }),
    )
    const long = inProcess({ agent, intent: 'é'.repeat(3073) } as CallAs)
    expect(long.declared).toMatchObject({ intent: null, fault: 'intent_too_long' })
  })

  it('of an object that JSON cannot say is not called', async () => {
    const cyclic: { self?: object } = {}
    cyclic.self = cyclic
    const nothing = { toJSON: () => undefined }
    for (const intent of [cyclic, nothing, () => 1]) {
      await expect(note({ agent, intent })).rejects.toThrow(TypeError)
    }
    expect(seen).toEqual([])
  })
})

describe('the gated fetch', () => {
  const read = (init: object) =>
    fetch(`${upstream.origin}/read`, { method: 'POST', body: 'x', agent, ...init })
  const encoded = (text: string): string => Buffer.from(text).toString('base64url')

  it('declares by its options or by its headers, and forwards neither', async () => {
    await read({ intent: { a: 1 }, mandate: 'm.m.m' })
    await read({ headers: { 'Agent-Intent': encoded('{ }'), 'Agent-Mandate': 'm.m.m' } })
    await read({})
    expect(declared()).toEqual([carried('{"a":1}', 'm.m.m'), carried('{ }', 'm.m.m'), undefined])
    expect(upstream.requests).toHaveLength(3)
    for (const { head } of upstream.requests) expect(head).not.toMatch(/agent-|m\.m\.m/i)
  })

  it('takes the same from both, and says where they differ', async () => {
    const headers = { 'agent-intent': encoded('{"a":1}'), 'agent-mandate': 'm' }
    await read({ headers, intent: { a: 1 }, mandate: 'm' })
    await read({ headers, intent: { a: 2 }, mandate: 'm' })
    await read({ headers, mandate: 'n' })
    expect(declared()).toEqual([
      carried('{"a":1}', 'm'),
      { ...carried(null, 'm'), fault: 'intent_carriers_differ' },
      { ...carried('{"a":1}', null), fault: 'mandate_carriers_differ' },
    ])
  })

  it('cannot use a header that was given twice', async () => {
    const headers = [
      ['agent-intent', encoded('{}')],
      ['agent-intent', encoded('{}')],
    ]
    await read({ headers })
    expect(declared()).toEqual([{ ...carried(null, null), fault: 'intent_encoding' }])
  })
})
