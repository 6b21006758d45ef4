import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { utf8 } from '../../../../src/core/bytes/text.js'
import type { Header, ReadCall } from '../../../../src/core/call/call.js'
import { match } from '../../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../../src/core/manifest/route/read-args.js'
import { guard, isMethodOverride, resembles } from '../../../../src/core/manifest/route/resemble.js'
import { httpCall, routerOf } from '../../../support/manifests.js'

const TOOLS = `
  list:
    match: GET /v1/list
    args: {limit: "integer?", user_id: "string?", status: {type: string, query: "filter[status]", optional: true}}
    irreversibility: two_way
  purge:
    match: DELETE /v1/list
    args: {user_id: string}
  listed:
    match: GET /v1/listed
    args: {user_id: "string?"}
    also: {query: ["$top", "sort[by]"], body: [/meta]}
  open:
    match: POST /v1/open
    args: {user_id: string, amount: {type: decimal, body: /payment/amount}, tenant: {type: string, header: X-Tenant, optional: true}}
    also: {query: any, body: any}
  read_with_body:
    match: GET /v1/search
    args: {term: {type: string, body: /query/term}, page: "integer?"}
  nested:
    match: POST /v1/nested
    args: {order: string, shipping: object, lines: objects, note: "string?"}
  close: {match: POST /v1/close}
  upload:
    match: PUT /v1/upload
    args: {name: string, file: {type: string, query: file}}
    also: {body: any}
  raw:
    match: PATCH /v1/raw/{id}
    args: {id: string, mode: {type: string, query: mode}, kind: {type: string, query: kind, optional: true}}
    also: {body: any}
  schema:
    match: POST /v1/schema
    args: {amount: decimal}
    constraints: {shape: {$body: {schema: {type: object, maxProperties: 3}}}}
  call: {args: {order: string}}
  bare: {}
`
const router = routerOf(`id: com.acme.api\ntools:${TOOLS}`)
const v1 = routerOf(
  `manifest: gate.constraints/v1\nid: com.acme.old\ntools:\n  pay: {match: POST /v1/pay, args: {user_id: string}}\n  read: {match: GET /v1/read, irreversibility: two_way}\n`,
)

function read(call: ReadCall, from = router) {
  const matched = match(from, call)
  if (!matched.ok) throw new Error(matched.detail)
  return readArgs(matched, call)
}
/** The code, or what was not read, or `ok`. */
const code = (call: ReadCall, from = router): string => {
  const answer = read(call, from)
  if (!answer.ok) return answer.code
  const [name] = answer.notRead.query
  const [pointer] = answer.notRead.members
  return name === undefined ? (pointer === undefined ? 'ok' : `member ${pointer}`) : `query ${name}`
}
const get = (target: string) => httpCall('GET', target, undefined, { headers: [] })
const form = (body: string, type = 'application/x-www-form-urlencoded') =>
  httpCall('PATCH', '/v1/raw/7?mode=a', body, { headers: [['content-type', type]] })

describe('the query of a two-way tool', () => {
  it.each([
    ['?limit=5&user_id=7&page=2&sort.by=x&a-b_c=1', 'ok'],
    ['?filter[status]=open', 'ok'],
    ['?filter%5Bstatus%5D=open', 'ok'],
    ['?page[size]=2', 'query page[size]'],
    ['?a%20b=1', 'query a b'],
    ['?=1', 'query '],
    ['?%24top=1', 'query $top'],
    ['?limit=5;user_id=9', 'arg_ambiguous'],
  ])('%s: %s', (query, expected) => {
    expect(code(get(`/v1/list${query}`))).toBe(expected)
  })

  it.each([
    'limit[]',
    '[limit]',
    'Limit',
    'LIMIT',
    'limit[0]',
    'user.id',
    'user+id',
    '+user_id',
    'user%20id',
    'user[id',
    'user[id]',
    'userId',
    'UserID',
    'user-id',
    'USER_ID',
    'filter',
    'filter.status',
    'filter[Status]',
    'filter[status][]',
    'filter_status',
    '_method',
    '[_method]',
    '.method',
    '%20_method',
    '_METHOD',
  ])('holds %s for an argument or a method, and refuses it', (name) => {
    expect(code(get(`/v1/list?${name}=1`))).toBe('arg_ambiguous')
    expect(code(get(`/v1/list?limit=5&user_id=7&${name}=1`))).toBe('arg_ambiguous')
  })

  it.each(['limits', 'user', 'id', 'filter_state', 'filter[state]', 'method', 'user_idx'])(
    'does not take %s for one',
    (name) => {
      expect(code(get(`/v1/list?${name}=1`))).not.toBe('arg_ambiguous')
    },
  )
})

