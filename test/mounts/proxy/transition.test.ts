import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Call } from '../../../src/core/call/call.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { AUTH, ask, get, JSON_TYPE, post, type Stand, startStand } from './harness.js'

/** `POST /.gate/v1/transition` is the call that it names, and nothing but that call. */
const MANIFEST = `id: com.acme.echo
tools:
  pay:
    match: POST /pay
    args: {amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
  put_file:
    match: PUT /files/{name}
    also: {query: [q], body: any}
    forward_headers: [x-allowed, content-type, accept, idempotency-key]
  read_file:
    match: GET /files/{name}
  own:
    match: POST /.gate/{a}/{b}
    also: {body: any}
`
const seen: Call[] = []
let upstream: RawUpstream
let stand: Stand
beforeAll(async () => {
  upstream = await rawUpstream(async (peer) => {
    for (;;) {
      const { head, body } = await peer.request()
      const said = `${head.split('\r\n')[0]} ${body.toString()}`
      await peer.write(
        `HTTP/1.1 201 Created\r\nx-up: 1\r\nlocation: other\r\ncontent-length: ${Buffer.byteLength(said)}\r\n\r\n${said}`,
      )
    }
  })
  stand = await startStand({
    upstream: upstream.origin,
    manifest: MANIFEST,
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

const INTENT = '{ "idp_id" : "x", "n":1.0 }'
const intended = (text: string, mandate: string | null = null) => ({
  kind: 'carried',
  intent: new Uint8Array(Buffer.from(text)),
  mandate,
})
const transition = (body: string, headers = ''): string =>
  post('/.gate/v1/transition', body, JSON_TYPE + headers)
const asking = (request: object, headers = ''): string =>
  transition(JSON.stringify({ intent: {}, request }), headers)
const problem = (body: Buffer): { code: string; detail: string } => JSON.parse(body.toString())
const fields = (head: string): string[] => head.toLowerCase().split('\r\n').slice(1).sort()

describe('a transition', () => {
  it('is answered by the tool, with one capsule: method, target and octets are those it names', async () => {
    const body = '{ "amount" : "1.00" }'
    const { result, capsules } = await stand.after(() =>
      ask(
        stand.port,
        transition(
          `{"intent":${INTENT},"mandate":"a.b.c","request":{"method":"POST","target":"/pay","body":${body}}}`,
        ),
      ),
    )
    expect(result.status).toBe(201)
    expect(result.body.toString()).toBe(`POST /pay HTTP/1.1 ${body}`)
    expect(result.headers.get('x-up')).toBe('1')
    expect(result.headers.get('location')).toBe('/other')
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.effect?.status).toBe('confirmed')
    expect(result.headers.get('gate-capsule')).toBe(capsules[0]?.capsule_id)
    expect(seen.map(({ declared }) => declared)).toEqual([intended(INTENT, 'a.b.c')])
    expect(upstream.requests).toHaveLength(1)
    expect(upstream.requests[0]?.head).not.toMatch(/agent-|transition|a\.b\.c/i)
  })

  it('sends what the call itself would have sent', async () => {
    const headers =
      'accept: text/plain\r\nx-allowed: 1\r\nx-other: 2\r\naccept-language: de\r\nprefer: respond-async\r\n'
    const body = '{"a":[1,2.50]}'
    const direct = `PUT /files/a?q=%20 HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${AUTH}${headers}content-type: application/vnd.a+json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    await ask(stand.port, direct)
    await ask(
      stand.port,
      transition(
        `{"request":{"method":"PUT","target":"/files/a?q=%20","content_type":"application/vnd.a+json","body":${body}}}`,
        headers,
      ),
    )
    const [a, b] = upstream.requests
    expect(b?.body).toEqual(a?.body)
    expect(b?.head.split('\r\n')[0]).toBe('PUT /files/a?q=%20 HTTP/1.1')
    expect(fields(b?.head ?? '')).toEqual(fields(a?.head ?? ''))
    const [first, second] = seen
    expect({ ...second, callerLeft: null, headers: null }).toEqual({
      ...first,
      callerLeft: null,
      headers: null,
    })
  })

  it('sends every body as it stood', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.constantFrom(undefined, 1, '\t', '\n\r '),
        async (value, indent) => {
          upstream.requests.length = 0
          const body = JSON.stringify(value, null, indent)
          const request = `{"method":"PUT","target":"/files/a","body":${body}}`
          const octets = Buffer.from(`{"intent":{},"request":${request}}`)
          const answer = await ask(stand.port, transition(octets.toString('latin1')))
          expect(answer.status).toBe(201)
          expect(upstream.requests[0]?.body).toEqual(Buffer.from(body))
        },
      ),
      { numRuns: 25 },
    )
  })

  it('without a body, without an intent, and with a GET is one too', async () => {
    const answer = await ask(
      stand.port,
      transition('{"request":{"method":"GET","target":"/files/a"}}'),
    )
    expect(answer.body.toString()).toBe('GET /files/a HTTP/1.1 ')
    expect(upstream.requests[0]?.head).not.toMatch(/content-(?:type|length)/i)
    expect(seen[0]).not.toHaveProperty('declared')
  })

  it('takes its key from its own head: the second is the answer to the first', async () => {
    const request = asking({ method: 'POST', target: '/pay', body: { amount: '2' } })
    const keyed = request.replace(JSON_TYPE, `${JSON_TYPE}idempotency-key: once\r\n`)
    await ask(stand.port, keyed)
    const again = await ask(stand.port, keyed)
    expect(again.headers.get('gate-replayed')).toBe('true')
    expect(upstream.requests).toHaveLength(1)
  })

  it('is judged like the call: a constraint holds', async () => {
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, asking({ method: 'POST', target: '/pay', body: { amount: '501' } })),
    )
    expect([result.status, problem(result.body).code]).toEqual([403, 'constraint_failed'])
    expect(capsules).toHaveLength(1)
    expect(upstream.requests).toEqual([])
  })

  it('is one of several on its connection', async () => {
    const one = asking({ method: 'GET', target: '/files/a' }).replace('connection: close\r\n', '')
    const answer = await ask(stand.port, one + one + get('/files/b'))
    expect(answer.text.match(/HTTP\/1\.1 201/g)).toHaveLength(3)
  })
})

describe('an intent in head and body', () => {
  const both = (header: string, mandate = 'm'): string =>
    transition(
      `{"intent":${INTENT},"mandate":"${mandate}","request":{"method":"GET","target":"/files/a"}}`,
      `agent-intent: ${Buffer.from(header).toString('base64url')}\r\nagent-mandate: m\r\n`,
    )
  it('is one where they are the same octets', async () => {
    await ask(stand.port, both(INTENT))
    expect(seen[0]?.declared).toEqual(intended(INTENT, 'm'))
  })
  it('is a fault where they are not', async () => {
    await ask(stand.port, both(JSON.stringify(JSON.parse(INTENT))))
    expect(seen[0]?.declared).toMatchObject({ intent: null, fault: 'intent_carriers_differ' })
    await ask(stand.port, both(INTENT, 'n'))
    expect(seen[1]?.declared).toMatchObject({ mandate: null, fault: 'mandate_carriers_differ' })
  })
  it('in the head alone is taken from there', async () => {
    const header = `agent-intent: ${Buffer.from(INTENT).toString('base64url')}\r\n`
    await ask(stand.port, transition('{"request":{"method":"GET","target":"/files/a"}}', header))
    expect(seen[0]?.declared).toEqual(intended(INTENT))
  })
  it('that is none is not dropped', async () => {
    await ask(
      stand.port,
      transition('{"intent":null,"request":{"method":"GET","target":"/files/a"}}'),
    )
    expect(seen[0]?.declared).toEqual(intended('null'))
  })
})

describe('what cannot be made is refused with one capsule, and nothing is sent', () => {
  const to = (target: string, more: object = {}): string =>
    asking({ method: 'POST', target, ...more })
  const twice = '{"intent":{},"request":{"method":"GET","target":"/files/a","target":"/files/b"}}'
  it.each<[string, string, number, string]>([
    ['no JSON', transition('intent=1'), 400, 'request_malformed'],
    ['nothing', transition(''), 400, 'request_malformed'],
    ['a member twice', transition(twice), 400, 'request_malformed'],
    ['a member too many', transition('{"request":{},"x":1}'), 400, 'request_malformed'],
    ['headers of its own', to('/pay', { headers: {} }), 400, 'request_malformed'],
    ['a line break in the target', to('/pay\r\nx: y'), 400, 'request_malformed'],
    [
      'a line break in the type',
      to('/pay', { content_type: 'a\r\nb: c' }),
      400,
      'request_malformed',
    ],
    ['a path of the gate', to('/.gate/v1/decide'), 400, 'request_malformed'],
    ['itself', to('/.gate/v1/transition'), 400, 'request_malformed'],
    ['the gate with a query', to('/.gate?a'), 400, 'request_malformed'],
    ['HEAD', asking({ method: 'HEAD', target: '/files/a' }), 400, 'request_malformed'],
    ['TRACE', asking({ method: 'TRACE', target: '/files/a' }), 400, 'request_malformed'],
    ['CONNECT', asking({ method: 'CONNECT', target: 'a:1' }), 400, 'request_malformed'],
    ['absolute form', to('http://evil.test/pay'), 400, 'target_malformed'],
    ['absolute form of the gate', to('http://gate/.gate/v1/decide'), 400, 'target_malformed'],
    ['another host', to('//evil.test/pay'), 400, 'target_malformed'],
    ['dot segments to the gate', to('/a/../.gate/v1/decide'), 400, 'target_malformed'],
    ['an escaped path of the gate', to('/%2egate/v1/decide'), 400, 'target_malformed'],
    ['a fragment', to('/pay#x'), 400, 'target_malformed'],
    ['a path that no rule has', to('/nowhere'), 403, 'tool_unknown'],
    [
      'a route that passes through',
      asking({ method: 'GET', target: '/docs/a' }),
      403,
      'tool_unknown',
    ],
    ['a server over MCP', to('/mcp/echo', { body: {} }), 403, 'tool_unknown'],
    [
      'a coding',
      asking({ method: 'GET', target: '/files/a' }, 'content-encoding: gzip\r\n'),
      400,
      'request_malformed',
    ],
    [
      'a declaration twice in its head',
      asking({ method: 'GET', target: '/files/a' }, 'agent-intent: e30\r\nagent-intent: e30\r\n'),
      400,
      'request_malformed',
    ],
  ])('%s', async (_what, request, status, code) => {
    const { result, capsules } = await stand.after(() => ask(stand.port, request))
    expect([result.status, problem(result.body).code]).toEqual([status, code])
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.effect).toBeUndefined()
    expect(upstream.requests).toEqual([])
  })

  it('of an unknown caller is refused before it is read', async () => {
    const request = asking({ method: 'GET', target: '/files/a' }).replace(AUTH, '')
    const { result, capsules } = await stand.after(() => ask(stand.port, request))
    expect([result.status, problem(result.body).code]).toEqual([401, 'unauthenticated'])
    expect(capsules).toHaveLength(1)
    expect(seen[0]).toMatchObject({ target: '/.gate/v1/transition', body: { kind: 'unread' } })
    expect(upstream.requests).toEqual([])
  })

  it('with another method, or a query, there is no such resource', async () => {
    for (const request of [get('/.gate/v1/transition'), post('/.gate/v1/transition?a', '{}')]) {
      expect((await ask(stand.port, request)).status).toBe(404)
    }
  })
})
