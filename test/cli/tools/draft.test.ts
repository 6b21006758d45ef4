import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { writeManifest } from '../../../src/cli/init/draft.js'
import { draftTools } from '../../../src/cli/tools/draft.js'
import { parse } from '../../../src/core/json/parse.js'
import { isObject, type JsonObject } from '../../../src/core/json/value.js'
import { consequence, evaluate } from '../../../src/core/manifest/constraint/evaluate.js'
import type { Manifest, ToolRule } from '../../../src/core/manifest/model.js'
import { match } from '../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../src/core/manifest/route/read-args.js'
import { draws } from '../../support/draws.js'
import { manifestOf, problemsOf, routerOf } from '../../support/manifests.js'
import { toolCall } from '../../support/mcp-call.js'

function definitionOf(value: unknown): JsonObject {
  const parsed = parse(JSON.stringify(value))
  if (!parsed.ok || !isObject(parsed.value)) throw new Error(JSON.stringify(value))
  return parsed.value
}
type Tool = { readonly name: string; readonly inputSchema?: unknown; readonly annotations?: object }

function drafted(tools: readonly Tool[], { pin = false, server = 'srv' } = {}) {
  const read = draftTools(tools.map(definitionOf), { server, pin })
  const written = writeManifest('com.example.srv', read.tools, { server })
  return { ...written, lost: [...read.lost, ...written.lost] }
}
const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const ruleOf = (properties: object, more: object = {}): ToolRule & { lost: readonly string[] } => {
  const { text, lost } = drafted([{ name: 't', inputSchema: object(properties, more) }])
  const [rule] = manifestOf(text).rules
  if (rule === undefined) throw new Error(lost.join('\n'))
  return { ...rule, lost }
}
const typesOf = ({ args }: ToolRule) =>
  Object.fromEntries(
    Object.entries(args).map(([name, { type, optional }]) => [name, type + (optional ? '?' : '')]),
  )

describe('the arguments of a tool', () => {
  it('are all written out, as what they are', () => {
    const rule = ruleOf(
      {
        s: { type: 'string' },
        i: { type: 'integer' },
        b: { type: 'boolean' },
        l: { type: 'array', items: { type: 'string' } },
        o: { type: 'object' },
        os: { type: 'array', items: { type: 'object' } },
        e: { enum: ['x', 'y'] },
        in: object({ deep: object({ er: { type: 'integer' } }, { required: ['er'] }) }),
      },
      { required: ['s', 'l'] },
    )
    expect(typesOf(rule)).toEqual({
      s: 'string',
      i: 'integer?',
      b: 'boolean?',
      l: 'strings',
      o: 'object?',
      os: 'objects?',
      e: 'string?',
      in_deep_er: 'integer?',
    })
    expect(rule.also).toEqual({ query: [], body: [] })
    expect(rule.lost).toEqual(['srv.t: /in/deep/er: required in /in/deep; not checked'])
  })

  it('follow references, and null is an argument that is not there', () => {
    const rule = ruleOf(
      {
        colour: { $ref: '#/$defs/Colour', description: 'of it' },
        maybe: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
        several: { type: ['integer', 'null'], minimum: 1 },
        nested: { anyOf: [{ $ref: '#/$defs/Nested' }, { type: 'null' }] },
        one: { allOf: [{ $ref: '#/$defs/Colour' }], default: 'red' },
      },
      {
        required: ['colour', 'maybe', 'several', 'nested', 'one'],
        $defs: {
          Colour: { type: 'string', enum: ['red', 'blue'] },
          Nested: object({ n: { type: 'integer' } }),
        },
      },
    )
    expect(typesOf(rule)).toEqual({
      colour: 'string',
      maybe: 'string?',
      several: 'integer?',
      nested_n: 'integer?',
      one: 'string',
    })
    expect(rule.lost).toEqual(
      ['/maybe', '/several', '/nested'].map(
        (at) => `srv.t: ${at}: may be null; a null counts as not there`,
      ),
    )
  })

  it('may be called anything', () => {
    const names = ['user-id', '__proto__', '', 'a/b', 'x~y', 'all', 'constructor', 'Ä', 'user_id']
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    const text = JSON.stringify(properties)
    const parsed = definitionOf({ name: 't', inputSchema: 0 })
    const schema = parse(`{"type":"object","additionalProperties":false,"properties":${text}}`)
    if (!schema.ok) throw new Error(text)
    const { tools, lost } = draftTools([new Map([...parsed, ['inputSchema', schema.value]])], {
      server: 'srv',
      pin: false,
    })
    const written = writeManifest('com.example.srv', tools, { server: 'srv' })
    const [rule] = manifestOf(written.text).rules
    const pointers = Object.values(rule?.args ?? {}).map(({ from }) =>
      from.in === 'body' ? from.pointer : null,
    )
    expect([...lost, ...written.lost]).toEqual([])
    expect(pointers.sort()).toEqual(
      names.map((name) => `/${name.replace('~', '~0').replace('/', '~1')}`).sort(),
    )
  })

  it('of a tool that describes none are none', () => {
    for (const inputSchema of [
      { type: 'object' },
      { type: 'object', properties: {} },
      { type: 'object', additionalProperties: false },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
    ]) {
      const [rule] = manifestOf(drafted([{ name: 't', inputSchema }]).text).rules
      expect({ args: rule?.args, also: rule?.also }).toEqual({
        args: {},
        also: { query: [], body: [] },
      })
    }
  })
})

