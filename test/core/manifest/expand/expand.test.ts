import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { readYaml } from '../../../../src/config/yaml.js'
import { expand, manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import { expandText, manifestOf, PAYMENTS, problemsOf } from '../../../support/manifests.js'

const tool = (lines: string): string => `id: com.acme.x\ntools:\n  t:\n${indent(lines)}`
const indent = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')

describe('the manifest of the design page', () => {
  const manifest = manifestOf(PAYMENTS)
  const [rule] = manifest.rules

  it('expands every short form', () => {
    expect(manifest).toMatchObject({
      manifest: 'gate.constraints/v2',
      version: '1',
      mode: 'enforce',
      default: { no_match: 'deny' },
      upstream: 'default',
    })
    expect(rule).toMatchObject({
      tool: 'create_refund',
      match: { method: 'POST', path: '/v1/refunds' },
      action: 'create_refund',
      resource: 'create_refund',
      effect: {
        type: 'com.acme.payments.create_refund',
        irreversibility_class: 'one_way_consequential',
      },
      success: { status: ['200-299'], unless: [] },
      deadlines: { connect_ms: 5000, first_byte_ms: 30000, total_ms: 60000 },
      also: { query: [], body: [] },
      connection: 'fresh',
      capture: 'digest',
      constraints: ['com.acme.payments.amount_cap', 'com.acme.payments.known_currency'],
    })
    expect(rule?.args.amount).toEqual({
      type: 'decimal',
      optional: false,
      from: { in: 'body', pointer: '/amount' },
    })
    expect(manifest.constraints['com.acme.payments.amount_cap']).toMatchObject({
      on_fail: 'block',
      on_error: 'block',
      select: { amount: 'amount' },
      thresholds: { amount_lte: '500.00' },
      predicate: {
        kind: 'decimal_compare',
        input: 'amount',
        op: 'lte',
        to: { threshold: 'amount_lte' },
      },
    })
  })

  it('expands to a manifest that expands to itself, with the same digest', () => {
    const again = manifestOf(JSON.stringify(manifest))
    expect(JSON.parse(JSON.stringify(again))).toEqual(JSON.parse(JSON.stringify(manifest)))
    expect(manifestDigest(again, nodeCrypto)).toBe(manifestDigest(manifest, nodeCrypto))
  })

  it('changes its digest with any threshold', () => {
    const other = manifestOf(PAYMENTS.replace('500.00', '500.01'))
    expect(manifestDigest(other, nodeCrypto)).not.toBe(manifestDigest(manifest, nodeCrypto))
  })

  it('expands to itself also for a tool that is called by name', () => {
    const byName = manifestOf(tool('args: {order: string}'))
    expect(JSON.stringify(manifestOf(JSON.stringify(byName)))).toBe(JSON.stringify(byName))
  })

  it('is frozen through and through', () => {
    expect(() => {
      Object.assign(manifest.constraints['com.acme.payments.amount_cap']?.thresholds ?? {}, {
        amount_lte: '9999999',
      })
    }).toThrow(TypeError)
  })
})

describe('argument places', () => {
  const args = (match: string, list: string) =>
    manifestOf(tool(`match: ${match}\nargs: ${list}`)).rules[0]?.args

  it.each([
    ['POST /v1/{order}/refunds', { in: 'path', name: 'order' }],
    ['PUT /v1', { in: 'body', pointer: '/order' }],
    ['GET /v1', { in: 'query', name: 'order' }],
    ['HEAD /v1', { in: 'query', name: 'order' }],
    ['DELETE /v1', { in: 'query', name: 'order' }],
  ])('by default for %s', (match, from) => {
    expect(args(match, '{order: string}')?.order?.from).toEqual(from)
  })

  it.each([
    ['{type: string, body: /a~1b/0}', { in: 'body', pointer: '/a~1b/0' }],
    ['{type: string, query: q}', { in: 'query', name: 'q' }],
    ['{type: string, header: X-Order}', { in: 'header', name: 'x-order' }],
    ['{type: string, from: {in: query, name: q}}', { in: 'query', name: 'q' }],
  ])('long form %s', (form, from) => {
    expect(args('POST /v1', `{order: ${form}}`)?.order?.from).toEqual(from)
  })

  it('reads `string?` as optional', () => {
    expect(args('POST /v1', '{note: "string?"}')?.note?.optional).toBe(true)
  })

  it('binds and forwards every header that an argument reads', () => {
    const rule = manifestOf(tool('match: POST /v1\nargs: {order: {type: string, header: x-order}}'))
      .rules[0]
    expect(rule?.bind_headers).toEqual(['x-order'])
    expect(rule?.forward_headers).toContain('x-order')
    expect(rule?.forward_headers).toContain('content-type')
  })

  it('has no match for a tool called by name', () => {
    expect(manifestOf(tool('args: {order: string}')).rules[0]?.match).toBeNull()
  })
})

describe('effects and connections', () => {
  it.each([
    ['two_way', 'pooled'],
    ['one_way_recoverable', 'pooled'],
    ['one_way_consequential', 'fresh'],
    ['one_way_terminal', 'fresh'],
  ])('%s gets a %s connection', (irreversibility, connection) => {
    const rule = manifestOf(tool(`match: POST /v1\nirreversibility: ${irreversibility}`)).rules[0]
    expect(rule?.connection).toBe(connection)
  })

  it.each([
    ['send_payment', 'send_payment'],
    ['wire', 'com.acme.x.wire'],
    ['org.other.wire', 'org.other.wire'],
  ])('effect %s has the type %s', (given, type) => {
    expect(manifestOf(tool(`match: POST /v1\neffect: ${given}`)).rules[0]?.effect.type).toBe(type)
  })
})

describe('refusals', () => {
  const cap = (text: string): string =>
    tool(
      `match: POST /v1\nargs: {amount: decimal, to: string, n: integer, tags: strings, ok: boolean, note: "string?"}\nconstraints:\n  c: ${text}`,
    )

  it.each([
    ['no id', 'tools: {}', 'no id'],
    [
      'an id that is not reverse-DNS',
      PAYMENTS.replace('com.acme.payments', 'payments'),
      'is not a',
    ],
    [
      'the name of the gate',
      PAYMENTS.replace('com.acme.payments', 'dev.capsulegate'),
      "gate's own",
    ],
    ['an unknown key at the top', `${PAYMENTS}colour: red\n`, 'unknown key "colour"'],
    ['an unknown key in a tool', tool('match: POST /v1\nretries: 3'), 'unknown key "retries"'],
    ['an unknown condition', cap('{amount: {under: "5"}}'), 'unknown key "under"'],
    ['an argument that is not there', cap('{amont: {lte: "5"}}'), '"amont" is no argument'],
    ['a float as amount', cap('{amount: {lte: 500.0}}'), 'no exact form'],
    ['an exponent as amount', cap('{amount: {lte: "5e2"}}'), 'exact decimal'],
    ['an integer past 2^53', cap('{n: {equals: 9007199254740993}}'), 'no exact form'],
    ['a pattern that is not linear-time', cap('{to: {matches: "(?=a)a"}}'), 'RE2'],
    ['an empty set', cap('{to: {in: []}}'), 'at least one'],
    ['a number in a set of strings', cap('{to: {in: [1]}}'), 'never equal'],
    ['equality of decimals', cap('{amount: {equals: "5.0"}}'), 'cannot read a decimal'],
    ['a pattern on a number', cap('{n: {matches: "[0-9]+"}}'), 'cannot read a integer'],
    [
      'a window inside any',
      cap('{any: [{count: {max: 1, window: 1h}}, {to: {equals: x}}]}'),
      'inside another',
    ],
    ['a schema with a remote reference', cap('{$body: {schema: {$ref: "https://x/y"}}}'), 'schema'],
    [
      'a schema with an empty member',
      cap('{$body: {schema: {type: object, properties: {a: {}}}}}'),
      'no digest shows',
    ],
    [
      'uniqueItems without a bound',
      cap('{$body: {schema: {type: array, uniqueItems: true}}}'),
      'maxItems',
    ],
    ['a host with a path', cap('{to: {host_in: ["a.com/x"]}}'), 'hosts'],
    ['an upper-case hash', cap(`{to: {sha256: "${'A'.repeat(64)}"}}`), 'hex'],
    ['a time beyond the day', cap('{time: {from: "08:00", until: "24:00"}}'), 'UTC time'],
    [
      'a reserved constraint id',
      tool(
        'match: POST /v1\nargs: {a: string}\nconstraints: {dev.capsulegate.cedar: {a: {equals: b}}}',
      ),
      'no constraint id',
    ],
    ['nothing asked', cap('{}'), 'nothing is asked'],
    [
      'also for a query in v1',
      `manifest: gate.constraints/v1\n${tool('match: GET /v1\nalso: {query: any}')}`,
      'no key of gate.constraints/v1',
    ],
    ['a word that is not any', tool('match: GET /v1\nalso: {query: all}'), 'not a known value'],
    ['the root as a pointer', tool("match: GET /v1\nalso: {body: ['']}"), 'a JSON pointer'],
    [
      'an unread body on a shared connection',
      tool('match: GET /v1\nalso: {body: any}\nconnection: pooled'),
      'may not share a connection',
    ],
    [
      'an object in a query',
      tool('match: GET /v1\nargs: {a: {type: object, query: a}}'),
      'from the body only',
    ],
    [
      'a predicate over an object',
      tool('match: POST /v1\nargs: {a: object}\nconstraints: {c: {a: {schema: {type: string}}}}'),
      'cannot read a object',
    ],
    [
      'a path parameter that is not there',
      tool('match: GET /v1\nargs: {a: {type: string, path: a}}'),
      'no {a}',
    ],
    ['a lower-case method', tool('match: post /v1'), 'upper-case'],
    ['CONNECT', tool('match: CONNECT /v1'), 'upper-case'],
    ['a dot segment', tool('match: GET /v1/../x'), 'no call can have'],
    ['a needless escape', tool('match: GET /%61'), 'no call can have'],
    ['a query in the path', tool('match: GET /v1?x=1'), 'no call can have'],
    ['half a segment as parameter', tool('match: GET /v1/a{x}'), 'no call can have'],
    [
      'a credential forwarded',
      tool('match: GET /v1\nforward_headers: [Authorization]'),
      'never forwarded',
    ],
    [
      'a method override forwarded',
      tool('match: GET /v1\nforward_headers: [X-HTTP-Method-Override]'),
      'never forwarded',
    ],
    [
      'a credential read',
      tool('match: GET /v1\nargs: {a: {type: string, header: cookie}}'),
      'never reaches',
    ],
    ['a list in the query', tool('match: GET /v1\nargs: {a: strings}'), 'body only'],
    ['no_match: allow', `default: {no_match: allow}\n${PAYMENTS}`, 'not a known value'],
    [
      'a prototype as argument name',
      tool('match: POST /v1\nargs: {__proto__: string}'),
      'no argument name',
    ],
    [
      'an unused shared constraint',
      `${PAYMENTS}constraints: {x: {amount: {lte: "1"}}}\n`,
      'no tool uses',
    ],
  ])('%s', (_name, text, message) => {
    const problems = problemsOf(text)
    expect(problems.map((problem) => problem.message).join('\n')).toContain(message)
    for (const problem of problems) expect(problem.way_out).not.toBe('')
  })

  it('names the line of an unknown key', () => {
    expect(problemsOf(tool('match: POST /v1\nretries: 3'))[0]).toMatchObject({
      path: '/tools/t/retries',
      line: 5,
      column: 5,
    })
  })

  it('reports every problem at once', () => {
    expect(problemsOf(tool('match: POST /v1\nretries: 3\ncapture: all')).length).toBe(2)
  })

  it('refuses a rule that an earlier one hides', () => {
    const text = `id: com.acme.x
tools:
  any: {match: "GET /v1/{id}"}
  one: {match: GET /v1/special}
`
    expect(problemsOf(text)[0]?.message).toContain('never reached')
  })

  it('refuses one constraint id in two tools and says how to share it', () => {
    const text = `id: com.acme.x
tools:
  a: {match: POST /a, args: {n: integer}, constraints: {cap: {n: {lte: 5}}}}
  b: {match: POST /b, args: {n: integer}, constraints: {cap: {n: {lte: 6}}}}
`
    expect(problemsOf(text)[0]?.message).toContain('twice')
  })

  it('shares a constraint written once', () => {
    const manifest = manifestOf(`id: com.acme.x
tools:
  a: {match: POST /a, args: {n: integer}, constraints: [cap]}
  b: {match: POST /b, args: {n: integer}, constraints: [cap]}
constraints:
  cap: {n: {lte: 5}}
`)
    expect(Object.keys(manifest.constraints)).toEqual(['com.acme.x.cap'])
  })

  it('refuses a shared constraint on an argument of another type', () => {
    const text = `id: com.acme.x
tools:
  a: {match: POST /a, args: {n: integer}, constraints: [cap]}
  b: {match: POST /b, args: {n: string}, constraints: [cap]}
constraints:
  cap: {n: {lte: 5}}
`
    expect(problemsOf(text)[0]?.message).toContain('cannot read a string')
  })
})

describe('hostile YAML', () => {
  const laughs = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefghij'
      .split('')
      .map((name, i) => `${name}: &${name} [${`*${'abcdefghi'[i]},`.repeat(9).slice(0, -1)}]`),
  ].join('\n')

  it.each([
    ['billion laughs', laughs],
    ['an alias cycle', 'id: &a [*a]'],
    ['an anchor nobody uses', 'id: &a com.acme.x'],
    ['a merge key', 'a: &x {b: 1}\nc: {<<: *x}'],
    ['a duplicate key', 'id: com.acme.x\nid: com.acme.y'],
    ['a duplicate key under another escape', '{"id": "a", "\\u0069d": "b"}'],
    ['a local tag', 'id: !secret x'],
    ['a core tag', 'id: !!str 5'],
    ['a binary tag', 'id: !!binary aGk='],
    ['a tag directive', '%TAG ! tag:example.com,2000:\n---\nid: !x y'],
    ['YAML 1.1', '%YAML 1.1\n---\nid: yes'],
    ['two documents', 'id: a\n---\nid: b'],
    ['a hexadecimal number', 'id: 0x10'],
    ['an octal number', 'id: 0o10'],
    ['infinity', 'id: .inf'],
    ['not a number', 'id: .nan'],
    ['a number with a plus', 'id: +1'],
    ['a name that is a number', '1: x'],
    ['a name that is a list', '? [a]\n: x'],
    ['a name that is null', '? \n: x'],
    ['a tab as indentation', 'a:\n\tb: 1'],
    ['100,000 brackets', '['.repeat(100_000)],
    ['100,000 dashes', '- '.repeat(100_000)],
    ['two megabytes', `id: ${'x'.repeat(2_000_000)}`],
    ['half a surrogate pair', 'id: "\\ud800"'],
  ])('%s is refused as a value', (_name, text) => {
    const read = readYaml(text)
    expect(read.ok).toBe(false)
    if (!read.ok) expect(read.problems[0]?.way_out).not.toBe('')
  })

  it('keeps words of YAML 1.1 as text', () => {
    const read = readYaml('[no, yes, on, off, 12:30:00, 2026-01-01, ~, true]')
    expect(read.ok && read.tree.value).toEqual([
      'no',
      'yes',
      'on',
      'off',
      '12:30:00',
      '2026-01-01',
      null,
      true,
    ])
  })

  it('sixty thousand names take no quadratic time to compare', () => {
    const text = Array.from({ length: 60_000 }, (_, n) => `k${n}: 1`).join('\n')
    expect(readYaml(text).ok).toBe(true)
    expect(readYaml(`${text}\nk5: 1`).ok).toBe(false)
  })

  it('takes __proto__ as data', () => {
    const read = readYaml('__proto__: {polluted: true}')
    expect(read.ok && read.tree.value).toEqual(
      new Map([['__proto__', new Map([['polluted', true]])]]),
    )
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('expands any tree without throwing', () => {
    for (const text of [
      '',
      'null',
      '[]',
      '5',
      'x',
      '{}',
      'id: []',
      'tools: 5',
      'id: com.acme.x\ntools: [a]',
      'id: com.acme.x\nrules: {a: b}',
      'id: com.acme.x\nrules: [[]]',
    ]) {
      expect(expandText(text).ok).toBe(false)
      const read = readYaml(text)
      if (read.ok) expect(() => expand(read.tree)).not.toThrow()
    }
  })
})
