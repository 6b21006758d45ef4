import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { writeManifest } from '../../../src/cli/init/draft.js'
import { fromOpenApi } from '../../../src/cli/init/openapi/openapi.js'
import type { Json } from '../../../src/cli/init/schema/schema.js'
import { httpMatchOf } from '../../../src/core/manifest/model.js'
import { manifestOf, problemsOf } from '../../support/manifests.js'
import { cli, serving } from '../support.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'capsule-gate-init-test-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

/** The printed commands, in their order, against a real API behind a real gate. */
async function calling<T>(
  folder: string,
  agent: string,
  use: (call: (path: string, init?: RequestInit) => Promise<Response>) => Promise<T>,
): Promise<T> {
  const token = (await cli(['tokens', 'create', '--name', agent], { cwd: folder })).out.trim()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return serving(['--config', 'gate.yaml'], folder, (url) =>
    use((path, init = {}) => fetch(`${url}${path}`, { ...init, headers })),
  )
}

async function withApi<T>(use: (origin: string) => Promise<T>): Promise<T> {
  const api = createServer((_req, res) => {
    res.setHeader('content-type', 'application/json')
    res.end('{"ok":true}')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  try {
    return await use(`http://127.0.0.1:${(api.address() as AddressInfo).port}`)
  } finally {
    api.close()
    api.closeAllConnections()
  }
}

describe('init', () => {
  it('writes a project that starts as printed: reads pass, a cap blocks, a write needs a person', () =>
    withApi(async (origin) => {
      const made = await cli(['init', 'g', '--upstream', origin, '--agent', 'bot'], { cwd: dir })
      expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' })
      expect(made.out).toContain('npx capsule-gate tokens create --name bot')
      const folder = join(dir, 'g')
      const checked = await cli(['manifest', 'check', '--config', 'gate.yaml'], { cwd: folder })
      expect(checked.out).toMatch(/2 tools, 2 tests passed/)
      await calling(folder, 'bot', async (call) => {
        const read = await call('/v1/items/7')
        expect([read.status, read.headers.get('gate-verdict')]).toEqual([200, 'executed'])
        const body = (price: string) => ({
          method: 'POST',
          body: JSON.stringify({ name: 'lamp', price }),
        })
        const dear = await call('/v1/items', body('100.01'))
        expect(dear.headers.get('gate-verdict')).toBe('blocked')
        const fair = await call('/v1/items', body('99.00'))
        expect(fair.headers.get('gate-verdict')).toBe('hitl_dispatched')
      })
    }))

  it('overwrites nothing, and writes nothing beside what is there', async () => {
    mkdirSync(join(dir, 'policies'))
    writeFileSync(join(dir, 'policies', 'api.cedar'), 'mine')
    const { code, err } = await cli(['init', '.'], { cwd: dir })
    expect(code).toBe(2)
    expect(err).toContain('policies/api.cedar is in')
    expect(readdirSync(dir, { recursive: true })).toEqual(['policies', 'policies/api.cedar'])
    expect(readFileSync(join(dir, 'policies', 'api.cedar'), 'utf8')).toBe('mine')
  })

  it.each([
    ['--upstream', 'https://user:pw@api.example.com'],
    ['--upstream', 'https://api.example.com/v1'],
    ['--upstream', 'ftp://api.example.com'],
    ['--agent', 'a"); permit (principal, action, resource); //'],
    ['--openapi', 'no-such-file.yaml'],
  ])('refuses %s %s and writes nothing', async (flag, value) => {
    const { code, err } = await cli(['init', 'g', flag, value], { cwd: dir })
    expect(code).toBe(2)
    expect(err).not.toContain('\n    at ')
    expect(existsSync(join(dir, 'g'))).toBe(false)
  })
})

const ORDERS = {
  openapi: '3.0.3',
  servers: [{ url: 'https://api.example.com/v2/' }, { url: 'https://b.example.com' }],
  paths: {
    '/orders/{order-id}': {
      parameters: [
        { name: 'order-id', in: 'path', required: true, schema: { type: 'string', maxLength: 20 } },
      ],
      get: {
        operationId: 'getOrder',
        parameters: [
          { name: 'expand', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'sid', in: 'cookie', schema: { type: 'string' } },
        ],
      },
      delete: { operationId: 'deleteOrder' },
    },
    '/orders/export': { get: {} },
    '/files/{id}.json': { get: {} },
    '/orders': {
      post: {
        operationId: 'create order!',
        requestBody: {
          required: true,
          content: {
            'application/xml': {},
            'application/json': { schema: { $ref: '#/components/schemas/Order' } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Loop: { $ref: '#/components/schemas/Loop' },
      Order: {
        type: 'object',
        required: ['amount', 'currency'],
        additionalProperties: false,
        properties: {
          amount: { type: 'number', format: 'double', minimum: 0.5, maximum: 500 },
          currency: { type: 'string', enum: ['EUR', 'USD'] },
          who: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
          any: { type: ['string', 'integer'] },
          again: { $ref: '#/components/schemas/Loop' },
          code: { type: 'string', pattern: '(?<=a)b' },
          step: { type: 'integer', multipleOf: 5 },
          address: {
            type: 'object',
            properties: { zip: { type: 'string', pattern: '^[0-9]{5}$' } },
          },
        },
      },
    },
  },
}

describe('init --openapi', () => {
  it('writes tools that load, in an order in which each is reached, and tells every loss', async () => {
    writeFileSync(join(dir, 'api.json'), JSON.stringify(ORDERS))
    const { code, out, err } = await cli(['init', 'g', '--openapi', 'api.json'], { cwd: dir })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const manifest = manifestOf(readFileSync(join(dir, 'g/manifests/api.yaml'), 'utf8'))
    expect(
      manifest.rules.map(
        (rule) => `${rule.tool} ${httpMatchOf(rule)?.method} ${httpMatchOf(rule)?.path}`,
      ),
    ).toEqual([
      'deleteOrder DELETE /v2/orders/{order_id}',
      'get_orders_export GET /v2/orders/export',
      'getOrder GET /v2/orders/{order_id}',
      'create_order POST /v2/orders',
    ])
    expect(readFileSync(join(dir, 'g/gate.yaml'), 'utf8')).toContain('https://api.example.com\n')
    for (const loss of [
      'servers: only the first',
      'getOrder: expand: array',
      'getOrder: cookie parameter sid',
      'get_files_id_json: left out',
      'a body of application/xml',
      '/amount: number (double)',
      '/who: oneOf',
      '/any: several types',
      '/again: its reference leads nowhere',
      '/code: pattern (?<=a)b',
      '/step: multipleOf',
    ]) {
      expect(out).toContain(loss)
    }
  })

  it('starts: the described bound blocks, what is not described is denied', () =>
    withApi(async (origin) => {
      writeFileSync(join(dir, 'api.json'), JSON.stringify(ORDERS))
      await cli(['init', 'g', '--openapi', 'api.json', '--upstream', origin], { cwd: dir })
      await calling(join(dir, 'g'), 'my-agent', async (call) => {
        const verdict = async (path: string, body?: object) =>
          (
            await call(
              path,
              body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
            )
          ).headers.get('gate-verdict')
        expect(await verdict('/v2/orders/o-1')).toBe('executed')
        expect(await verdict(`/v2/orders/${'o'.repeat(21)}`)).toBe('blocked')
        expect(await verdict('/v2/orders', { amount: 501, currency: 'EUR' })).toBe('blocked')
        expect(await verdict('/v2/files/1.json')).toBe('denied')
      })
    }))

  it.each([
    ['Swagger 2', '{"swagger":"2.0"}'],
    ['a list', '[]'],
    ['no path at all', '{"openapi":"3.1.0"}'],
    ['broken YAML', 'a: [1'],
    [
      'a bomb of aliases',
      `a: &a [x]\n${'b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]'}`,
    ],
  ])('refuses %s with exit 2, and writes nothing', async (_name, text) => {
    writeFileSync(join(dir, 'api.yaml'), text)
    const { code, err } = await cli(['init', 'g', '--openapi', 'api.yaml'], { cwd: dir })
    expect(code).toBe(2)
    expect(err).not.toContain('\n    at ')
    expect(existsSync(join(dir, 'g'))).toBe(false)
  })

  /** Names and shapes from everywhere: what comes out loads, whatever went in. */
  const text = fc.oneof(
    fc.constantFrom('id', 'order-id', '__proto__', 'constructor', 'a/b', 'x~y', '', 'Ä', 'a b'),
    fc.string({ maxLength: 8 }),
  )
  const scalar: fc.Arbitrary<Json> = fc.oneof(
    fc.record(
      {
        type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'array', 'null', 'file'),
        enum: fc.array(fc.oneof(text, fc.integer(), fc.double()), { maxLength: 3 }),
        minLength: fc.integer(),
        maxLength: fc.integer({ min: -5, max: 50 }),
        minimum: fc.oneof(fc.integer(), fc.double()),
        maximum: fc.oneof(fc.integer(), fc.double()),
        pattern: fc.oneof(fc.constantFrom('^a+$', '^(?=x)y$', '^[$', '^a|b$', '\\d'), text),
        items: fc.constantFrom({ type: 'string' }, { type: 'object' }, 7),
        nullable: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    ) as fc.Arbitrary<Json>,
    fc.jsonValue() as fc.Arbitrary<Json>,
  )
  const object = fc.record({
    type: fc.constant('object'),
    required: fc.array(text, { maxLength: 3 }),
    properties: fc.dictionary(text, scalar, { maxKeys: 4 }),
  })
  const operation = fc.record(
    {
      operationId: text,
      parameters: fc.array(
        fc.record({
          name: text,
          in: fc.constantFrom('path', 'query', 'header', 'x'),
          schema: scalar,
        }),
        { maxLength: 4 },
      ),
      requestBody: fc.record({
        required: fc.boolean(),
        content: fc.record({ 'application/json': fc.record({ schema: object }) }),
      }),
    },
    { requiredKeys: [] },
  )
  const path = fc
    .array(fc.oneof(fc.constantFrom('v1', '{id}', '{order-id}', '..', 'a%2fb', ''), text), {
      minLength: 1,
      maxLength: 3,
    })
    .map((segments) => `/${segments.join('/')}`)
  const document = fc.record({
    openapi: fc.constant('3.1.0'),
    paths: fc.dictionary(
      path,
      fc.dictionary(fc.constantFrom('get', 'post', 'put', 'delete'), operation, { maxKeys: 3 }),
      { maxKeys: 4 },
    ),
  })

  it('never writes a manifest that does not load, and tells of every operation it left out', () => {
    fc.assert(
      fc.property(document, (given) => {
        const read = fromOpenApi(given as unknown as Json)
        if ('error' in read) throw new Error(read.error)
        const { text: manifest, tools, lost } = writeManifest('com.example.api', read.tools)
        if (tools.length > 0) expect(problemsOf(manifest)).toEqual([])
        const operations = Object.values(given.paths).flatMap((item) => Object.keys(item)).length
        const leftOut = [...read.lost, ...lost].filter((line) => /: left out/.test(line)).length
        expect(tools.length + leftOut).toBe(operations)
      }),
      { numRuns: 300 },
    )
  })
})