/** Each construct that a manifest cannot say, and what is printed of it. */
const LOSSY: readonly (readonly [construct: object, said: string])[] = [
  [{ oneOf: [{ type: 'string' }, { type: 'integer' }] }, '/x: oneOf has no counterpart; not read'],
  [{ anyOf: [{ type: 'string' }, { type: 'object' }] }, '/x: anyOf has no counterpart; not read'],
  [{ type: 'string', not: { const: 'x' } }, '/x: not has no counterpart; not read'],
  [{ type: 'string', if: { const: 'a' }, else: false }, '/x: if has no counterpart; not read'],
  [{ type: ['string', 'integer'] }, '/x: several types (string, integer); not read'],
  [{ type: ['string', 'null'] }, '/x: may be null'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, '/x: may be null'],
  [{}, '/x: no type; not read'],
  [{ $ref: 'https://example.com/x.json' }, '/x: its reference leads nowhere'],
  [{ $ref: '#/$defs/None' }, '/x: its reference leads nowhere'],
  [{ $ref: '#/$defs/Text', maxLength: 3 }, '/x: maxLength beside $ref is not checked'],
  [{ type: 'number' }, '/x: number becomes an exact decimal'],
  [{ type: 'number', multipleOf: 0.1 }, '/x: multipleOf is not checked'],
  [{ type: 'number', enum: [1.5, 2.5] }, '/x: enum is not checked'],
  [{ type: 'number', maximum: 1e300 }, '/x: maximum is not checked'],
  [{ type: 'integer', minimum: 0.5 }, '/x: minimum is not checked'],
  [{ type: 'integer', maximum: 2 ** 60 }, '/x: maximum is not checked'],
  [{ type: 'integer', exclusiveMinimum: true, minimum: 1 }, '/x: exclusiveMinimum is not checked'],
  [{ type: 'string', format: 'email' }, '/x: format email is not checked'],
  [{ type: 'string', contentEncoding: 'base64' }, '/x: contentEncoding is not checked'],
  [{ type: 'string', pattern: 'a+' }, '/x: pattern a+ is not checked'],
  [{ type: 'string', pattern: '^a|b$' }, '/x: pattern ^a|b$ is not checked'],
  [{ type: 'string', pattern: '^a.$' }, '/x: pattern ^a.$ is read as RE2'],
  [{ type: 'string', pattern: '^(?=a)b$' }, 'left out: '],
  [{ type: 'string', maxLength: -1 }, '/x: maxLength is not checked'],
  [{ type: 'string', const: 7 }, '/x: const is not checked'],
  [{ type: 'boolean', enum: ['true'] }, '/x: enum is not checked'],
  [{ type: 'array' }, '/x: array has no counterpart here; not read'],
  [{ type: 'array', items: { type: 'integer' } }, '/x: array has no counterpart here; not read'],
  [
    { type: 'array', items: { type: 'string' }, prefixItems: [{ type: 'integer' }] },
    '/x: array has no counterpart here; not read',
  ],
  [{ type: 'array', items: { type: 'string' }, uniqueItems: true }, '/x: uniqueItems is not'],
  [
    { type: 'array', items: { type: 'string', maxLength: 3 } },
    '/x (each): maxLength is not checked',
  ],
  [
    { type: 'array', items: object({ a: { type: 'string' } }) },
    '/x: read whole; what is in it (properties, additionalProperties) is not checked',
  ],
  [{ type: 'array', items: { type: 'object' }, maxItems: 3 }, '/x: maxItems is not checked'],
  [
    { type: 'object', additionalProperties: { type: 'string' } },
    '/x: read whole; what is in it (additionalProperties) is not checked',
  ],
  [
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
    '/x: read whole; what is in it (properties, additionalProperties) is not checked',
  ],
  [
    object({ a: { type: 'string' } }, { patternProperties: { '^x-': {} } }),
    '/x: read whole; what is in it (properties, additionalProperties, patternProperties)',
  ],
  [
    object({ a: { type: 'string' } }, { dependentRequired: { a: ['b'] } }),
    '/x: dependentRequired is not checked',
  ],
  [object({ a: { type: 'string' } }, { minProperties: 1 }), '/x: minProperties is not checked'],
  [object({ a: { type: 'string' } }, { oneOf: [] }), '/x: oneOf is not checked'],
  [object({ a: { type: 'string' } }, { required: ['a'] }), '/x/a: required in /x; not checked'],
  [object({ a: false }), '/x/a: no value of it is valid; refused'],
  [object({ a: true }), '/x/a: no schema; not read'],
  [object({}, { required: ['b'] }), '/x/b: required, but not described; not read'],
  [
    object({}, { allOf: [{ properties: { a: { type: 'string' } }, minProperties: 1 }] }),
    '/x: minProperties in allOf is not checked',
  ],
  [
    {
      type: 'object',
      allOf: [{ properties: { a: { type: 'string' } } }, { properties: { a: { minLength: 2 } } }],
    },
    '/x: a is described twice in allOf',
  ],
  [object({ a: { $ref: '#' } }), '/x/a/x/a/x: read whole; what is in it (properties'],
]

