import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type App, startFramework } from '../support/frameworks.js'
import { READERS } from '../support/readers/index.js'
import { expressExtended, qsTree, simpleTree } from '../support/readers/javascript.js'
import { readJson } from '../support/readers/json.js'
import type { RawRequest } from '../support/readers/request.js'
import { ORDERS, routeOf } from '../support/readers/route.js'
import { toPlain } from '../support/readers/tree.js'
import type { View } from '../support/readers/view.js'

const request = (
  method: string,
  target: string,
  body = '',
  headers: Record<string, string> = {},
): RawRequest => ({
  method,
  target,
  headers: Object.entries(headers),
  body: Buffer.from(body),
})
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }
const MULTIPART = { 'content-type': 'multipart/form-data; boundary=b' }
const part = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`

const reader = (name: string) => {
  const found = READERS.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no reader ${name}`)
  return found
}
const view = (name: string, of: RawRequest, readsBody = true): View => {
  const read = reader(name).read(of, { readsBody })
  if (read === null) throw new Error(`${name} refuses`)
  return read
}
const bag = (name: string, from: string, of: RawRequest): unknown =>
  toPlain(view(name, of).bags.find((one) => one.name === from)?.values)

describe('query names, as each reader takes them', () => {
  it.each(['+user_id=9', 'user.id=9', 'user+id=9', 'user[id=9', 'user%20id=9', '%20user_id=9'])(
    'PHP reads %s as user_id, and the last wins',
    (query) => {
      expect(bag('PHP', '$_GET', request('GET', `/x?user_id=7&${query}`))).toEqual({ user_id: '9' })
    },
  )
  it('PHP nests brackets and ignores what follows them', () => {
    expect(bag('PHP', '$_GET', request('GET', '/x?a[b][c]=1&a[b][]=2&d[e]f=3&[g]=4'))).toEqual({
      a: { b: { c: '1', '1': '2' } },
      d: { e: '3' },
    })
  })
  it('qs takes [limit] for limit and repeats for a list', () => {
    expect(bag('Express with qs', 'req.query', request('GET', '/x?user_id=7&[user_id]=9'))).toEqual(
      { user_id: ['7', '9'] },
    )
  })
  it('URLSearchParams keeps names to the letter; get is the first, getAll all', () => {
    const twice = request('GET', '/x?a=1&a=2&[a]=3&A=4')
    expect(bag('URLSearchParams', 'get', twice)).toEqual({ a: '1', '[a]': '3', A: '4' })
    expect(bag('URLSearchParams', 'getAll', twice)).toEqual({
      a: ['1', '2'],
      '[a]': ['3'],
      A: ['4'],
    })
  })
  it('Rack 2 separates by ; and nests, and strips leading brackets', () => {
    expect(bag('Rack', 'GET', request('GET', '/x?x=1;amount=9&a[b]=2&[limit]=3&c[]=4'))).toEqual({
      x: '1',
      amount: '9',
      a: { b: '2' },
      limit: '3',
      c: ['4'],
    })
  })
  it('Rack answers 400 itself when a name is a value and a container', () => {
    expect(reader('Rack').read(request('GET', '/x?a=1&a[b]=2'), { readsBody: false })).toBeNull()
  })
  it('a servlet gets the first by getParameter, and the form after the query', () => {
    const both = request('POST', '/x?amount=1', 'amount=9', FORM)
    expect(bag('servlet', 'getParameter', both)).toEqual({ amount: '1' })
    expect(bag('servlet', 'getParameterValues', both)).toEqual({ amount: ['1', '9'] })
  })
  it('ASP.NET ignores case and joins repeats by a comma', () => {
    const repeated = request('GET', '/x?limit=1&LIMIT=9')
    expect(bag('ASP.NET', 'QueryString', repeated)).toEqual({ limit: '1,9' })
  })
})

