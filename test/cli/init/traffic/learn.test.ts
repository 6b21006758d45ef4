import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { writeManifest } from '../../../../src/cli/init/draft.js'
import { createLearner, type Observed } from '../../../../src/cli/init/traffic/learn.js'
import { createRehearsal } from '../../../../src/cli/init/traffic/rehearse.js'
import { looksLikeId } from '../../../../src/cli/init/traffic/shape.js'
import { utf8 } from '../../../../src/core/bytes/text.js'
import { runTests } from '../../../../src/core/manifest/constraint/run-tests.js'
import { httpMatchOf } from '../../../../src/core/manifest/model.js'
import { manifestOf, problemsOf } from '../../../support/manifests.js'

const observed = (method: string, target: string, body?: unknown): Observed => ({
  method,
  target,
  contentType: body === undefined ? null : 'application/json',
  body: utf8(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)),
})

function learn(...calls: readonly Observed[]) {
  const learner = createLearner()
  for (const call of calls) learner.see(call)
  const { tools, lost } = learner.tools()
  const written = writeManifest('com.example.api', tools)
  return { ...written, lost: [...lost, ...written.lost] }
}

/** name → type, with ? where optional, of the one tool learned. */
function argsOf(...calls: readonly Observed[]): Readonly<Record<string, string>> {
  const [rule] = manifestOf(learn(...calls).text).rules
  return Object.fromEntries(
    Object.entries(rule?.args ?? {}).map(([name, { type, optional }]) => [
      name,
      `${type}${optional ? '?' : ''}`,
    ]),
  )
}

describe('path shapes', () => {
  it.each([
    '7',
    '018f3c5e-7b1a-7cc0-9f00-00000000abcd',
    'deadbeefdeadbeef',
    'cus_9s6XKzkNRiz8i3',
    'ord_17',
    'OPS-1041',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    '2026-01-31',
  ])('%s is an id', (text) => expect(looksLikeId(text)).toBe(true))

  it.each(['v1', 'orders', 'bulk_export', 'api_v2', 'utf-8', 'facade', 'oauth2', 'line-items', ''])(
    '%s is a part of the API',
    (text) => expect(looksLikeId(text)).toBe(false),
  )

  it('calls that differ in ids are one tool, and a literal beside an id is reached first', () => {
    const { text } = learn(
      observed('GET', '/v1/orders/ord_17/lines/3'),
      observed('GET', '/v1/orders/ord_99/lines/4'),
      observed('GET', '/v1/orders/7'),
      observed('GET', '/v1/orders/export'),
      observed('DELETE', '/v1/companies/7'),
      observed('GET', '/'),
    )
    expect(
      manifestOf(text).rules.map(
        (rule) => `${httpMatchOf(rule)?.method} ${httpMatchOf(rule)?.path}`,
      ),
    ).toEqual([
      'DELETE /v1/companies/{company_id}',
      'GET /',
      'GET /v1/orders/export',
      'GET /v1/orders/{order_id}',
      'GET /v1/orders/{order_id}/lines/{line_id}',
    ])
  })
})