describe('the query of any other tool', () => {
  it('holds only what is read or listed, octet for octet', () => {
    const post = (query: string) =>
      httpCall('POST', `/v1/close${query}`, undefined, { headers: [] })
    const del = (query: string) =>
      httpCall('DELETE', `/v1/list${query}`, undefined, { headers: [] })
    expect(code(del('?user_id=7'))).toBe('ok')
    expect(code(del('?user_id=7&page=2'))).toBe('query page')
    expect(code(del('?user_id=7&user_id=8'))).toBe('arg_ambiguous')
    expect(code(get('/v1/listed?$top=1&sort[by]=x'))).toBe('ok')
    expect(code(get('/v1/listed?$top=1&$top=2'))).toBe('ok')
    expect(code(get('/v1/listed?$skip=1'))).toBe('query $skip')
    expect(code(get('/v1/listed?sort=1'))).toBe('query sort')
    // To servers that do not split there, a bare `;` is a name.
    for (const query of ['?;', '?a;b=1']) expect(code(post(query))).toMatch(/^query /)
    expect(code(httpCall('POST', '/v1/close?;', undefined, { headers: [] }))).toBe('query ;')
  })

  it('tells what it lets through, with values', () => {
    const answer = read(get('/v1/listed?$top=1&user_id=7&sort[by]=x'))
    expect(answer.ok && answer.notJudged.query).toEqual([
      ['$top', '1'],
      ['sort[by]', 'x'],
    ])
  })

  it('under `any` still refuses what resembles an argument, wherever that is read', () => {
    const post = (query: string) =>
      httpCall('POST', `/v1/open${query}`, { user_id: '7', payment: { amount: '1' } })
    expect(code(post('?x=1&$y=2&z[]=3'))).toBe('ok')
    expect(code(post('?x=1;y=2'))).toBe('ok')
    for (const name of [
      'user_id',
      'userId',
      'amount',
      'payment',
      'payment[amount]',
      'payment.amount',
      'tenant',
      'x-tenant',
      '_method',
    ]) {
      expect([name, code(post(`?${name}=9`))]).toEqual([name, 'arg_ambiguous'])
      // With a bracket before it, the `=` would end the name in two places: no target at all.
      if (name.endsWith(']')) continue
      expect([name, code(post(`?x=1;${name}=9`))]).toEqual([name, 'arg_ambiguous'])
    }
  })
})