describe('what a manifest cannot say', () => {
  it.each(LOSSY)('%j is told', (construct, said) => {
    const { text, tools, lost } = drafted([
      {
        name: 't',
        inputSchema: object({ x: construct }, { $defs: { Text: { type: 'string' } } }),
      },
    ])
    expect(lost.join('\n')).toContain(said)
    for (const line of lost) expect(line).toMatch(/^srv\.t: /)
    expect(tools).toHaveLength(1)
    expect(problemsOf(text)).toEqual([])
    // What is not read passes unjudged; nothing else does.
    const [rule] = manifestOf(text).rules
    const unread = lost.flatMap((line) => /^srv\.t: (\/\S*): .*; not read$/.exec(line)?.[1] ?? [])
    expect(rule?.also?.body).toEqual(unread)
  })

  it.each([
    [{ type: 'object', additionalProperties: true }, 'it passes unjudged (also.body: any)', 'any'],
    [
      { type: 'object', anyOf: [{ properties: { a: {} } }, { required: ['b'] }] },
      'the arguments: not an object with listed properties; it passes unjudged',
      'any',
    ],
    [
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
      'the arguments: members that it does not list are refused',
      [],
    ],
    [
      { type: 'object', properties: { a: { type: 'string' } } },
      '1 of 1 tools do not say additionalProperties: false',
      [],
    ],
    [object({ a: { type: 'string' } }, { oneOf: [] }), 'the arguments: oneOf is not checked', []],
  ] as const)('of all arguments: %j', (inputSchema, said, body) => {
    const { text, lost } = drafted([{ name: 't', inputSchema }])
    expect(lost.join('\n')).toContain(said)
    expect(manifestOf(text).rules[0]?.also?.body).toEqual(body)
  })

  it('of a tool at all is left out', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`a${i}`, {}]))
    const { tools, lost } = drafted([
      { name: 'rm*', inputSchema: { type: 'object' } },
      { name: 'a b', inputSchema: { type: 'object' } },
      { name: 'bare' },
      { name: 'text', inputSchema: 'object' },
      { name: 'many', inputSchema: object(many) },
      { name: 'kept', inputSchema: { type: 'object', additionalProperties: false } },
      { name: 'kept', inputSchema: { type: 'object' } },
      { name: '', inputSchema: { type: 'object' } },
    ])
    expect(tools.map(({ name }) => name)).toEqual(['srv.kept'])
    const out = lost.filter((line) => line.includes('left out'))
    expect(out).toHaveLength(7)
    for (const said of [
      'srv.rm: left out: its name holds a *',
      'srv.a_b: left out: ',
      'srv.bare: left out: it has no inputSchema',
      'srv.text: left out: it has no inputSchema',
      'srv.many: left out: it has more than 256 arguments',
      'srv.kept: left out: it is listed twice',
      'a tool without a name: left out',
    ]) {
      expect(out.join('\n')).toContain(said)
    }
  })

  it('ends, however a schema refers to itself', () => {
    const wide = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`p${i}`, { $ref: '#/$defs/Node' }]),
    )
    const inputSchema = object(
      { root: { $ref: '#/$defs/Node' } },
      { $defs: { Node: object(wide), Loop: { $ref: '#/$defs/Loop' } } },
    )
    const { lost } = drafted([{ name: 't', inputSchema }])
    expect(lost.join()).toContain('left out: it has more than 256 arguments')
    expect(
      ruleOf({ a: { $ref: '#/$defs/L' } }, { $defs: { L: { $ref: '#/$defs/L' } } }).lost,
    ).toEqual(['srv.t: /a: its reference leads nowhere in this file; not read'])
  })
})