describe('bodies and methods, as each reader takes them', () => {
  it('Rack merges the form over the query, for GET and DELETE too, and a POST without a type', () => {
    for (const method of ['GET', 'DELETE', 'POST']) {
      expect(bag('Rack', 'params', request(method, '/x?amount=1', 'amount=9', FORM))).toEqual({
        amount: '9',
      })
    }
    expect(bag('Rack', 'params', request('POST', '/x?amount=1', 'amount=9'))).toEqual({
      amount: '9',
    })
  })
  it('PHP puts a posted form over the query in $_REQUEST', () => {
    expect(bag('PHP', '$_REQUEST', request('POST', '/x?a=1&b=2', 'a=9', FORM))).toEqual({
      a: '9',
      b: '2',
    })
    expect(bag('PHP', '$_REQUEST', request('GET', '/x?a=1', 'a=9', FORM))).toEqual({ a: '1' })
  })
  it.each([
    ['form', request('POST', '/x', '_method=delete', FORM)],
    ['multipart', request('POST', '/x', `${part('_method', 'DELETE')}--b--`, MULTIPART)],
  ])('Rack and PHP run a POST with _method in a %s as DELETE', (_, of) => {
    expect(view('Rack', of).method).toBe('DELETE')
    expect(view('PHP', of).method).toBe('DELETE')
  })
  it('method-override and PHP frameworks take _method of the query of a POST alone', () => {
    expect(view('Express with qs', request('POST', '/x?_method=DELETE')).method).toBe('DELETE')
    expect(view('PHP', request('POST', '/x?_method=DELETE')).method).toBe('DELETE')
    expect(view('PHP', request('GET', '/x?_method=DELETE')).method).toBe('GET')
  })
  it('Go folds member names, protobuf-JSON takes camel for snake; the later one counts', () => {
    const go = request('POST', '/x', '{"amount":1,"AMOUNT":9,"\u017ftatus":2}', JSON_TYPE)
    expect(bag('Go', 'message', go)).toEqual({ amount: 9, status: 2 })
    const protobuf = request('POST', '/x?page_size=1&pageSize=9', '{"user_id":1,"userId":9}')
    expect(bag('protobuf-JSON', 'message', protobuf)).toEqual({ userId: 9 })
    expect(bag('protobuf-JSON', 'query', protobuf)).toEqual({ pageSize: '9' })
  })
  it('handlers that merge let either side override', () => {
    const both = request('POST', '/x?a=1', '{"a":9}', JSON_TYPE)
    expect(bag('Express with qs', '{...query, ...body}', both)).toEqual({ a: 9 })
    expect(bag('Express with qs', '{...body, ...query}', both)).toEqual({ a: '1' })
  })
  it('http.server leaves the body that its handler did not read, unless the connection ends', () => {
    const body = 'DELETE /all HTTP/1.1\r\n\r\n'
    const left = request('GET', '/x', body)
    expect(Buffer.from(view('http.server', left, false).next ?? []).toString()).toBe(body)
    expect(view('http.server', left, true).next).toBeUndefined()
    const closing = request('GET', '/x', body, { connection: 'close' })
    expect(view('http.server', closing, false).next).toBeUndefined()
  })
})

describe('paths, as each router maps them', () => {
  const routes = [
    { tool: 'order', method: 'GET', path: '/orders/{id}' },
    { tool: 'export', method: 'GET', path: '/orders/export' },
  ]
  const routed = (name: string, target: string): string | undefined =>
    routeOf(view(name, request('GET', target)), reader(name).literal, ORDERS.literal_first(routes))
      ?.tool

  it.each([
    ['Express with qs', '/orders/EXPORT', 'export'],
    ['ASP.NET', '/orders/Export', 'export'],
    ['ASP.NET', '/orders/export..', 'export'],
    ['ASP.NET', '/orders/export%20', 'export'],
    ['Rack', '/orders/export.json', 'export'],
    ['Rack', '/orders/EXPORT', 'order'],
    ['servlet', '/orders/export;x=y', 'export'],
    ['servlet', '/orders;a/7', 'order'],
    ['Go', '/orders/EXPORT', 'order'],
    ['Go', '/orders/export', 'export'],
  ])('%s maps %s to %s', (name, target, tool) => expect(routed(name, target)).toBe(tool))

  it('takes the declared order where an application registers its routes so', () => {
    const seen = view('Go', request('GET', '/orders/export'))
    expect(routeOf(seen, reader('Go').literal, ORDERS.declared(routes))).toEqual({
      tool: 'order',
      params: new Map([['id', 'export']]),
    })
  })
})