describe('members of a JSON body', () => {
  const nested = (body: unknown) => httpCall('POST', '/v1/nested', body)
  const fine = { order: 'o', shipping: { to: { city: 'B' } }, lines: [{ sku: 1 }, {}] }

  it('are read, or refused by pointer', () => {
    expect(code(nested(fine))).toBe('ok')
    expect(code(nested({ ...fine, role: 'admin' }))).toBe('member /role')
    expect(code(nested({ ...fine, 'a/b~c': 1 }))).toBe('member /a~1b~0c')
    expect(code(nested({ ...fine, Note: 'x' }))).toBe('arg_ambiguous')
    expect(code(nested({ ...fine, note: null }))).toBe('ok')
    expect(code(httpCall('GET', '/v1/search', { query: { term: 'x', fuzzy: true } }))).toBe(
      'member /query/fuzzy',
    )
    expect(code(httpCall('GET', '/v1/search', { query: ['x'] }))).toBe('arg_missing')
  })

  it.each([[[{ term: 'x' }]], ['text'], [7], [true]])('%j is a body that nobody reads', (body) => {
    expect(code(httpCall('GET', '/v1/listed', JSON.stringify(body)))).toMatch(/^member /)
  })

  it('are whole in an object and a list of objects, and nothing else is one', () => {
    const answer = read(nested(fine))
    expect(answer.ok && [...answer.args.keys()].sort()).toEqual(['lines', 'order', 'shipping'])
    expect(code(nested({ ...fine, shipping: [] }))).toBe('arg_type')
    expect(code(nested({ ...fine, shipping: 'x' }))).toBe('arg_type')
    expect(code(nested({ ...fine, lines: {} }))).toBe('arg_type')
    expect(code(nested({ ...fine, lines: ['x'] }))).toBe('arg_type')
  })

  it('pass below a listed pointer, and are told', () => {
    const answer = read(httpCall('GET', '/v1/listed', { meta: { a: [1] } }))
    expect(answer.ok && answer.notJudged.members.map(([pointer]) => pointer)).toEqual(['/meta'])
    expect(code(httpCall('GET', '/v1/listed', { meta: 1, other: 2 }))).toBe('member /other')
    expect(code(httpCall('GET', '/v1/listed', { user_id: 2 }))).toBe('arg_ambiguous')
    expect(code(get('/v1/listed'))).toBe('ok')
  })

  it('pass under `any`, but for look-alikes at every step', () => {
    const post = (body: unknown) => httpCall('POST', '/v1/open', body)
    const body = { user_id: '7', payment: { amount: '1' } }
    const answer = read(post({ ...body, x: 1, payment: { amount: '1', memo: 'm' } }))
    expect(answer.ok && answer.notJudged.members.map(([pointer]) => pointer)).toEqual([
      '/payment/memo',
      '/x',
    ])
    for (const more of [
      { userId: '9' },
      { User_Id: '9' },
      { _method: 'DELETE' },
      { tenant: 'x' },
    ]) {
      expect(code(post({ ...body, ...more }))).toBe('arg_ambiguous')
    }
    expect(code(post({ user_id: '7', payment: { amount: '1', AMOUNT: '9' } }))).toBe(
      'arg_ambiguous',
    )
    expect(code(post({ user_id: '7', payment: { amount: '1', a: { AMOUNT: '9' } } }))).toBe('ok')
  })

  it('are all read where a constraint reads the body', () => {
    const post = (body: unknown) => httpCall('POST', '/v1/schema', body)
    expect(code(post({ amount: '1', a: 1 }))).toBe('ok')
    expect(code(post({ amount: '1', Amount: 1 }))).toBe('arg_ambiguous')
  })

  it('of a function call too', () => {
    const call = (tool: string, json: string): ReadCall => ({
      ...httpCall('POST', '/'),
      kind: 'function',
      tool,
      argumentsJson: utf8(json),
    })
    expect(code(call('call', '{"order":"o"}'))).toBe('ok')
    expect(code(call('call', '{"order":"o","role":1}'))).toBe('member /role')
    expect(code(call('bare', '{}'))).toBe('ok')
    expect(code(call('bare', '{"x":1}'))).toBe('member /x')
  })
})