describe('names', () => {
  const named = (...names: string[]) => {
    const inputSchema = { type: 'object', additionalProperties: false }
    const { text } = drafted(names.map((name) => ({ name, inputSchema })))
    return { text, rules: manifestOf(text).rules.map(({ tool, match: of }) => [tool, of]) }
  }
  const tool = (name: string) => ({ server: 'srv', tool: name })

  it('of tools are kept where they can be, and matched where they cannot', () => {
    const long = 'x'.repeat(128)
    const { rules } = named('get-sum', 'a.b', '2nd', 'ns/do', 'ns_do', 'größe', long, '//')
    expect(rules).toEqual([
      ['srv.get-sum', tool('get-sum')],
      ['srv.a.b', tool('a.b')],
      ['srv.2nd', tool('2nd')],
      ['srv.ns_do', tool('ns/do')],
      ['srv.ns_do_2', tool('ns_do')],
      ['srv.gr_e', tool('größe')],
      [`srv.${'x'.repeat(52)}`, tool(long)],
      ['srv.mcp_tool', tool('//')],
    ])
  })

  it('with the server in them are told apart from those without', () => {
    const { rules } = named('x', 'srv.x', 'srv.y', 'y')
    expect(rules).toEqual([
      ['srv.x', tool('x')],
      ['srv.srv_x', tool('srv.x')],
      ['srv.y', tool('srv.y')],
      ['srv.y_2', tool('y')],
    ])
  })

  it('that YAML or JavaScript take for something else stay names', () => {
    const { rules } = named('true', 'null', '__proto__', 'constructor', '0x10', '1e3', '~')
    expect(rules.map(([, of]) => of)).toEqual(
      ['true', 'null', '__proto__', 'constructor', '0x10', '1e3', '~'].map(tool),
    )
  })
})

