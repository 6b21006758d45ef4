import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { utf8 } from '../../../../src/core/bytes/text.js'
import type { Header, HttpCall, ReadCall } from '../../../../src/core/call/call.js'
import { match } from '../../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../../src/core/manifest/route/read-args.js'
import { httpCall, routerOf } from '../../../support/manifests.js'

const router = routerOf(`id: com.acme.api
tools:
  pay:
    match: "POST /v1/{account}/pay"
    args:
      account: string
      amount: decimal
      count: "integer?"
      ok: "boolean?"
      tags: "strings?"
      deep: {type: string, body: /a~1b/1/c, optional: true}
      mark: {type: string, header: X-Mark, optional: true}
  list:
    match: GET /v1/list
    args: {q: string, limit: "integer?", all: "boolean?", min: "decimal?"}
  upload: {match: POST /v1/upload, also: {body: any}}
  call: {args: {order: string}}
`)

function read(call: ReadCall) {
  const matched = match(router, call)
  if (!matched.ok) throw new Error(matched.detail)
  return readArgs(matched, call)
}
const code = (call: ReadCall): string => {
  const answer = read(call)
  return answer.ok ? 'ok' : answer.code
}
const pay = (body: unknown, headers: readonly Header[] = [['content-type', 'application/json']]) =>
  httpCall('POST', '/v1/acc/pay', body, { headers })
const values = (call: ReadCall) => {
  const answer = read(call)
  if (!answer.ok) throw new Error(answer.detail)
  return Object.fromEntries([...answer.args].map(([name, { value }]) => [name, value]))
}

describe('arguments', () => {
  it('are read from path, body and header, exactly', () => {
    const call = pay(
      '{"amount":100000000000000000000.10,"count":9007199254740993,"ok":false,"tags":[],"a/b":[0,{"c":"x"}]}',
      [
        ['content-type', 'application/vnd.acme+json; charset="UTF-8"'],
        ['x-mark', 'm'],
      ],
    )
    expect(values(call)).toEqual({
      account: 'acc',
      amount: '100000000000000000000.1',
      count: 9007199254740993n,
      ok: false,
      tags: [],
      deep: 'x',
      mark: 'm',
    })
  })

  it('are read from the query', () => {
    expect(values(httpCall('GET', '/v1/list?q=a+b%2Bc&limit=5&all=true&min=1.50'))).toEqual({
      q: 'a b+c',
      limit: 5n,
      all: true,
      min: '1.5',
    })
  })

  it('are read from the JSON of a function call', () => {
    const call: ReadCall = {
      ...httpCall('POST', '/'),
      kind: 'function',
      tool: 'call',
      argumentsJson: utf8('{"order":"o"}'),
    }
    expect(values(call)).toEqual({ order: 'o' })
    expect(code({ ...call, argumentsJson: utf8('{"order":"o","order":"p"}') })).toBe(
      'body_unreadable',
    )
  })

  it('leave a body that no rule reads alone', () => {
    const call = httpCall('POST', '/v1/upload', Uint8Array.from([0xff, 0xfe]), {
      headers: [
        ['content-type', 'image/png'],
        ['content-encoding', 'gzip'],
      ],
    })
    expect(code(call)).toBe('ok')
  })

  it('take the spelling of an amount away, so that two spellings are one value', () => {
    expect(['10', '10.0', '10.00'].map((amount) => values(pay({ amount })).amount)).toEqual([
      '10',
      '10',
      '10',
    ])
  })
})

describe('a body is unreadable', () => {
  it.each<[string, unknown, Header[]]>([
    ['without a content-type', { amount: '1' }, []],
    ['as text', { amount: '1' }, [['content-type', 'text/plain']]],
    ['as a form', 'amount=1', [['content-type', 'application/x-www-form-urlencoded']]],
    ['as a list of types', { amount: '1' }, [['content-type', 'application/json, text/plain']]],
    ['as application/jsonx', { amount: '1' }, [['content-type', 'application/jsonx']]],
    [
      'with two content-types',
      { amount: '1' },
      [
        ['content-type', 'application/json'],
        ['content-type', 'application/json'],
      ],
    ],
    ['in another charset', { amount: '1' }, [['content-type', 'application/json; charset=utf-16']]],
    [
      'with two charsets',
      { amount: '1' },
      [['content-type', 'application/json; charset=utf-8; charset=utf-7']],
    ],
    [
      'with a charset in disguise',
      { amount: '1' },
      [['content-type', 'application/json; charset =utf-7']],
    ],
    [
      'with a content-coding',
      { amount: '1' },
      [
        ['content-type', 'application/json'],
        ['content-encoding', 'gzip'],
      ],
    ],
    [
      'with the identity coding named',
      { amount: '1' },
      [
        ['content-type', 'application/json'],
        ['content-encoding', 'identity'],
      ],
    ],
    ['with a byte order mark', '\ufeff{"amount":"1"}', [['content-type', 'application/json']]],
    ['in UTF-16', Uint8Array.from([0x7b, 0, 0x7d, 0]), [['content-type', 'application/json']]],
    [
      'in broken UTF-8',
      Uint8Array.from([0x22, 0xff, 0x22]),
      [['content-type', 'application/json']],
    ],
    ['with a name twice', '{"amount":"1","amount":"9"}', [['content-type', 'application/json']]],
    [
      'with a name twice by escape',
      '{"amount":"1","amoun\\u0074":"9"}',
      [['content-type', 'application/json']],
    ],
    ['with text behind', '{"amount":"1"}{"amount":"9"}', [['content-type', 'application/json']]],
    ['empty', '', [['content-type', 'application/json']]],
    ['nested ten thousand deep', '['.repeat(10_000), [['content-type', 'application/json']]],
  ])('%s', (_name, body, headers) => {
    expect(code(pay(body, headers))).toBe('body_unreadable')
  })

  it('when it is not there, at compile time', () => {
    const cut: HttpCall = { ...pay({}), body: { kind: 'aborted' } }
    // @ts-expect-error only a call whose body was read can be asked for its arguments
    expect(() => code(cut)).toThrow()
  })
})

