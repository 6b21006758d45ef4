import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { requestHead } from '../../../src/adapters/http-client/request-head.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import type { Header, ReadCall } from '../../../src/core/call/call.js'
import { executedAction, type JudgedCall, type Wrote } from '../../../src/core/call/executed.js'
import { outgoing } from '../../../src/core/call/outgoing.js'
import { match } from '../../../src/core/manifest/route/match.js'
import { requestOctets } from '../../../src/core/mcp/message.js'
import { draws } from '../../support/draws.js'
import { httpCall, routed, routerOf } from '../../support/manifests.js'
import { mcpCall } from '../../support/mcp-call.js'

const ROUTER = routerOf(
  `id: com.acme.orders
tools:
  read_order: {match: "GET /v1/orders/{order}", args: {order: string}}
  find_orders: {match: GET /v1/orders, args: {state: string}}
  pay_order: {match: "POST /v1/orders/{order}/pay", args: {order: string, amount: decimal}}
  refund_order: {match: "POST /v1/orders/{order}/refund", args: {order: string, amount: decimal}}
  put_note: {match: "PUT /v1/orders/{order}", args: {order: string}, also: {query: any, body: any}}
  guarded: {args: {order: string}}
`,
  `id: com.acme.desk
server: desk
tools:
  pay: {args: {amount: decimal}}
  refund: {args: {amount: decimal}}
  notes: {match: {tool: note_*}, also: {body: any}}
  page: {match: {resource: "file:///pages/*"}}
  greeting: {match: {prompt: greeting}}
  tasks: {match: {method: tasks/*}, args: {taskId: string}}
`,
)

function judged(unrouted: ReadCall): JudgedCall {
  const found = match(ROUTER, unrouted)
  if (!found.ok) throw new Error(found.detail)
  return { call: routed(unrouted, found.upstream), rule: found.route.rule, router: ROUTER }
}

// ── HTTP ─────────────────────────────────────────────────────────────────────
type WroteHttp = Extract<Wrote, { kind: 'http' }>

/** As the adapter writes it, with a body of its own. */
function writtenOf({ call, rule }: JudgedCall, credential: Header | null = null): WroteHttp {
  const request = outgoing(call, rule)
  const head = request && requestHead(request, 'orders.test', rule.connection, credential)
  if (request === null || head === null) throw new Error('it cannot be sent')
  return { kind: 'http', head, body: Uint8Array.from(request.body) }
}

const segment = fc.stringMatching(/^[A-Za-z0-9_~-]{1,12}$/)
const body = fc
  .record({ amount: fc.stringMatching(/^[1-9][0-9]{0,3}\.[0-9]{2}$/), note: fc.string() })
  .map((given) => JSON.stringify(given))
const type = fc.constantFrom('application/json', 'application/json; charset=utf-8')
const httpCalls = fc
  .tuple(
    fc.oneof(
      segment.map((order) => ['GET', `/v1/orders/${order}`, ''] as const),
      segment.map((state) => ['GET', `/v1/orders?state=${state}`, ''] as const),
      fc.tuple(segment, body).map(([id, text]) => ['POST', `/v1/orders/${id}/pay`, text] as const),
      fc
        .tuple(segment, body)
        .map(([id, text]) => ['POST', `/v1/orders/${id}/refund`, text] as const),
      fc
        .tuple(segment, segment, body)
        .map(([id, q, text]) => ['PUT', `/v1/orders/${id}?q=${q}&q=`, text] as const),
    ),
    type,
  )
  .map(([[method, target, text], contentType]) =>
    judged(
      httpCall(method, target, text, {
        headers: [
          ['content-type', contentType],
          ['accept', 'application/json'],
          ['x-unlisted', '1'],
        ],
      }),
    ),
  )
const guardedCalls = fc
  .tuple(segment, body)
  .map(([path, text]) => judged(httpCall('DELETE', `/app/${path}`, text, { tool: 'guarded' })))

const RUNS = { numRuns: draws(5_000, 500) }