describe('classes and pins', () => {
  const kinds = [
    { name: 'reads', annotations: { readOnlyHint: true } },
    { name: 'adds', annotations: { destructiveHint: false } },
    { name: 'acts' },
  ].map((one) => ({ ...one, inputSchema: { type: 'object', additionalProperties: false } }))

  it('are the ones that annotations amount to, with a word to check the lowered ones', () => {
    const { text } = drafted(kinds)
    expect(manifestOf(text).rules.map(({ effect }) => effect.irreversibility_class)).toEqual([
      'two_way',
      'one_way_recoverable',
      'one_way_consequential',
    ])
    expect(text.match(/: check it$/gm)).toHaveLength(2)
    expect(text).not.toContain('definition')
  })

  it('pins each by the digest of what its server wrote', () => {
    const float = { name: 'floats', inputSchema: object({ n: { type: 'number', minimum: 0.5 } }) }
    const { text } = drafted([...kinds, float], { pin: true })
    expect(manifestOf(text).rules.map(({ definition }) => definition?.length)).toEqual([
      64, 64, 64, 64,
    ])
  })
})

/** What the written manifest lets through of a tool's arguments, before any policy. */
function letsThrough(text: string): (args: unknown) => boolean {
  const manifest: Manifest = manifestOf(text)
  const router = routerOf(text)
  return (given) => {
    const call = toolCall('srv', 't', given)
    const matched = match(router, call)
    if (!matched.ok) throw new Error(matched.detail)
    const read = readArgs(matched, call)
    if (!read.ok || read.notRead.members.length > 0) return false
    const facts = { ...read, agent: 'a', operator: 'o', tool: 'srv.t' }
    return matched.route.rule.constraints.every((id) => {
      const constraint = manifest.constraints[id]
      if (constraint === undefined) throw new Error(id)
      const moment = { now: '2026-01-01T00:00:00Z', prior: '0' }
      const { result } = evaluate(id, constraint, facts, moment, nodeCrypto)
      return consequence(constraint, result) === 'none'
    })
  }
}

/** Only what is carried over without loss. */
const word = fc.constantFrom('', 'a', 'ab', 'abc', 'éé', '😀', 'a\nb', 'x-1', 'x|1')
const small = fc.integer({ min: -3, max: 4 })
const size = fc.integer({ min: 0, max: 3 })
const exactString = fc.oneof(
  fc.record(
    { type: fc.constant('string'), minLength: size, maxLength: size },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('string'), enum: fc.array(word, { minLength: 1, maxLength: 3 }) }),
  fc.record({ type: fc.constant('string'), const: word }),
  fc.record({
    type: fc.constant('string'),
    pattern: fc.constantFrom('^a+$', '^(a|ab)c?$', '^[a|b]*$', '^x[-|]1$', '^(?:é|a)*$', '^$'),
  }),
)
const exactInteger = fc.oneof(
  fc.record(
    {
      type: fc.constant('integer'),
      minimum: small,
      maximum: small,
      exclusiveMinimum: small,
      exclusiveMaximum: small,
    },
    { requiredKeys: ['type'] },
  ),
  fc.record({
    type: fc.constant('integer'),
    enum: fc.array(small, { minLength: 1, maxLength: 3 }),
  }),
)
const exactSchema = fc.oneof(
  exactString,
  exactInteger,
  fc.record({ type: fc.constant('boolean') }),
  fc.record({ type: fc.constant('boolean'), const: fc.boolean() }),
  fc.record(
    {
      type: fc.constant('array'),
      items: fc.oneof(
        fc.constant({ type: 'string' }),
        fc.constant({ type: 'string', enum: ['a', 'ab'] }),
        fc.constant({ type: 'string', pattern: '^a*$' }),
      ),
      minItems: size,
      maxItems: size,
    },
    { requiredKeys: ['type', 'items'] },
  ),
)
const members = fc.constantFrom('p', 'q', 'count', 'user-id')
const flat = fc
  .dictionary(members, exactSchema, { minKeys: 1, maxKeys: 3 })
  .chain((properties) =>
    fc
      .subarray(Object.keys(properties))
      .map((required) => object(properties, required.length === 0 ? {} : { required })),
  )
/** A nested object that is required needs a required member, or its absence would pass. */
const nested = fc.tuple(flat, flat).map(([outer, inner]) => {
  const required = Object.keys(inner.properties).slice(0, 1)
  return object(
    { ...outer.properties, in: { ...inner, required } },
    { required: [...((outer as { required?: string[] }).required ?? []), 'in'] },
  )
})
const texts = fc.array(fc.constantFrom('a', 'ab', 'b'), { maxLength: 4 })
const any: fc.Arbitrary<unknown> = fc.oneof(word, small, fc.boolean(), texts)
const OF_TYPE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: word,
  integer: small,
  boolean: fc.boolean(),
  array: texts,
}
type Described = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Described>>
}

