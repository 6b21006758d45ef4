import { describe, expect, it } from '@jest/globals'
import { drive, ruleOf } from '../support/fuzz/drive.js'
import {
  type FuzzArg,
  type FuzzManifest,
  type FuzzRule,
  manifestText,
} from '../support/fuzz/manifest.js'
import { routerOf } from '../support/manifests.js'
import { disagreements } from '../support/readers/oracle.js'
import type { RawRequest } from '../support/readers/request.js'
import { toEbcdic } from '../support/readers/servlet.js'

/**
 * The fuzzer is worth what its oracle sees. For each rule of reading: a request that this rule refuses,
 * the same request without the offence, which passes, and the readers that would have been misled.
 */
type Case = {
  readonly rule: string
  readonly manifest: FuzzManifest
  /** Dispatched, and no reader objects. */
  readonly plain: RawRequest
  readonly offence: RawRequest
  readonly code: string
  /** What the gate would have judged, had it not refused. */
  readonly judged: { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }
  /** Readers that are misled, each with what it sees. */
  readonly misled: readonly RegExp[]
}

const arg = (text: string, optional = false): FuzzArg => {
  const [name = '', type = '', place = '', at = name] = text.split(' ')
  return { name, type, in: place as FuzzArg['in'], at, optional }
}
const rule = (match: string, args: readonly FuzzArg[], more: Partial<FuzzRule> = {}): FuzzRule => {
  const [method = '', path = ''] = match.split(' ')
  const also = more.also ?? {}
  const list = (what: 'any' | readonly string[] | undefined) =>
    what === undefined || what === 'any' ? [] : what
  return {
    tool: `${method.toLowerCase()}_${path.replace(/\W+/g, '_').replace(/^_|_$/g, '')}`,
    method,
    path,
    args,
    irreversibility: null,
    also,
    pooled: false,
    query: also.query === 'any' ? 'any' : more.irreversibility === 'two_way' ? 'names' : 'listed',
    body: also.body === 'any' ? 'any' : 'listed',
    listed: { query: list(also.query), body: list(also.body) },
    ...more,
  }
}
const manifest = (...rules: FuzzRule[]): FuzzManifest => ({ version: null, rules })
const request = (
  line: string,
  body = '',
  type: string | null = body === '' ? null : 'application/json',
  headers: readonly [string, string][] = [],
): RawRequest => {
  const [method = '', target = ''] = line.split(' ')
  const all = type === null ? headers : [...headers, ['content-type', type] as const]
  return { method, target, headers: all, body: Buffer.from(body) }
}