describe('a request that was written as it was judged', () => {
  it('has the action of its rule', () => {
    fc.assert(
      fc.property(fc.oneof(httpCalls, guardedCalls), (call) => {
        expect(executedAction(writtenOf(call), call)).toBe(call.rule.action)
        const credential = ['authorization', 'Bearer of-the-gate'] as const
        expect(executedAction(writtenOf(call, credential), call)).toBe(call.rule.action)
      }),
      RUNS,
    )
  })

  it('has it where its body is the very buffer that was judged', () => {
    const call = judged(httpCall('POST', '/v1/orders/a/pay', { amount: '1.00' }))
    const { head } = writtenOf(call)
    const { bytes } = call.call.kind === 'http' ? call.call.body : { bytes: utf8('') }
    expect(executedAction({ kind: 'http', head, body: bytes }, call)).toBe('pay_order')
  })
})

/** The text with the character at this place, of all that there are, replaced, left out or doubled. */
const edited = (text: string, at: number, by: string): string =>
  text.slice(0, at) + by + text.slice(at + 1)
const edit = fc.record({
  at: fc.nat(),
  by: fc.oneof(
    fc.constant(''),
    fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\r\n', '\r\n\r\n', '%2e', 'xx'),
  ),
})

describe('a request that was changed before it was written has no action', () => {
  it('in any character of its first line', () => {
    fc.assert(
      fc.property(fc.oneof(httpCalls, guardedCalls), edit, (call, { at, by }) => {
        const wrote = writtenOf(call)
        const line = wrote.head.indexOf('\r\n')
        const head = edited(wrote.head, at % (line + 2), by)
        fc.pre(head !== wrote.head)
        expect(executedAction({ ...wrote, head }, call)).toBeNull()
      }),
      RUNS,
    )
  })

  it('in any octet of its body', () => {
    fc.assert(
      fc.property(httpCalls, fc.nat(), fc.integer({ min: 1, max: 255 }), (call, place, by) => {
        const wrote = writtenOf(call)
        const { length } = wrote.body
        const changed = Uint8Array.from(wrote.body)
        if (length > 0) changed[place % length] = ((changed[place % length] ?? 0) + by) & 255
        const longer = Uint8Array.from([...wrote.body, by])
        for (const other of [...(length > 0 ? [changed, wrote.body.subarray(1)] : []), longer]) {
          expect(executedAction({ ...wrote, body: other }, call)).toBeNull()
          const head = wrote.head.replace(
            /(?:content-length: \d+\r\n)?\r\n$/,
            `content-length: ${other.length}\r\n\r\n`,
          )
          expect(executedAction({ kind: 'http', head, body: other }, call)).toBeNull()
        }
      }),
      RUNS,
    )
  })

  it('to any other request that a rule matches', () => {
    fc.assert(
      fc.property(httpCalls, httpCalls, (call, other) => {
        const wrote = writtenOf(other)
        fc.pre(wrote.head !== writtenOf(call).head)
        const same =
          call.rule === other.rule &&
          wrote.head.split('\r\n')[0] === writtenOf(call).head.split('\r\n')[0]
        fc.pre(!same)
        expect(executedAction(wrote, call)).toBeNull()
      }),
      RUNS,
    )
  })

  const pay = judged(httpCall('POST', '/v1/orders/a/pay', { amount: '1.00' }))
  const wrote = writtenOf(pay)
  const withHead = (from: string | RegExp, to: string): string | null => {
    const head = wrote.head.replace(from, to)
    expect(head).not.toBe(wrote.head)
    return executedAction({ ...wrote, head }, pay)
  }
  it.each<readonly [string, string | RegExp, string]>([
    ['another method', /^POST/, 'PUT'],
    ['the method in small letters', /^POST/, 'post'],
    ['the action of another rule', '/pay ', '/refund '],
    ['another object', '/orders/a/', '/orders/b/'],
    ['a query', '/pay ', '/pay?x=1 '],
    ['the same path, escaped', '/orders/a/', '/orders/%61/'],
    ['dot segments', '/orders/a/', '/orders/b/../a/'],
    ['an absolute target', ' /v1', ' http://orders.test/v1'],
    ['a fragment', '/pay ', '/pay# '],
    ['two spaces', 'POST ', 'POST  '],
    ['another version', 'HTTP/1.1', 'HTTP/1.0'],
    ['a word behind the version', 'HTTP/1.1', 'HTTP/1.1 x'],
    ['another content-type', 'application/json', 'text/plain'],
    ['a second content-type', 'content-type:', 'content-type: text/plain\r\ncontent-type:'],
    ['no content-type', /content-type: [^\r]*\r\n/, ''],
    ['a content-encoding', 'content-type:', 'content-encoding: gzip\r\ncontent-type:'],
    ['a shorter body announced', /content-length: \d+/, 'content-length: 1'],
    ['a second length', 'content-length:', 'content-length: 0\r\ncontent-length:'],
    ['a second length behind it', /(content-length: \d+\r\n)/, '$1content-length: 0\r\n'],
    ['no length', /content-length: \d+\r\n/, ''],
    ['a length in another spelling', 'content-length: ', 'content-length: 0'],
    ['chunks', 'content-length:', 'transfer-encoding: chunked\r\ncontent-length:'],
    [
      'a method in a header',
      'accept-encoding:',
      'X-HTTP-Method-Override: DELETE\r\naccept-encoding:',
    ],
    ['a path in a header', 'accept-encoding:', 'x-original-url: /v1/x\r\naccept-encoding:'],
    ['a line that is no field', 'accept-encoding:', 'nonsense\r\naccept-encoding:'],
    ['a folded line', 'accept-encoding:', ' folded\r\naccept-encoding:'],
    ['a request behind it', /$/, 'DELETE /v1/orders/a HTTP/1.1\r\n\r\n'],
    ['a request before it', /^/, 'GET /v1/orders/a HTTP/1.1\r\n\r\n'],
    ['no end', /\r\n$/, ''],
    ['bare line feeds', /\r\n/g, '\n'],
    ['nothing at all', /^.*$/s, ''],
  ])('%s', (_, from, to) => {
    expect(withHead(from, to)).toBeNull()
  })

  it('another host and what this hop alone says are not compared', () => {
    expect(withHead('orders.test', 'elsewhere.test')).toBe('pay_order')
    expect(withHead('accept-encoding: identity', 'accept-encoding: gzip')).toBe('pay_order')
  })

  it('a guarded route is matched by the tool that the guard named', () => {
    const guarded = judged(httpCall('POST', '/any', {}, { tool: 'guarded' }))
    expect(executedAction(writtenOf(guarded), guarded)).toBe('guarded')
    const wroteElse = { ...writtenOf(guarded), head: writtenOf(guarded).head.replace('any', 'all') }
    expect(executedAction(wroteElse, guarded)).toBeNull()
  })

  it('the action is the matching rule’s, whatever the rule it was judged under says', () => {
    const claims = { ...pay, rule: { ...pay.rule, action: 'harmless' } }
    expect(executedAction(wrote, claims)).toBe('pay_order')
  })

  it.each([
    ['no rule any more', 'none: {match: "GET /v1/orders/{order}", args: {order: string}}'],
    ['another rule', 'other: {match: "POST /v1/orders/{order}/pay", args: {order: string}}'],
  ])('%s matches it', (_, tool) => {
    const router = routerOf(`id: com.acme.changed\ntools:\n  ${tool}\n`)
    expect(executedAction(wrote, { ...pay, router })).toBeNull()
  })

  it('the call went to another upstream than its rule’s', () => {
    const call = { ...httpCall('POST', '/v1/orders/a/pay', { amount: '1.00' }), upstream: 'b' }
    expect(executedAction(wrote, { ...pay, call })).toBeNull()
  })
})

