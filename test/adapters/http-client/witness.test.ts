import { createHash, createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Witnessed } from '../../../src/core/capsule/observation.js'
import { jsonDigest } from '../../../src/core/json/build.js'
import type { DispatchRule, Upstream } from '../../../src/ports/upstream.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, hmacUnder, RULE, request } from './harness.js'

const sha256 = (data: Uint8Array): Uint8Array => createHash('sha256').update(data).digest()
const hexOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')

let server: RawUpstream | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  await upstream?.close()
  await server?.close()
})

type Answer = {
  readonly body: string | Buffer
  readonly status?: number
  readonly headers?: string
  readonly method?: string
  readonly holdLimit?: number
  readonly rule?: Partial<DispatchRule>
}
async function observed(
  answer: Answer,
): Promise<{ success: boolean; seen: Witnessed; relayed: Buffer }> {
  const body = Buffer.from(answer.body)
  const { status = 200, headers = 'content-type: application/json\r\n', method = 'POST' } = answer
  server = await rawUpstream(async (peer) => {
    await peer.request()
    const length = status === 204 ? '' : `content-length: ${body.length}\r\n`
    await peer.write(`HTTP/1.1 ${status} X\r\n${headers}${length}\r\n`)
    if (method !== 'HEAD' && body.length > 0) await peer.write(body)
  })
  upstream = createUpstream({
    name: 'tool',
    origin: server.origin,
    ...(answer.holdLimit === undefined ? {} : { holdLimit: answer.holdLimit }),
  })
  const sink = collector()
  const seen = complete(
    await upstream.send(request({ method }), { ...RULE, ...answer.rule }, sink, ALLOWED),
  )
  return { success: seen.outcome === 'succeeded', seen: seen.response.seen, relayed: sink.body() }
}

describe('binding', () => {
  it('strict JSON with safe numbers is bound as its JSON-DIGEST, and its octets beside it', async () => {
    const body = '{ "b": [1, null], "a": "x", "gone": null, "c": {} }'
    const { seen } = await observed({ body })
    expect(seen.binding).toBe('json')
    expect(seen.responseDigest).toBe(jsonDigest({ a: 'x', b: [1, null] }, { sha256 }))
    expect(seen.octets).toEqual({
      alg: 'sha-256',
      digest: hexOf(Buffer.from(body)),
      length: body.length,
      content_type: 'application/json',
      status: 200,
      complete: true,
    })
  })

  it.each([
    ['a float', '{"amount":1.5}', {}],
    ['an exponent', '{"amount":1e2}', {}],
    ['an unsafe integer', '{"id":9007199254740993}', {}],
    ['a duplicate name', '{"a":1,"a":2}', {}],
    ['a byte order mark', '\ufeff{"a":1}', {}],
    ['trailing text', '{"a":1} x', {}],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}],
    ['a body over the limit', `"${'x'.repeat(100)}"`, { holdLimit: 64 }],
    ['another type', '{"a":1}', { headers: 'content-type: text/plain\r\n' }],
    ['no type', '{"a":1}', { headers: '' }],
    [
      'a coding it does not have',
      '{"a":1}',
      { headers: 'content-type: application/json\r\ncontent-encoding: br\r\n' },
    ],
    [
      'two types',
      '{"a":1}',
      { headers: 'content-type: text/x\r\ncontent-type: application/json\r\n' },
    ],
    ['nesting beyond the bound', '['.repeat(500) + ']'.repeat(500), {}],
    ['nothing', '', {}],
  ] as const)('%s: bound as octets, byte for byte', async (_, body, over) => {
    const { seen, relayed } = await observed({ body, ...over })
    expect(relayed.equals(Buffer.from(body))).toBe(true)
    expect(seen.binding).toBe('octets')
    expect(seen.octets.digest).toBe(hexOf(Buffer.from(body)))
    expect(seen.responseDigest).toBe(jsonDigest(seen.octets, { sha256 }))
  })

  it.each(['application/json; charset=utf-8', 'application/problem+json', 'Application/JSON'])(
    '%s is JSON',
    async (type) => {
      const { seen } = await observed({ body: '{"a":1}', headers: `content-type: ${type}\r\n` })
      expect(seen.binding).toBe('json')
    },
  )

  it('a coding nobody asked for: the encoded octets are bound and the coding named', async () => {
    const body = gzipSync('{"a":1}')
    const { seen, relayed } = await observed({
      body,
      headers: 'content-type: application/json\r\ncontent-encoding: gzip\r\n',
    })
    expect(relayed.equals(body)).toBe(true)
    expect(seen).toMatchObject({
      binding: 'octets',
      octets: { content_encoding: 'gzip', digest: hexOf(body) },
    })
  })

  it('a tenant salt: HMAC instead of the plain digest, and no JSON-DIGEST to guess from', async () => {
    const salt = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')
    const body = '{"approved":true,"id":"r_1"}'
    const { seen } = await observed({
      body,
      rule: { saltedDigest: hmacUnder(salt), external_ref: '/id' },
    })
    expect(seen.binding).toBe('octets-salted')
    expect(seen.octets.alg).toBe('hmac-sha-256')
    expect(seen.octets.digest).toBe(createHmac('sha256', salt).update(body).digest('hex'))
    expect(seen.responseDigest).toBe(jsonDigest(seen.octets, { sha256 }))
    expect(JSON.stringify(seen)).not.toContain(hexOf(Buffer.from(body)))
    expect(seen.externalRef).toBe('r_1')
  })

  it.each([
    ['HEAD', 200],
    ['POST', 204],
    ['GET', 304],
  ] as const)('%s %i: no body, still observed', async (method, status) => {
    const { seen } = await observed({ body: '', method, status, headers: '' })
    expect(seen).toMatchObject({
      framing: 'bodyless',
      binding: 'octets',
      octets: { length: 0, digest: hexOf(Buffer.alloc(0)), status, complete: true },
    })
  })
})