/** Mostly of the types that the schema wants; some members are missing, some are more than it lists. */
function argumentsFor({ properties = {} }: Described): fc.Arbitrary<Record<string, unknown>> {
  const own = Object.entries(properties).map(([name, one]): [string, fc.Arbitrary<unknown>] => {
    // An empty object says of a nested one only that it is there, which arguments inside cannot say.
    const wanted = one.properties && argumentsFor(one).filter((o) => Object.keys(o).length > 0)
    const fitting = wanted ?? OF_TYPE[one.type ?? ''] ?? any
    return [name, fc.oneof({ weight: 9, arbitrary: fitting }, { weight: 1, arbitrary: scalar })]
  })
  const more = fc.oneof(
    { weight: 9, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(members, any, { maxKeys: 1 }) },
  )
  return fc
    .tuple(fc.record(Object.fromEntries(own), { requiredKeys: [] }), more)
    .map(([described, others]) => ({ ...others, ...described }))
}
const scalar = fc.oneof(word, small, fc.boolean())
const described = fc
  .oneof(flat, nested)
  .chain((inputSchema) =>
    fc.tuple(
      fc.constant(inputSchema),
      fc.array(argumentsFor(inputSchema as Described), { minLength: 20, maxLength: 20 }),
    ),
  )

describe('a manifest that lost nothing', () => {
  it('lets through exactly the arguments that the schema admits', () => {
    let admitted = 0
    fc.assert(
      fc.property(described, ([inputSchema, calls]) => {
        const { text, lost } = drafted([{ name: 't', inputSchema }])
        expect(lost.filter((line) => !line.includes('no test was written'))).toEqual([])
        const valid = new Ajv2020({ strict: false }).compile(inputSchema)
        const lets = letsThrough(text)
        for (const args of calls) {
          const expected = valid(args)
          if (expected) admitted++
          expect({ inputSchema, args, lets: lets(args) }).toEqual({
            inputSchema,
            args,
            lets: expected,
          })
        }
      }),
      { numRuns: draws(1500, 150) },
    )
    expect(admitted).toBeGreaterThan(150)
  })

  const anything = fc.oneof(
    fc.constantFrom<unknown>(true, false, null, 7, '', { $ref: '#' }, { $ref: '#/properties/p' }),
    ...LOSSY.map(([construct]) => fc.constant<unknown>(construct)),
    exactSchema,
    fc.jsonValue(),
  )
  const schema = fc.oneof(
    fc.record(
      {
        type: fc.constantFrom<unknown>('object', ['object', 'null'], 'string'),
        properties: fc.dictionary(fc.oneof(members, fc.string({ maxLength: 6 })), anything, {
          maxKeys: 4,
        }),
        required: fc.array(members),
        additionalProperties: fc.constantFrom<unknown>(true, false, {}, 3),
        allOf: fc.array(anything, { maxLength: 2 }),
        anyOf: fc.array(anything, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  )
  const tool = fc.record(
    {
      name: fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('a', 'srv.a', 'a*', '')),
      inputSchema: schema,
      annotations: fc.oneof(fc.jsonValue(), fc.record({ readOnlyHint: fc.boolean() })),
    },
    { requiredKeys: ['name'] },
  )

  it('is never one that does not load, and every tool is in it or told as left out', () => {
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 4 }), fc.boolean(), (tools, pin) => {
        const { text, tools: kept, lost } = drafted(tools as Tool[], { pin })
        if (kept.length > 0) expect(problemsOf(text)).toEqual([])
        const leftOut = lost.filter((line) => /: left out(?:: |$)/.test(line) && !isPart(line))
        expect(kept.length + leftOut.length).toBe(tools.length)
      }),
      { numRuns: draws(3000, 300) },
    )
  })
})

/** `srv.t: constraints t_x left out: …` is a part of a tool. */
const isPart = (line: string): boolean => /: (?:args|constraints) \S+ left out: /.test(line)