describe('an argument is refused', () => {
  it.each<[string, unknown, string]>([
    ['missing', {}, 'arg_missing'],
    ['null', { amount: null }, 'arg_missing'],
    ['a body that is a list', ['1'], 'arg_missing'],
    ['an exponent', '{"amount":1e3}', 'arg_type'],
    ['an exponent in text', { amount: '1e3' }, 'arg_type'],
    ['a plus', { amount: '+1' }, 'arg_type'],
    ['a leading zero', { amount: '01' }, 'arg_type'],
    ['a separator', { amount: '1,000' }, 'arg_type'],
    ['spaces', { amount: ' 1' }, 'arg_type'],
    ['other digits', { amount: '１' }, 'arg_type'],
    ['seventy digits', { amount: '1'.repeat(70) }, 'arg_type'],
    ['a list for an amount', { amount: ['1'] }, 'arg_type'],
    ['an object for an amount', { amount: { $gt: 1 } }, 'arg_type'],
    ['a fraction for an integer', '{"amount":"1","count":1.0}', 'arg_type'],
    ['text for an integer', { amount: '1', count: '1' }, 'arg_type'],
    ['text for a boolean', { amount: '1', ok: 'true' }, 'arg_type'],
    ['a number among strings', { amount: '1', tags: ['a', 1] }, 'arg_type'],
    ['text for strings', { amount: '1', tags: 'a' }, 'arg_type'],
    ['a second spelling beside it', { amount: '1', Amount: '9' }, 'arg_ambiguous'],
    ['a second spelling instead of an optional one', { amount: '1', COUNT: 9 }, 'arg_ambiguous'],
    ['a long s', { amount: '1', tagſ: ['x'] }, 'arg_ambiguous'],
    ['a Kelvin sign', { amount: '1', o\u212a: true }, 'arg_ambiguous'],
  ])('%s', (_name, body, expected) => {
    expect(code(pay(body))).toBe(expected)
  })

  it.each([
    ['/v1/list', 'arg_missing'],
    ['/v1/list?q=1&q=2', 'arg_ambiguous'],
    ['/v1/list?q=1&%71=2', 'arg_ambiguous'],
    ['/v1/list?q=1&Q=2', 'arg_ambiguous'],
    ['/v1/list?Q=2', 'arg_ambiguous'],
    ['/v1/list?q[]=2', 'arg_ambiguous'],
    ['/v1/list?q=1&q[0]=2', 'arg_ambiguous'],
    ['/v1/list?q=1;q=2', 'arg_ambiguous'],
    ['/v1/list?q=1&limit=1.0', 'arg_type'],
    ['/v1/list?q=1&limit=1e3', 'arg_type'],
    ['/v1/list?q=1&limit=', 'arg_type'],
    ['/v1/list?q=1&all=TRUE', 'arg_type'],
    ['/v1/list?q=1&_method=DELETE', 'arg_ambiguous'],
  ])('in %s', (target, expected) => {
    expect(code(httpCall('GET', target))).toBe(expected)
  })

  it.each(['?amount=9', '?Amount=9', '?amount[]=9', '?account=b', '?c=9'])(
    'given a second time in the query %s',
    (query) => {
      expect(code(httpCall('POST', `/v1/acc/pay${query}`, { amount: '1' }))).toBe('arg_ambiguous')
    },
  )

  it('in a header that occurs twice', () => {
    const call = pay({ amount: '1' }, [
      ['content-type', 'application/json'],
      ['x-mark', 'a'],
      ['x-mark', 'b'],
    ])
    expect(code(call)).toBe('arg_ambiguous')
  })
})

describe('any body and query', () => {
  it('end in arguments or a refusal, never in a throw', () => {
    const member = fc.oneof(
      fc.constantFrom('amount', 'Amount', 'count', 'tags', 'a/b', '__proto__'),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.dictionary(member, fc.jsonValue()), fc.webQueryParameters(), (body, query) => {
        const call = httpCall('POST', `/v1/acc/pay?${query}`, body)
        const matched = match(router, call)
        if (!matched.ok) return
        const answer = readArgs(matched, call)
        if (answer.ok) expect(answer.args.get('amount')?.type).toBe('decimal')
        else expect(answer.detail).not.toBe('')
      }),
      { numRuns: 3000 },
    )
  })
})