describe('success', () => {
  const unless = (...rules: DispatchRule['success']['unless']): Pick<DispatchRule, 'success'> => ({
    success: { status: ['200-299'], unless: rules },
  })
  const noError = unless({ pointer: '/error', op: 'exists' })

  it.each([
    [200, ['200-299'], true],
    [299, ['200-299'], true],
    [300, ['200-299'], false],
    [404, ['200', '404'], true],
    [201, ['200', '404'], false],
    [500, ['200-299'], false],
    [200, [], false],
    [200, ['2xx'], false],
  ] as const)('status %i under %j: %s', async (status, ranges, expected) => {
    const rule = { success: { status: ranges, unless: [] } }
    expect((await observed({ body: '{}', status, rule })).success).toBe(expected)
  })

  it.each([
    ['an error member', '{"error":{"code":1}}', false],
    ['a false error member', '{"error":false}', false],
    ['no error member', '{"ok":true}', true],
    ['error: null, which digests as absent', '{"error":null}', true],
    ['error: [], which digests as absent', '{"error":[]}', true],
    ['error: {"x":null}, which digests as absent', '{"error":{"x":null}}', true],
    ['a float elsewhere', '{"error":"x","amount":1.5}', false],
    ['a body that is no object', '"error"', true],
    ['an unreadable body', '{"error":', false],
    ['a duplicate name', '{"ok":1,"ok":2}', false],
    ['no body', '', true],
    ['an error in another letter case', '{"Error":1}', false],
  ])('unless /error exists, with %s', async (_, body, expected) => {
    expect((await observed({ body, rule: noError })).success).toBe(expected)
  })

  it('a body too large to look into was not proven free of failure', async () => {
    const body = `{"x":"${'x'.repeat(100)}"}`
    expect((await observed({ body, rule: noError, holdLimit: 64 })).success).toBe(false)
  })

  it.each([
    ['/status', 'failed', '{"status":"failed"}', false],
    ['/status', 'failed', '{"status":"ok"}', true],
    ['/code', 0, '{"code":0.0}', false],
    ['/ok', false, '{"ok":false}', false],
    ['/ok', false, '{"ok":0}', true],
    ['/a~1b/0/c~0d', 1, '{"a/b":[{"c~d":1}]}', false],
    ['/a/00', 1, '{"a":[1]}', true],
    ['/a', [1, { b: null }], '{"a":[1,{"b":null}]}', false],
    ['/a', [1, { b: null }], '{"a":[1,{"b":null,"c":1}]}', true],
    ['', 'x', '"x"', false],
    ['/__proto__', 'x', '{"__proto__":"x"}', false],
    ['/constructor', 'x', '{}', true],
  ] as const)('unless %s equals %j, with %s', async (pointer, value, body, expected) => {
    const rule = unless({ pointer, op: 'equals', value })
    expect((await observed({ body, rule })).success).toBe(expected)
  })
})

describe('external_ref', () => {
  it.each([
    ['{"id":"re_1"}', 're_1'],
    ['{"id":9007199254740993}', '9007199254740993'],
    ['{"id":1.50}', '1.50'],
    ['{"id":""}', undefined],
    ['{"id":"a","ID":"b"}', undefined],
    ['{"id":null}', undefined],
    ['{"id":{"a":1}}', undefined],
    ['{"id":true}', undefined],
    [`{"id":"${'x'.repeat(257)}"}`, undefined],
    ['not json', undefined],
  ])('%s gives %s', async (body, expected) => {
    const { seen } = await observed({ body, rule: { external_ref: '/id' } })
    expect(seen.externalRef).toBe(expected)
  })
})