describe('repeated members', () => {
  it('are kept as the parser likes, at every depth, whatever their escapes', () => {
    const text = '{"a":1,"\\u0061":{"b":[1,{"c":"x","c":"}"}]},"d":"[,"}'
    expect(toPlain(readJson(text, 'last')?.value)).toEqual({
      a: { b: [1, { c: '}' }] },
      d: '[,',
    })
    expect(toPlain(readJson(text, 'first')?.value)).toEqual({ a: 1, d: '[,' })
  })
  it('agree with JSON.parse on any value', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(toPlain(readJson(text, 'last')?.value)).toEqual(JSON.parse(text))
      }),
    )
  })
  it('no reader is handed what is no JSON', () => expect(readJson('{"a":1}x', 'last')).toBeNull())
})

describe('the real thing reads the same', () => {
  const apps: App[] = []
  afterAll(() => Promise.all(apps.map((app) => app.close())))
  const QUERIES = [
    'a=1&a=2',
    '[limit]=9&limit=1',
    'user.id=1&user+id=2&user[id=3',
    'a[b]=1&a[c][]=2&a[]=3',
    'x=1;amount=9',
    'Limit=1&limit=2',
    'limit[]=1',
    'a=%E4%BD%A0&b=%20c+d',
    'filter[status]=open&$top=5',
  ]

  it.each([
    ['Express 4', qsTree],
    ['Express 5', simpleTree],
    ['fastify', simpleTree],
    ['koa', simpleTree],
  ] as const)('%s', async (name, tree) => {
    const app = await startFramework(name, [])
    apps.push(app)
    for (const query of QUERIES) {
      const seen = await ask(app.port, 'POST', `/any?${query}`, JSON_TYPE, '{"n":1,"n":2}')
      expect(seen.query).toEqual(toPlain(tree(query)))
      expect(seen.body).toEqual({ n: 2 })
    }
    const form = await ask(app.port, 'POST', '/any', FORM, 'a=1&[b]=2&c[d]=3')
    const extended = expressExtended.read(request('POST', '/any', 'a=1&[b]=2&c[d]=3', FORM), {
      readsBody: true,
    })
    if (name.startsWith('Express')) {
      expect(form.body).toEqual(
        toPlain(extended?.bags.find((one) => one.name === 'req.body')?.values),
      )
    }
  })

  it('Express maps letter case as its reader says, fastify does not', async () => {
    const routes = [
      { tool: 'export', method: 'GET', path: '/orders/export' },
      { tool: 'order', method: 'GET', path: '/orders/{id}' },
    ]
    for (const [name, tool] of [
      ['Express 4', 'export'],
      ['Express 5', 'export'],
      ['fastify', 'order'],
      ['koa', 'export'],
    ] as const) {
      const app = await startFramework(name, routes)
      apps.push(app)
      expect(await ask(app.port, 'GET', '/orders/EXPORT')).toMatchObject({ tool })
    }
  })

  it('URLSearchParams in a plain node server', async () => {
    const server = createServer((req, res) => {
      const seen = new URL(req.url ?? '/', 'http://x').searchParams
      res.end(JSON.stringify({ query: Object.fromEntries([...seen].toReversed()) }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    for (const query of QUERIES) {
      const seen = await ask(port, 'GET', `/any?${query}`)
      expect(seen.query).toEqual(bag('URLSearchParams', 'get', request('GET', `/any?${query}`)))
    }
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
})

async function ask(
  port: number,
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<{ query?: unknown; body?: unknown; tool?: string }> {
  const answer = await fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  return (await answer.json()) as { query?: unknown; body?: unknown; tool?: string }
}