// ── MCP ──────────────────────────────────────────────────────────────────────
type Message = { name: string; given: string; more?: string; meta?: string }
/** As the mount writes a call of a tool. */
const toolCall = ({ name, given, more = '', meta = '' }: Message) => {
  const members = [
    `"name":${JSON.stringify(name)}`,
    ...(given === '' ? [] : [`"arguments":${given}`]),
    ...(more === '' ? [] : [more]),
    ...(meta === '' ? [] : [`"_meta":{${meta}}`]),
  ]
  return {
    call: judged(mcpCall('desk', 'tools/call', name, given, { more, meta })),
    octets: requestOctets(7, 'tools/call', `{${members.join(',')}}`),
  }
}
const anyText = fc.string({ unit: 'grapheme', maxLength: 8 })
const messages = fc
  .record({
    name: fc.oneof(
      fc.constantFrom('pay', 'refund'),
      fc.tuple(segment).map(([rest]) => `note_${rest}`),
    ),
    given: fc.oneof(
      fc.constant(''),
      fc
        .record({ amount: fc.stringMatching(/^[1-9]{1,4}\.[0-9]{2}$/), n: anyText })
        .map((value) => JSON.stringify(value)),
      fc.constantFrom('{ "amount" : "1.00" }', '{"amount":"1.00","deep":[{"a":null},1e2]}'),
    ),
    more: fc.constantFrom('', '"task":{}', '"task": {"ttl":1},"requestState":"s"'),
    meta: fc.constantFrom('', '"traceparent":"00-aa"'),
  })
  .map(toolCall)