describe('a body that no rule reads', () => {
  it('is refused, whatever it is', () => {
    for (const type of ['application/json', 'text/plain', 'application/octet-stream']) {
      const headers: Header[] = [['content-type', type]]
      expect(code(httpCall('POST', '/v1/close', '{}', { headers }))).toBe('body_not_read')
    }
    expect(code(httpCall('POST', '/v1/close', ' ', { headers: [] }))).toBe('body_not_read')
    expect(code(httpCall('GET', '/v1/list', 'GET / HTTP/1.1\r\n\r\n'))).toBe('body_not_read')
    expect(code(httpCall('POST', '/v1/close', undefined, { headers: [] }))).toBe('ok')
  })

  it('passes under `any` on a connection of its own, and is told', () => {
    const answer = read(form('x=1'))
    expect(answer.ok && answer.notJudged.body).toBe(true)
    const matched = match(router, form('x=1'))
    expect(matched.ok && matched.route.rule.connection).toBe('fresh')
    const old = match(v1, get('/v1/read'))
    expect(old.ok && old.route.rule.connection).toBe('fresh')
  })

  it.each([
    'id=9',
    'x=1&mode=b',
    'x=1;mode=b',
    'MODE=b',
    'mode[]=b',
    'm%6Fde=b',
    '_method=DELETE',
    'x=1&_method=DELETE',
  ])('may not hold %s as a form', (body) => {
    expect(code(form(body))).toBe('arg_ambiguous')
    // Without a content-type Rack reads a form too.
    expect(code(httpCall('PATCH', '/v1/raw/7?mode=a', body, { headers: [] }))).toBe('arg_ambiguous')
  })

  it.each([
    '--b\r\ncontent-disposition: form-data; name="mode"\r\n\r\nb\r\n--b--',
    '--b\r\nContent-Disposition: form-data; NAME=_method\r\n\r\nDELETE\r\n--b--',
    "--b\r\ncontent-disposition: form-data; name*=utf-8''mode\r\n\r\nb\r\n--b--",
    "--b\r\ncontent-disposition: form-data; name*=utf-8''m%6Fde\r\n\r\nb\r\n--b--",
    '--b\r\ncontent-disposition: form-data; name="_me\\thod"\r\n\r\nb\r\n--b--',
    '--b\r\ncontent-disposition: form-data; name="\u212aind"\r\n\r\nb\r\n--b--',
  ])('may not hold it as multipart', (body) => {
    expect(code(form(body, 'multipart/form-data; boundary=b'))).toBe('arg_ambiguous')
    expect(code(form('--b\r\nx: name="y"\r\n\r\n--b--', 'multipart/form-data; boundary=b'))).toBe(
      'ok',
    )
  })

  it('may not hold it as JSON, coded, or as JSON that is none', () => {
    expect(code(form('{"mode":"b"}', 'application/json'))).toBe('arg_ambiguous')
    expect(code(form('{"x":{"mode":"b"}}', 'application/json'))).toBe('ok')
    expect(code(form('{"x":1', 'application/json'))).toBe('ok')
    for (const loose of ['{"mode":1', '{"x":1,"mode":1,"mode":2}', "{'_method':1}", '{mode :1}']) {
      expect([loose, code(form(loose, 'application/json'))]).toEqual([loose, 'arg_ambiguous'])
    }
    expect(code(form('{"m\\u006fde":1', 'application/json'))).toBe('arg_ambiguous')
    const coded = httpCall('PATCH', '/v1/raw/7?mode=a', 'x=1', {
      headers: [
        ['content-type', 'application/x-www-form-urlencoded'],
        ['content-encoding', 'gzip'],
      ],
    })
    expect(code(coded)).toBe('arg_ambiguous')
    expect(code(form('mode=b', 'application/octet-stream'))).toBe('ok')
  })
})

describe('a manifest that says v1', () => {
  it('lets everything through but look-alikes', () => {
    const pay = (query: string, body: unknown) => httpCall('POST', `/v1/pay${query}`, body)
    expect(code(pay('?x[]=1', { user_id: '7', role: 'admin' }), v1)).toBe('ok')
    expect(code(pay('?userId=1', { user_id: '7' }), v1)).toBe('arg_ambiguous')
    expect(code(pay('', { user_id: '7', UserId: '9' }), v1)).toBe('arg_ambiguous')
    expect(code(httpCall('GET', '/v1/read', 'x', { headers: [] }), v1)).toBe('ok')
  })
})

describe('resemblance', () => {
  it('is symmetric in how a name is spelled', () => {
    const word = fc.constantFrom('user', 'id', 'limit', 'filter', 'a')
    const name = fc.array(word, { minLength: 1, maxLength: 3 })
    const spell = (words: readonly string[], how: number): string =>
      [
        words.join('_'),
        words.map((each, i) => (i === 0 ? each : each[0]?.toUpperCase() + each.slice(1))).join(''),
        words.join('.'),
        words.join('-').toUpperCase(),
        ` ${words.join(' ')}`,
        `${words[0]}${words
          .slice(1)
          .map((each) => `[${each}]`)
          .join('')}`,
      ][how] as string
    fc.assert(
      fc.property(name, fc.nat({ max: 5 }), fc.nat({ max: 5 }), (words, a, b) => {
        expect(resembles(spell(words, a), guard(spell(words, b)))).toBe(true)
      }),
    )
  })

  it('of a method override is exact', () => {
    for (const name of ['method', '_methods', 'x_method', '__method']) {
      expect(isMethodOverride(name)).toBe(false)
    }
  })
})
