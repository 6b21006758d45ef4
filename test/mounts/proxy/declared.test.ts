import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Call } from '../../../src/core/call/call.js'
import { MOST_MANDATE_LENGTH } from '../../../src/core/intent/model.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { AUTH, ask, get, JSON_TYPE, post, type Stand, startStand } from './harness.js'

/** What an agent declares of its calls in their heads: it reaches the gate as it was sent, and no upstream. */
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const seen: Call[] = []
let upstream: RawUpstream
let stand: Stand
beforeAll(async () => {
  upstream = await rawUpstream(answering(OK))
  stand = await startStand({
    upstream: upstream.origin,
    passThrough: [{ path: '/docs', upstream: 'default', kind: 'http' }],
    through: (gate) => ({
      ...gate,
      govern: (call, ...rest) => {
        seen.push(call)
        return gate.govern(call, ...rest)
      },
    }),
  })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})
beforeEach(() => {
  seen.length = 0
  upstream.requests.length = 0
})

const encoded = (octets: string | Uint8Array): string => Buffer.from(octets).toString('base64url')
const intentOf = (octets: string | Uint8Array): string => `agent-intent: ${encoded(octets)}\r\n`
const MANDATE = 'agent-mandate: a.b.c\r\n'
const code = (body: Buffer): unknown => JSON.parse(body.toString()).code

describe('what a head declares', () => {
  it('is in the call, octet by octet, and nothing of it goes to the upstream', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (octets) => {
        seen.length = 0
        const answer = await ask(stand.port, get('/files/a', intentOf(octets) + MANDATE))
        expect(answer.status).toBe(200)
        expect(seen.map(({ declared }) => declared)).toEqual([
          { kind: 'carried', intent: new Uint8Array(octets), mandate: 'a.b.c' },
        ])
      }),
      { numRuns: 20 },
    )
    for (const { head } of upstream.requests) expect(head).not.toMatch(/agent-|a\.b\.c/i)
    expect(upstream.requests.length).toBeGreaterThan(0)
  })

  it('may be one of the two, and none leaves none', async () => {
    await ask(stand.port, get('/files/a', intentOf('{}')))
    await ask(stand.port, get('/files/a', MANDATE))
    await ask(stand.port, get('/files/a'))
    expect(seen.map(({ declared }) => declared)).toEqual([
      { kind: 'carried', intent: new Uint8Array([0x7b, 0x7d]), mandate: null },
      { kind: 'carried', intent: null, mandate: 'a.b.c' },
      undefined,
    ])
    expect(seen[2]).not.toHaveProperty('declared')
  })

  it('may be as long as it ever is: 8 KiB and a mandate of 16 KiB in one head', async () => {
    const octets = 'x'.repeat(6144)
    expect(encoded(octets)).toHaveLength(8192)
    const mandate = 'm'.repeat(MOST_MANDATE_LENGTH)
    const answer = await ask(
      stand.port,
      post(
        '/pay',
        '{"amount":"1.00"}',
        `${JSON_TYPE}${intentOf(octets)}agent-mandate: ${mandate}\r\n`,
      ),
    )
    expect(answer.status).toBe(200)
    expect(seen[0]?.declared).toEqual({
      kind: 'carried',
      intent: new Uint8Array(Buffer.from(octets)),
      mandate,
    })
    expect(upstream.requests[0]?.head.length).toBeLessThan(1000)
  })

  it.each([
    ['padding', 'agent-intent: e30=\r\n', 'intent_encoding'],
    ['JSON in clear', 'agent-intent: {}\r\n', 'intent_encoding'],
    [
      'two values in one',
      `agent-intent: ${encoded('{}')}, ${encoded('{}')}\r\n`,
      'intent_encoding',
    ],
    ['an octet too many', intentOf('x'.repeat(6145)), 'intent_too_long'],
  ])('that cannot be used says why: %s', async (_what, head, fault) => {
    await ask(stand.port, get('/files/a', head + MANDATE))
    expect(seen[0]?.declared).toMatchObject({ kind: 'carried', intent: null, fault })
  })

  it.each([
    ['a declaration', intentOf('{}') + intentOf('{}')],
    ['a declaration, then another', intentOf('{}') + intentOf('{"a":1}')],
    ['a mandate', MANDATE + MANDATE],
  ])('%s twice is refused, recorded and not sent, on a call and on a question', async (_, head) => {
    const question = '{"tool":"pay","arguments":{"amount":"1"}}'
    for (const request of [
      get('/files/a', head),
      post('/.gate/v1/decide', question, JSON_TYPE + head),
    ]) {
      seen.length = 0
      const { result, capsules } = await stand.after(() => ask(stand.port, request))
      expect([result.status, code(result.body)]).toEqual([400, 'request_malformed'])
      expect(capsules).toHaveLength(1)
      expect(seen[0]?.declared).toHaveProperty('fault', expect.stringMatching(/_repeated$/))
    }
    expect(upstream.requests).toEqual([])
  })

  it('comes with a question to the gate too', async () => {
    const body = '{"tool":"nobody","arguments":{}}'
    await ask(stand.port, post('/.gate/v1/decide', body, JSON_TYPE + intentOf('{"a":1}')))
    expect(seen[0]).toMatchObject({ kind: 'function', tool: 'nobody' })
    expect(seen[0]?.declared).toEqual({
      kind: 'carried',
      intent: new Uint8Array(Buffer.from('{"a":1}')),
      mandate: null,
    })
    await ask(stand.port, post('/.gate/v1/decide', body, JSON_TYPE))
    expect(seen[1]).not.toHaveProperty('declared')
  })

  it('stays here on a route that passes through', async () => {
    const answer = await ask(stand.port, get('/docs/a', intentOf('{}') + MANDATE))
    expect([answer.status, seen]).toEqual([200, []])
    expect(upstream.requests[0]?.head).not.toMatch(/agent-/i)
  })

  it('of an unknown caller changes nothing: it is refused as one', async () => {
    const request = get('/files/a', intentOf('{}') + MANDATE).replace(AUTH, '')
    expect((await ask(stand.port, request)).status).toBe(401)
    expect(upstream.requests).toEqual([])
  })
})