describe('arguments', () => {
  it('have the narrowest type that fits all, and are optional when one call was without', () => {
    expect(
      argsOf(
        observed('POST', '/r?dry=true&page=1&q=a', {
          amount: '12.50',
          n: 1,
          rate: 1,
          code: '12',
          ok: true,
          tags: ['a'],
          to: { zip: '1' },
        }),
        observed('POST', '/r?dry=false&page=2', {
          amount: '0.99',
          n: 2,
          rate: 1.5,
          code: '13',
          ok: false,
          tags: [],
          to: null,
          note: 'x',
        }),
      ),
    ).toEqual({
      dry: 'boolean',
      page: 'integer',
      q: 'string?',
      amount: 'decimal',
      n: 'integer',
      rate: 'decimal',
      code: 'string',
      ok: 'boolean',
      tags: 'strings',
      to_zip: 'string?',
      note: 'string?',
    })
  })

  it.each<[string, readonly Observed[], RegExp]>([
    [
      'two types',
      [observed('POST', '/r', { a: 1 }), observed('POST', '/r', { a: 'x' })],
      /\/a: no/,
    ],
    [
      'an object and a text',
      [observed('POST', '/r', { a: { b: 1 } }), observed('POST', '/r', { a: 'x' })],
      /\/a: it is not always one type/,
    ],
    ['two spellings', [observed('POST', '/r', { a: 1, A: 2 })], /\/a: it is also spelled \/A/],
    ['an exponent', [observed('POST', '/r', '{"a":1e3}')], /\/a: no one type/],
    ['a list of numbers', [observed('POST', '/r', { a: [1] })], /\/a: no one type/],
    ['a name in query and body', [observed('POST', '/r?a=1', { a: 1 })], /\/a: the query has it/],
    ['a name twice in a query', [observed('GET', '/r?a=1&A=2')], /query a: it is in one query/],
    ['a list in a query', [observed('GET', '/r?a[]=1')], /query a: a list/],
    ['a semicolon', [observed('GET', '/r?a=1;b=2')], /a query with a raw ";"/],
    ['a list for a body', [observed('POST', '/r', [1])], /no JSON object/],
    ['only null', [observed('POST', '/r', { a: null })], /\/a: only null/],
  ])('%s: is told and not read, and the calls still pass', (_name, calls, told) => {
    const { text, lost } = learn(...calls)
    expect(lost.join('\n')).toMatch(told)
    const rehearse = createRehearsal(text)
    expect(calls.map(rehearse)).toEqual(calls.map(() => null))
  })

  it('no bound is written; the largest seen stands in comments that load once uncommented', () => {
    const { text } = learn(
      observed('POST', '/r', { amount: '12.50', n: 3 }),
      observed('POST', '/r', { amount: '7.00', n: 9, tip: 1.5 }),
    )
    expect(manifestOf(text).constraints).toEqual({})
    const bounded = text.replace(/^( *)# .*as bounds:\n/m, '').replace(/^( *)# /gm, '$1')
    const { constraints } = manifestOf(bounded)
    expect(Object.keys(constraints)).toEqual([
      'com.example.api.post_r_amount',
      'com.example.api.post_r_n',
      'com.example.api.post_r_tip',
    ])
    expect(JSON.stringify(constraints)).toMatch(/"12\.5".*9.*"1\.5"/)
  })

  it('the test is the first call of the tool, without what looks like a secret', () => {
    const { text } = learn(
      observed('POST', '/login/7', { user: 'ann', password: 'hunter2', n: 1 }),
      observed('POST', '/login/8', { user: 'bob', password: 'pass', n: 2 }),
    )
    expect(manifestOf(text).tests).toEqual([
      {
        tool: 'post_login_id',
        args: { login_id: 7, user: 'ann', password: 'withheld', n: 1 },
        expect: { verdict: 'pass' },
      },
    ])
    expect(text).not.toContain('hunter2')
  })

  it('past 256 kinds of path the rest is counted, not written', () => {
    const slugs = Array.from({ length: 260 }, (_, n) =>
      observed(
        'GET',
        `/p/${'abcdefghijklmnopqrst'[n % 20]}-${'abcdefghijklm'[Math.floor(n / 20)]}`,
      ),
    )
    const learner = createLearner()
    for (const call of slugs) learner.see(call)
    const { tools, lost } = learner.tools()
    expect([tools.length, lost]).toEqual([256, ['4 calls: left out: over 256 kinds of path']])
  })
})

/** Names that servers confuse, values at the edges of types. */
const name = fc.oneof(
  fc.constantFrom(
    'a',
    'A',
    'id',
    'ID',
    '__proto__',
    'constructor',
    'a/b',
    '~',
    '',
    'ſ',
    's',
    'r_id',
  ),
  fc.string({ maxLength: 4, unit: 'grapheme' }),
)
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    'true',
    0,
    -0,
    1.5,
    1e21,
    '1.50',
    '07',
    '',
    2 ** 53,
    [],
    ['x'],
  ),
  fc.integer(),
  fc.string({ maxLength: 5, unit: 'grapheme' }),
  fc.array(fc.integer(), { maxLength: 2 }),
)
const { object } = fc.letrec<{ object: Record<string, unknown>; member: unknown }>((tie) => ({
  member: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('object')),
  object: fc.dictionary(name, tie('member'), { maxKeys: 4 }),
}))
const query = fc
  .array(fc.tuple(name, fc.oneof(fc.constantFrom('1', 'true', '1.5', 'x y', ''), name)), {
    maxLength: 3,
  })
  .map((pairs) => new URLSearchParams(pairs).toString())
const call = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'OPTIONS'),
    path: fc.constantFrom('/', '/r', '/r/1', '/r/ord_12', '/r/r/7', '/1/r', '/1/2', '/r/caf%C3%A9'),
    query,
    body: fc.oneof(
      { weight: 6, arbitrary: object },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, '{', [1], 'null') },
    ),
  })
  .map(({ method, path, query: text, body }) =>
    observed(method, text === '' ? path : `${path}?${text}`, body),
  )

describe('whatever was seen', () => {
  it('the manifest loads, its tests hold, and it reads every call it was made from', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 6 }), (calls) => {
        const { text, tools, lost } = learn(...calls)
        expect(problemsOf(text)).toEqual([])
        expect(lost.filter((line) => /: left out/.test(line))).toEqual([])
        const untested = tools.filter(({ tests }) => tests.length !== 1).length
        const told = lost.filter((line) => /: no test was written/.test(line)).length
        expect([tools.length > 0, untested]).toEqual([true, told])
        expect(runTests(manifestOf(text), nodeCrypto)).toEqual([])
        const rehearse = createRehearsal(text)
        for (const each of calls) expect([each.target, rehearse(each)]).toEqual([each.target, null])
      }),
      { numRuns: 200 },
    )
  })

  it('the order of the calls changes no tool, type or optionality', () => {
    const facts = (calls: readonly Observed[]) =>
      createLearnerFacts(calls).sort((a, b) => (a < b ? -1 : 1))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('/r', '/r/1'), fc.record({ a: leaf, b: leaf })), {
          minLength: 1,
          maxLength: 5,
        }),
        (pairs) => {
          const calls = pairs.map(([path, body]) => observed('POST', path, body))
          expect(facts([...calls].reverse())).toEqual(facts(calls))
        },
      ),
    )
  })
})

function createLearnerFacts(calls: readonly Observed[]): string[] {
  const learner = createLearner()
  for (const each of calls) learner.see(each)
  return learner
    .tools()
    .tools.map(
      ({ match, args }) =>
        `${JSON.stringify(match)} ${JSON.stringify(Object.entries(args).sort())}`,
    )
}