const mcp = (octets: Uint8Array): Wrote => ({ kind: 'mcp', octets })
const textOf = (octets: Uint8Array): string => Buffer.from(octets).toString()

type Rpc = { id?: unknown; params?: { _meta?: unknown } }
const boundOf = (octets: Uint8Array): unknown => {
  const { id: _id, params: { _meta, ...params } = {}, ...rest } = JSON.parse(textOf(octets)) as Rpc
  return { ...rest, params }
}

describe('a message that was written as it was judged', () => {
  it('has the action of its rule', () => {
    fc.assert(
      fc.property(messages, ({ call, octets }) => {
        expect(executedAction(mcp(octets), call)).toBe(call.rule.action)
      }),
      RUNS,
    )
  })

  it.each<readonly [string, string, string | null, string, string]>([
    ['resources/read', 'page', 'file:///pages/a', '', '{"uri":"file:///pages/a"}'],
    [
      'prompts/get',
      'greeting',
      'greeting',
      '{"a":"b"}',
      '{"name":"greeting","arguments":{"a":"b"}}',
    ],
    ['tasks/get', 'tasks', null, '{"taskId":"t"}', '{"taskId":"t","_meta":{"progressToken":7}}'],
    ['tasks/list', 'tasks', null, '', '{}'],
  ])('%s', (method, tool, name, given, params) => {
    const call = judged(mcpCall('desk', method, name, given))
    expect(executedAction(mcp(requestOctets(1, method, params)), call)).toBe(`desk.${tool}`)
    const other = params.replace('"t"', '"u"').replace('pages/a', 'pages/b').replace('"b"', '"c"')
    if (other !== params) {
      expect(executedAction(mcp(requestOctets(1, method, other)), call)).toBeNull()
    }
    const added = params.replace('{', '{"cursor":"x",').replace(',}', '}')
    expect(executedAction(mcp(requestOctets(1, method, added)), call)).toBeNull()
  })
})

describe('a message that was changed before it was written has no action', () => {
  it('in any octet that is not its id, its _meta or a space between members', () => {
    fc.assert(
      fc.property(messages, edit, ({ call, octets }, { at, by }) => {
        const changed = Buffer.from(edited(textOf(octets), at % octets.length, by))
        fc.pre(!changed.equals(octets))
        const action = executedAction(mcp(changed), call)
        if (action === null) return
        expect(action).toBe(call.rule.action)
        expect(boundOf(changed)).toEqual(boundOf(octets))
      }),
      { numRuns: draws(20_000, 2_000) },
    )
  })

  it('in any octet of its arguments', () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), (message, place, by) => {
        const { call, octets } = message
        const { bytes } = call.call.kind === 'mcp' ? call.call.body : { bytes: utf8('') }
        fc.pre(bytes.length > 0)
        const start = Buffer.from(octets).indexOf('"arguments":') + '"arguments":'.length
        const changed = Uint8Array.from(octets)
        const at = start + (place % bytes.length)
        changed[at] = ((changed[at] ?? 0) + by) & 255
        expect(executedAction(mcp(changed), call)).toBeNull()
      }),
      RUNS,
    )
  })

  const { call, octets } = toolCall({ name: 'pay', given: '{"amount":"1.00"}', more: '"task":{}' })
  const text = textOf(octets)
  it.each<readonly [string, string | RegExp, string]>([
    ['another method', 'tools/call', 'tools/list'],
    ['another tool', '"pay"', '"refund"'],
    ['a tool of no rule', '"pay"', '"payout"'],
    ['other arguments', '1.00', '9.00'],
    ['arguments in another spelling', '{"amount"', '{ "amount"'],
    ['the arguments twice', '"arguments"', '"arguments":{},"arguments"'],
    ['no arguments', /"arguments":\{[^}]*\},/, ''],
    ['the name twice', '"name"', '"name":"refund","name"'],
    ['a member beside them', '"task":{}', '"task":{},"more":1'],
    ['no task', ',"task":{}', ''],
    ['another task', '"task":{}', '"task":{"ttl":1}'],
    ['a notification', '"id":7,', ''],
    ['another version', '"2.0"', '"1.0"'],
    ['a batch', /^(.*)$/, '[$1]'],
    ['two messages', /$/, '\n{"jsonrpc":"2.0","id":8,"method":"ping"}'],
    ['a line break within', '"params":', '"params":\n'],
    ['a carriage return within', '"params":', '"params":\r'],
    ['a byte order mark', /^/, '\ufeff'],
    ['nothing', /^.*$/, ''],
  ])('%s', (_, from, to) => {
    const changed = text.replace(from, to)
    expect(changed).not.toBe(text)
    expect(executedAction(mcp(utf8(changed)), call)).toBeNull()
  })

  it('its id and its _meta are the gate’s own, and not compared', () => {
    expect(executedAction(mcp(utf8(text.replace('"id":7', '"id":8'))), call)).toBe(call.rule.action)
    const traced = text.replace(',"task"', ',"_meta":{"progressToken":7},"task"')
    expect(executedAction(mcp(utf8(traced)), call)).toBe(call.rule.action)
  })
})

