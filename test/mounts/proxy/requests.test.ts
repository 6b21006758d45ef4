import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { AUTH, ask, get, JSON_TYPE, post, rawClient, type Stand, startStand } from './harness.js'

/** What an attacker sends is either refused, with a capsule, or reaches the upstream exactly as judged. */
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HEAD = `host: gate\r\nconnection: close\r\n${AUTH}`
let upstream: RawUpstream
let stand: Stand

beforeAll(async () => {
  upstream = await rawUpstream(answering(OK))
  stand = await startStand({ upstream: upstream.origin })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})
beforeEach(() => {
  upstream.requests.length = 0
})

describe('requests that exist are refused with one capsule and nothing is sent', () => {
  const JSON_BODY = '{"amount":"1.00"}'
  const chunked = (headers: string, body = `11\r\n${JSON_BODY}\r\n0\r\n\r\n`): string =>
    `POST /pay HTTP/1.1\r\n${HEAD}${JSON_TYPE}${headers}\r\n${body}`
  const REFUSED: readonly [name: string, request: string, status: number, code: string][] = [
    ['no tool at this path', get('/nowhere'), 403, 'tool_unknown'],
    ['a method no rule has', get('/pay'), 403, 'tool_unknown'],
    ['HEAD is not GET', `HEAD /pay HTTP/1.1\r\n${HEAD}\r\n`, 403, 'tool_unknown'],
    ['dot segments', get('/files/../pay'), 400, 'target_malformed'],
    ['a trailing dot segment', get('/files/..'), 400, 'target_malformed'],
    ['encoded dot segments', get('/files/%2e%2e'), 400, 'target_malformed'],
    ['an encoded slash', get('/files%2Fa'), 400, 'target_malformed'],
    ['an encoded backslash', get('/files/a%5cb'), 400, 'target_malformed'],
    ['a backslash', get('/files/a\\b'), 400, 'target_malformed'],
    ['empty segments', get('//files/a'), 400, 'target_malformed'],
    ['a path parameter that hides dots', get('/files/..;x'), 400, 'target_malformed'],
    ['an encoded NUL', get('/files/a%00'), 400, 'target_malformed'],
    ['double encoding', get('/files/%252e%252e'), 400, 'target_malformed'],
    ['a fragment', get('/files/a#b'), 400, 'target_malformed'],
    ['absolute form', get('http://evil.test/files/a'), 400, 'target_malformed'],
    ['absolute form of the reserved path', get('http://gate/.gate/v1/x'), 400, 'target_malformed'],
    ['asterisk form', `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`, 400, 'target_malformed'],
    [
      'a second spelling of a rule’s path',
      post('/%70ay', JSON_BODY, JSON_TYPE),
      400,
      'target_malformed',
    ],
    ['another case of a rule’s path', post('/PAY', JSON_BODY, JSON_TYPE), 400, 'target_ambiguous'],
    ['TRACE', `TRACE /files/a HTTP/1.1\r\n${HEAD}\r\n`, 400, 'request_malformed'],
    ['CONNECT', `CONNECT evil.test:443 HTTP/1.1\r\n${HEAD}\r\n`, 400, 'request_malformed'],
    ['Upgrade', get('/files/a', 'upgrade: websocket\r\n'), 400, 'request_malformed'],
    [
      'Upgrade to h2c',
      get('/files/a', 'upgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n'),
      400,
      'request_malformed',
    ],
    ['two Hosts', get('/files/a', 'Host: other\r\n'), 400, 'request_malformed'],
    [
      'no Host',
      `GET /files/a HTTP/1.1\r\nconnection: close\r\n${AUTH}\r\n`,
      400,
      'request_malformed',
    ],
    ['two Authorizations', get('/files/a', AUTH), 400, 'request_malformed'],
    [
      'two Idempotency-Keys',
      get('/files/a', 'idempotency-key: a\r\nIdempotency-Key: b\r\n'),
      400,
      'request_malformed',
    ],
    [
      'two Content-Types',
      post('/files/a', 'x', `${JSON_TYPE}${JSON_TYPE}`),
      400,
      'request_malformed',
    ],
    [
      'a coding before chunked',
      chunked('transfer-encoding: gzip, chunked\r\n'),
      400,
      'request_malformed',
    ],
    [
      'chunked in HTTP/1.0',
      chunked('transfer-encoding: chunked\r\n').replace('HTTP/1.1', 'HTTP/1.0'),
      400,
      'request_malformed',
    ],
    [
      'an expectation nobody knows',
      post('/files/a', 'x', 'expect: miracle\r\n'),
      400,
      'request_malformed',
    ],
    [
      'a chunk that is no chunk',
      chunked('transfer-encoding: chunked\r\n', 'zz\r\n'),
      400,
      'request_malformed',
    ],
    [
      'a chunk ended by LF',
      chunked('transfer-encoding: chunked\r\n', '1\nx\n0\n\n'),
      400,
      'request_malformed',
    ],
    [
      'a coding that is not chunked',
      chunked('transfer-encoding: xchunked\r\n'),
      400,
      'request_malformed',
    ],
    ['no credential', get('/files/a').replace(AUTH, ''), 401, 'unauthenticated'],
    ['a wrong token', get('/files/a').replace('Bearer cg', 'Bearer xx'), 401, 'unauthenticated'],
    ['another scheme', get('/files/a').replace('Bearer ', 'Basic '), 401, 'unauthenticated'],
    [
      'a byte order mark',
      post('/pay', `\xef\xbb\xbf${JSON_BODY}`, JSON_TYPE),
      400,
      'body_unreadable',
    ],
    [
      'UTF-16',
      post('/pay', JSON_BODY, 'content-type: application/json; charset=utf-16\r\n'),
      400,
      'body_unreadable',
    ],
    [
      'a content-coding on a body that is judged',
      post('/pay', JSON_BODY, `${JSON_TYPE}content-encoding: gzip\r\n`),
      400,
      'body_unreadable',
    ],
    ['no content-type', post('/pay', JSON_BODY), 400, 'body_unreadable'],
    [
      'a form',
      post('/pay', 'amount=1', 'content-type: application/x-www-form-urlencoded\r\n'),
      400,
      'body_unreadable',
    ],
    [
      'a name twice',
      post('/pay', '{"amount":"1","amount":"9999"}', JSON_TYPE),
      400,
      'body_unreadable',
    ],
    [
      'a name twice, once escaped',
      post('/pay', '{"amount":"1","\\u0061mount":"9"}', JSON_TYPE),
      400,
      'body_unreadable',
    ],
    [
      'a name in two cases',
      post('/pay', '{"amount":"1","Amount":"9999"}', JSON_TYPE),
      400,
      'arguments_invalid',
    ],
    [
      'an argument in the query too',
      post('/pay?amount=9', JSON_BODY, JSON_TYPE),
      400,
      'arguments_invalid',
    ],
    [
      '_method in the query',
      post('/pay?_method=DELETE', JSON_BODY, JSON_TYPE),
      400,
      'arguments_invalid',
    ],
    ['text after the JSON', post('/pay', `${JSON_BODY}{}`, JSON_TYPE), 400, 'body_unreadable'],
    [
      'bytes that are no UTF-8',
      post('/pay', '{"amount":"\xff"}', JSON_TYPE),
      400,
      'body_unreadable',
    ],
    [
      'a number in exponent notation',
      post('/pay', '{"amount":1e2}', JSON_TYPE),
      400,
      'arguments_invalid',
    ],
    [
      'digits of another script',
      post('/pay', '{"amount":"\xd9\xa1"}', JSON_TYPE),
      400,
      'arguments_invalid',
    ],
    [
      'a confusable path',
      get('/f\xd1\x96les/a'.replace(/[^\x20-\x7e]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)),
      403,
      'tool_unknown',
    ],
    [
      'a broken constraint',
      post('/pay', '{"amount":"500.01"}', JSON_TYPE),
      403,
      'constraint_failed',
    ],
  ]
  it.each(REFUSED)('%s', async (_, request, status, code) => {
    const { result, capsules } = await stand.after(() => ask(stand.port, request))
    expect(result.status).toBe(status)
    expect(capsules).toHaveLength(1)
    expect(result.headers.get('gate-capsule')).toBe(capsules[0]?.capsule_id)
    expect(result.headers.get('gate-verdict')).toBe(capsules[0]?.disposition.verdict_class)
    expect(capsules[0]?.assurance.effect_mode).toBe('not_applicable')
    const reason = String(capsules[0]?.disposition.reason_digest)
    expect(await stand.gate.data.evidence.byDigest(reason)).toMatchObject({
      value: { name: code },
    })
    if (!request.startsWith('HEAD')) {
      const problem = JSON.parse(result.body.toString('utf8')) as { code: string; status: number }
      expect(problem.status).toBe(status)
      expect(problem.code).toBe(code)
    }
    if (status === 401) expect(result.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(upstream.requests).toEqual([])
  })
})

describe('bytes that never became a request are answered and closed without a capsule', () => {
  const BYTES: readonly [string, string, number][] = [
    [
      'Content-Length, then Transfer-Encoding',
      `POST /pay HTTP/1.1\r\n${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'Transfer-Encoding, then Content-Length',
      `POST /pay HTTP/1.1\r\n${HEAD}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'Content-Length twice',
      `POST /pay HTTP/1.1\r\n${HEAD}content-length: 1\r\ncontent-length: 1\r\n\r\nx`,
      400,
    ],
    ['Content-Length as a list', `POST /pay HTTP/1.1\r\n${HEAD}content-length: 1, 1\r\n\r\nx`, 400],
    ['a signed Content-Length', `POST /pay HTTP/1.1\r\n${HEAD}content-length: +1\r\n\r\nx`, 400],
    [
      'chunked twice',
      `POST /pay HTTP/1.1\r\n${HEAD}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['a folded header', get('/files/a', 'x: a\r\n b\r\n'), 400],
    ['a space before the colon', get('/files/a', 'x : a\r\n'), 400],
    ['NUL in a header', get('/files/a', 'x: a\0b\r\n'), 400],
    ['lines ended by LF', 'GET /files/a HTTP/1.1\nhost: gate\n\n', 400],
    ['HTTP/2 prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a lower-case method', get('/files/a').replace('GET', 'get'), 400],
    ['raw octets in the target', get('/files/\xe9'), 400],
    ['a head without end', get('/files/a', `x: ${'y'.repeat(40_000)}\r\n`), 431],
    ['TLS', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400],
  ]
  it.each(BYTES)('%s', async (_, bytes, status) => {
    const malformed = stand.proxy.stats().malformed
    const { result, capsules } = await stand.after(() => ask(stand.port, bytes))
    expect(result.status).toBe(status)
    expect(result.headers.get('connection')).toBe('close')
    expect(capsules).toEqual([])
    expect(stand.proxy.stats().malformed).toBe(malformed + 1)
    expect(upstream.requests).toEqual([])
  })
})

describe('what passes reaches the upstream as it was judged', () => {
  it('sends only listed headers, the upstream’s Host, and never credentials or overrides', async () => {
    const noise = [
      'accept: text/plain',
      'Accept-Language: de',
      'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'idempotency-key: k1',
      'X-Allowed: yes',
      'agent-intent: e30',
      'agent-mandate: m',
      'dpop: p',
      'x-http-method-override: DELETE',
      'x-original-url: /admin',
      'cookie: a=b',
      'x-forwarded-for: 10.0.0.1',
      'connection: x-allowed',
      'te: trailers',
      'prefer: wait=5',
      'accept-encoding: gzip',
    ]
    const answer = await ask(
      stand.port,
      post('/files/a?q=%7B1%7D&q=2', 'body', `${noise.join('\r\n')}\r\n`),
    )
    expect(answer.status).toBe(200)
    expect(upstream.requests[0]?.head.split('\r\n')).toEqual([
      'POST /files/a?q=%7B1%7D&q=2 HTTP/1.1',
      `host: 127.0.0.1:${upstream.port}`,
      'accept-encoding: identity',
      'accept: text/plain',
      'accept-language: de',
      'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'idempotency-key: k1',
      'x-allowed: yes',
      'connection: close',
      'content-length: 4',
    ])
    expect(upstream.requests[0]?.body.toString()).toBe('body')
  })

  it('reads a chunked body with extensions and trailers and sends its octets alone', async () => {
    const body = '3;a=b\r\n{"a\r\n10\r\nmount":"1.00"}  \r\n0\r\nX-Amount: 9999\r\n\r\n'
    const answer = await ask(
      stand.port,
      `POST /pay HTTP/1.1\r\n${HEAD}${JSON_TYPE}transfer-encoding: Chunked\r\n\r\n${body}`,
    )
    expect(answer.status).toBe(200)
    expect(upstream.requests[0]?.body.toString()).toBe('{"amount":"1.00"}  ')
    expect(upstream.requests[0]?.head).not.toMatch(/x-amount|transfer-encoding/i)
  })

  it('keeps the label of a coded body that no rule looks into', async () => {
    await ask(
      stand.port,
      post(
        '/files/a',
        '\x1f\x8b\x08',
        'content-type: application/octet-stream\r\ncontent-encoding: gzip\r\n',
      ),
    )
    expect(upstream.requests[0]?.head).toContain('content-encoding: gzip')
    expect(upstream.requests[0]?.body).toEqual(Buffer.from([0x1f, 0x8b, 0x08]))
  })

  it('keeps every field of a long head: none is silently dropped', async () => {
    const many = `${'y: 1\r\n'.repeat(2500)}x-allowed: last\r\n`
    await ask(stand.port, post('/files/a', 'x', many))
    expect(upstream.requests[0]?.head).toContain('x-allowed: last')
  })

  it('answers pipelined calls in order, one capsule each, and sends them one after the other', async () => {
    const client = await rawClient(stand.port)
    const one = (name: string): string =>
      post(`/files/${name}`, name).replace('connection: close\r\n', '')
    const { capsules } = await stand.after(async () => {
      client.send(one('a') + one('b') + one('c') + get('/nowhere'))
      await client.closed()
    })
    const text = client.received().toString('latin1')
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 403',
    ])
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual(['a', 'b', 'c'])
    expect([...text.matchAll(/gate-capsule: (\w+)/g)].map(([, id]) => id)).toEqual(
      capsules.map(({ capsule_id }) => capsule_id),
    )
  })

  it('answers a call before it refuses the garbage pipelined behind it', async () => {
    const client = await rawClient(stand.port)
    client.send(`${post('/files/a', 'a').replace('connection: close\r\n', '')}GARBAGE\r\n\r\n`)
    const text = (await client.closed()).toString('latin1')
    expect(text).toMatch(/^HTTP\/1\.1 200/)
    expect(upstream.requests).toHaveLength(1)
  })

  it.each(['content-length', 'chunked'] as const)(
    'a body under %s cut anywhere by the network arrives whole, and the connection goes on',
    async (framing) => {
      const body = 'a body of some octets'
      const fields = framing === 'chunked' ? 'transfer-encoding: chunked' : 'content-length: 21'
      const coded =
        framing === 'chunked' ? `a\r\na body of \r\nb\r\nsome octets\r\n0\r\n\r\n` : body
      const head = `POST /files/a HTTP/1.1\r\nhost: gate\r\n${AUTH}${fields}\r\n\r\n`
      const client = await rawClient(stand.port)
      const cuts = [0, 1, 11, coded.length - 1, coded.length]
      for (const [index, cut] of cuts.entries()) {
        client.send(head + coded.slice(0, cut))
        // What was sent first has been read by the time another connection has been answered.
        if (cut < coded.length) await ask(stand.port, get('/nowhere'))
        client.send(coded.slice(cut))
        const answered = (seen: Buffer): boolean =>
          seen.toString('latin1').split('\r\n\r\nok').length === index + 2
        await client.until(answered)
      }
      expect(upstream.requests.map((seen) => seen.body.toString())).toEqual(cuts.map(() => body))
      client.socket.destroy()
    },
  )
})