const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data; boundary=b'
const part = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`

const userId = arg('user_id string query')
const LIST = rule('GET /users', [userId], { also: { query: 'any' } })
const READ = rule('GET /users', [userId], { irreversibility: 'two_way' })
const PAY = rule('POST /pay', [arg('amount decimal body /amount')])
const PAY_OPEN = rule('POST /pay', [arg('amount decimal body /amount')], {
  also: { body: 'any', query: 'any' },
})
const SEND = rule('POST /send', [arg('to string query')], { also: { body: 'any' } })
const SNAKE = rule('POST /move', [arg('user_id string body /user_id')], { also: { body: 'any' } })
const ORDERS = [
  rule('GET /orders/export', []),
  rule('GET /orders/{id}', [arg('id string path')]),
  rule('HEAD /orders/{id}', [arg('id string path')]),
]
const order = (id: string, method = 'get') => ({ tool: `${method}_orders_id`, args: { id } })

const lookAlike = (name: string, misled: RegExp, code = 'arg_ambiguous'): Case => ({
  rule: `look-alike of a query argument under any: ${name}`,
  manifest: manifest(LIST),
  plain: request('GET /users?user_id=7&page=2'),
  offence: request(`GET /users?user_id=7&${name}=9`),
  code,
  judged: { tool: 'get_users', args: { user_id: '7' } },
  misled: [misled],
})
const spelling = (path: string, id: string, misled: RegExp, code = 'target_ambiguous'): Case => ({
  rule: `second spelling of a path: ${path}`,
  manifest: manifest(...ORDERS),
  plain: request('GET /orders/7'),
  offence: request(`GET ${path}`),
  code,
  judged: order(id),
  misled: [misled],
})
const unread = (what: string, body: string, type: string | null, misled: RegExp[]): Case => ({
  rule: `an unread body that overrides: ${what}`,
  manifest: manifest(SEND),
  plain: request('POST /send?to=me', 'text=hello', FORM),
  offence: request('POST /send?to=me', body, type),
  code: 'arg_ambiguous',
  judged: { tool: 'post_send', args: { to: 'me' } },
  misled,
})

const CASES: readonly Case[] = [
  {
    rule: 'a body that nothing reads',
    manifest: manifest({ ...READ, pooled: true }),
    plain: request('GET /users?user_id=7'),
    offence: request('GET /users?user_id=7', 'DELETE /users/7 HTTP/1.1\r\n\r\n', null),
    code: 'body_not_read',
    judged: { tool: 'get_users', args: { user_id: '7' } },
    misled: [/http\.server: takes the body for a further request/],
  },
  {
    rule: 'a query name that is not read',
    manifest: manifest(rule('GET /users', [userId])),
    plain: request('GET /users?user_id=7'),
    offence: request('GET /users?user_id=7&role=admin'),
    code: 'query_not_read',
    judged: { tool: 'get_users', args: { user_id: '7' } },
    misled: [/PHP: \$_GET\.role was not read/, /Rack: GET\.role was not read/],
  },
  {
    rule: 'a query name of other letters than the reading class takes',
    manifest: manifest(READ),
    plain: request('GET /users?user_id=7&page=2&sort.by=a'),
    offence: request('GET /users?user_id=7&page[size]=9'),
    code: 'query_not_read',
    judged: { tool: 'get_users', args: { user_id: '7' } },
    misled: [/the query name page\[size\]/],
  },
  {
    rule: 'a member that is not read',
    manifest: manifest(PAY),
    plain: request('POST /pay', '{"amount":"1"}'),
    offence: request('POST /pay', '{"amount":"1","role":"admin"}'),
    code: 'member_not_read',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Express with qs: req\.body\.role was not read/],
  },
  {
    rule: 'a member below another that is read',
    manifest: manifest(rule('POST /pay', [arg('amount decimal body /order/amount')])),
    plain: request('POST /pay', '{"order":{"amount":"1"}}'),
    offence: request('POST /pay', '{"order":{"amount":"1","paid":true}}'),
    code: 'member_not_read',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Go: message\.order\.paid was not read/],
  },
  lookAlike('[user_id]', /Express with qs: req\.query\.user_id is \[7, 9\]/),
  lookAlike('user_id[]', /Express with qs: req\.query\.user_id/),
  lookAlike('user.id', /PHP: \$_GET\.user_id is 9/),
  lookAlike('user+id', /PHP: \$_GET\.user_id is 9/),
  lookAlike('+user_id', /PHP: \$_GET\.user_id is 9/),
  lookAlike('user[id', /PHP: \$_GET\.user_id is 9/),
  lookAlike('userId', /protobuf-JSON: query\.userId is 9/),
  lookAlike('USER_ID', /ASP\.NET: QueryString\.user_id is 7,9/),
  {
    ...lookAlike('[user_id]', /Express with qs: req\.query\.user_id is \[7, 9\]/),
    rule: 'a look-alike under gate.constraints/v1',
    manifest: { version: 'v1', rules: [{ ...LIST, also: {}, body: 'any' }] },
  },
  {
    ...lookAlike('user_id', /servlet: getParameterValues\.user_id is \[7, 9\]/),
    rule: 'an argument twice in the query',
  },
  {
    ...lookAlike('x', /Rack: GET\.user_id is 9/),
    rule: 'a raw ; in the query',
    offence: request('GET /users?user_id=7&x=1;user_id=9'),
  },
  {
    rule: 'an argument of the body in the query too',
    manifest: manifest(PAY_OPEN),
    plain: request('POST /pay?trace=1', '{"amount":"1"}'),
    offence: request('POST /pay?amount=9', '{"amount":"1"}'),
    code: 'arg_ambiguous',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/\{\.\.\.body, \.\.\.query\}\.amount is 9/],
  },
  {
    rule: 'an argument of the query in the JSON body too',
    manifest: manifest(
      rule('POST /send', [arg('to string query'), arg('text string body /text')], {
        also: { body: 'any' },
      }),
    ),
    plain: request('POST /send?to=me', '{"text":"a","cc":"b"}'),
    offence: request('POST /send?to=me', '{"text":"a","to":"you"}'),
    code: 'arg_ambiguous',
    judged: { tool: 'post_send', args: { to: 'me', text: 'a' } },
    misled: [/Rack: params\.to is you/, /\{\.\.\.query, \.\.\.body\}\.to is you/],
  },
  {
    rule: 'a member in other letter case',
    manifest: manifest(PAY_OPEN),
    plain: request('POST /pay', '{"amount":"1","note":"x"}'),
    offence: request('POST /pay', '{"amount":"1","AMOUNT":"9"}'),
    code: 'arg_ambiguous',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Go: message\.amount is 9/, /ASP\.NET: FromBody\.amount is 9/],
  },
  {
    rule: 'a member in camel case for one in snake case',
    manifest: manifest(SNAKE),
    plain: request('POST /move', '{"user_id":"7","note":"x"}'),
    offence: request('POST /move', '{"user_id":"7","userId":"9"}'),
    code: 'arg_ambiguous',
    judged: { tool: 'post_move', args: { user_id: '7' } },
    misled: [/protobuf-JSON: message\.userId is 9/],
  },
  {
    rule: 'a member twice',
    manifest: manifest(PAY),
    plain: request('POST /pay', '{"amount":"1"}'),
    offence: request('POST /pay', '{"amount":"1","amount":"9"}'),
    code: 'body_unreadable',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Express with qs: req\.body\.amount is 9/],
  },
  {
    rule: 'a read body under another type than JSON',
    manifest: manifest(PAY),
    plain: request('POST /pay', '{"amount":"1"}', 'application/json; charset=utf-8'),
    offence: request('POST /pay', '{"amount":"1"}', FORM),
    code: 'body_unreadable',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Rack: POST/, /req\.body\.amount is null/],
  },
  unread('form', 'to=you', FORM, [/Rack: params\.to is you/, /PHP: \$_REQUEST\.to is you/]),
  unread('form without a type', 'to=you', null, [/Rack: params\.to is you/]),
  unread('form with ;', 'a=1;to=you', FORM, [/Rack: params\.to is you/]),
  unread('multipart', part('to', 'you'), MULTIPART, [/Rack: params\.to is you/]),
  unread('JSON', '{"to":"you"}', 'application/json', [/\{\.\.\.query, \.\.\.body\}\.to is you/]),
  unread('_method in a form', '_method=DELETE', FORM, [/Rack: runs DELETE/, /PHP: runs DELETE/]),
  unread('_method in multipart', part('_method', 'DELETE'), MULTIPART, [/Rack: runs DELETE/]),
  {
    rule: '_method in the query',
    manifest: manifest(PAY_OPEN),
    plain: request('POST /pay?method=x', '{"amount":"1"}'),
    offence: request('POST /pay?_method=DELETE', '{"amount":"1"}'),
    code: 'arg_ambiguous',
    judged: { tool: 'post_pay', args: { amount: '1' } },
    misled: [/Express with qs: runs DELETE/, /PHP: runs DELETE/],
  },
  spelling(
    '/orders/export%20',
    'export ',
    /ASP\.NET: routes to get_orders_export/,
    'target_malformed',
  ),
  spelling('/orders/7%20', '7 ', /ASP\.NET: \{id\} is 7/, 'target_malformed'),
  {
    ...lookAlike('x', /Express with qs: req\.query\.user_id is null/, 'target_malformed'),
    rule: 'more query parts than parsers read',
    offence: request(`GET /users?${'x&'.repeat(1000)}user_id=7`),
  },
  {
    ...lookAlike('x', /Express with qs: req\.query\.user_id is null/, 'target_malformed'),
    rule: 'more query parts than parsers read, all empty',
    offence: request(`GET /users?${'&'.repeat(1000)}user_id=7`),
  },
  unread(
    'form in another charset',
    `${toEbcdic('to')}=${toEbcdic('you')}`,
    `${FORM}; charset=IBM037`,
    [/servlet: getParameterValues\.to is \[me, you\]/],
  ),
  spelling('/orders/EXPORT', 'EXPORT', /Express with qs: routes to get_orders_export/),
  spelling('/orders/export.json', 'export.json', /Rack: routes to get_orders_export/),
  spelling(
    '/orders/export;x',
    'export;x',
    /servlet: routes to get_orders_export/,
    'target_malformed',
  ),
  spelling(
    '/orders/export.',
    'export.',
    /ASP\.NET: routes to get_orders_export/,
    'target_malformed',
  ),
  spelling('/orders/%65xport', '%65xport', /Go: routes to get_orders_export/, 'target_malformed'),
  {
    rule: 'HEAD on a path that a GET rule names',
    manifest: manifest(...ORDERS),
    plain: request('HEAD /orders/7'),
    offence: request('HEAD /orders/export'),
    code: 'target_ambiguous',
    judged: order('export', 'head'),
    misled: [/Express with qs: routes to get_orders_export/],
  },
  {
    rule: 'a literal that another rule has where this one has a parameter',
    manifest: manifest(
      rule('GET /{kind}/export', [arg('kind string path')]),
      rule('GET /orders/{id}', [arg('id string path')]),
    ),
    plain: request('GET /items/export'),
    offence: request('GET /orders/export'),
    code: 'target_ambiguous',
    judged: { tool: 'get_kind_export', args: { kind: 'orders' } },
    misled: [/Go: routes to get_orders_id/],
  },
]

describe('the oracle sees what each rule is for', () => {
  it.each(CASES.map((one) => [one.rule, one] as const))('%s', (_, of) => {
    const { rules } = of.manifest
    const router = routerOf(manifestText(of.manifest))
    const passed = drive(router, of.plain)
    if (passed.kind === 'refused') throw new Error(`refused: ${passed.code}`)
    const judged = { rule: ruleOf(rules, passed.tool), args: passed.args }
    expect(disagreements(passed.sent, judged, rules)).toEqual([])

    expect(drive(router, of.offence)).toEqual({ kind: 'refused', code: of.code })
    const asIf = {
      rule: ruleOf(rules, of.judged.tool),
      args: new Map(Object.entries(of.judged.args)),
    }
    const found = disagreements(of.offence, asIf, rules).join('\n')
    for (const misled of of.misled) expect(found).toMatch(misled)
  })

  it('a body let through unread on a connection that others share', () => {
    const router = routerOf(manifestText(manifest(SEND)))
    const driven = drive(router, request('POST /send?to=me', 'GET /x HTTP/1.1', 'text/plain'))
    if (driven.kind === 'refused') throw new Error(driven.code)
    const { sent, tool, args } = driven
    const judged = { rule: ruleOf([SEND], tool), args }
    expect(sent.headers).toContainEqual(['connection', 'close'])
    expect(disagreements(sent, judged, [SEND])).toEqual([])
    const pooled = { ...sent, headers: sent.headers.filter(([name]) => name !== 'connection') }
    expect(disagreements(pooled, judged, [SEND])).toEqual([
      'http.server: takes the body for a further request',
    ])
  })

  it('a header that overrides the method, or becomes an argument under another spelling', () => {
    const READS = rule('POST /pay', [arg('user_id string header x-user-id')])
    const router = routerOf(manifestText(manifest(READS)))
    const offence = request('POST /pay', '', null, [
      ['x-user-id', '7'],
      ['x_user_id', '9'],
      ['x-http-method-override', 'DELETE'],
    ])
    const driven = drive(router, offence)
    if (driven.kind === 'refused') throw new Error(driven.code)
    const judged = { rule: READS, args: driven.args }
    expect(disagreements(driven.sent, judged, [READS])).toEqual([])
    expect(disagreements(offence, judged, [READS])).toEqual([
      'any: x-http-method-override is forwarded',
      'CGI: header x-user-id is 7, 9, judged 7',
    ])
  })
})