// ── Either ───────────────────────────────────────────────────────────────────
describe('whatever was written', () => {
  const pay = judged(httpCall('POST', '/v1/orders/a/pay', { amount: '1.00' }))
  const tool = toolCall({ name: 'pay', given: '{"amount":"1.00"}' })

  it('is answered without throwing, and nothing foreign has an action', () => {
    const octets = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((json) => utf8(json)),
      fc.constant(tool.octets),
    )
    const head = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }).map((text) => `POST ${text} HTTP/1.1\r\n\r\n`),
      fc.string({ unit: 'binary' }).map((text) => `POST /v1/orders/${text}/pay HTTP/1.1\r\n\r\n`),
    )
    fc.assert(
      fc.property(head, octets, (text, bytes) => {
        for (const wrote of [mcp(bytes), { kind: 'http', head: text, body: bytes } as const]) {
          expect(executedAction(wrote, pay)).toBeNull()
          const isIts = wrote.kind === 'mcp' && bytes === tool.octets
          expect(executedAction(wrote, tool.call)).toBe(isIts ? tool.call.rule.action : null)
        }
      }),
      { numRuns: draws(20_000, 2_000) },
    )
  })

  it.each([
    ['brackets', '['.repeat(100_000)],
    ['objects', '{"a":'.repeat(100_000)],
    ['objects in params', `{"jsonrpc":"2.0","id":7,"params":${'{"a":'.repeat(100_000)}`],
    ['lines', '\r\n'.repeat(100_000)],
    ['fields', `POST /v1/orders/a/pay HTTP/1.1\r\n${'a: b\r\n'.repeat(100_000)}\r\n`],
    ['segments', `POST ${'/a'.repeat(100_000)} HTTP/1.1\r\n\r\n`],
  ])('however many %s it has', (_, text) => {
    expect(executedAction(mcp(utf8(text)), tool.call)).toBeNull()
    const wrote = { kind: 'http', head: text, body: new Uint8Array() } as const
    expect(executedAction(wrote, pay)).toBeNull()
  })

  it('over another way than the call goes has no action', () => {
    expect(executedAction(mcp(tool.octets), pay)).toBeNull()
    expect(executedAction(writtenOf(pay), tool.call)).toBeNull()
  })

  it('a function’s call is written by nobody', () => {
    const { caller } = pay.call
    const call: ReadCall = {
      kind: 'function',
      tool: 'guarded',
      argumentsJson: utf8('{"order":"a"}'),
      caller,
      idempotencyKey: null,
      approvalId: null,
      waitSeconds: 0,
    }
    expect(executedAction(writtenOf(pay), { ...pay, call })).toBeNull()
  })
})
