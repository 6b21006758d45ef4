import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { expandText, manifestOf, problemsOf } from '../../../support/manifests.js'

const under = (server: string, lines: string): string =>
  `id: com.acme.x\nserver: ${server}\ntools:\n${lines}`
const rulesOf = (text: string) =>
  manifestOf(text).rules.map(({ tool, action, resource, match }) => ({
    tool,
    action,
    resource,
    match,
  }))
const named = (tool: string, match: object) => ({ tool, action: tool, resource: tool, match })

describe('server at the top', () => {
  it("makes each tool the server's of the same name, called by both names", () => {
    expect(rulesOf(under('files', '  write_file: {}\n  get-sum: {}\n  a.b: {}'))).toEqual([
      named('files.write_file', { server: 'files', tool: 'write_file' }),
      named('files.get-sum', { server: 'files', tool: 'get-sum' }),
      named('files.a.b', { server: 'files', tool: 'a.b' }),
    ])
  })

  it('is the server of every match that names none', () => {
    const text = under(
      'files',
      `  a: {match: {tool: "ns/do it's"}}
  b: {match: {resource: "file:///x/*"}}
  c: {match: {prompt: "*"}}
  d: {match: {method: completion/complete}}
  e: {match: {server: files, tool: other}}`.replace("do it's", "do-it's"),
    )
    expect(rulesOf(text).map(({ tool, match }) => [tool, match])).toEqual([
      ['files.a', { server: 'files', tool: "ns/do-it's" }],
      ['files.b', { server: 'files', resource: 'file:///x/*' }],
      ['files.c', { server: 'files', prompt: '*' }],
      ['files.d', { server: 'files', method: 'completion/complete' }],
      ['files.e', { server: 'files', tool: 'other' }],
    ])
  })

  it('is not written before a name that begins with it', () => {
    expect(rulesOf(under('files', '  files.x: {match: {tool: x}}'))).toEqual([
      named('files.x', { server: 'files', tool: 'x' }),
    ])
  })

  it('leaves action and resource to those who want others', () => {
    const [rule] = rulesOf(under('files', '  x: {action: read, resource: disk}'))
    expect(rule).toMatchObject({ tool: 'files.x', action: 'read', resource: 'disk' })
  })
})

describe('a match on a server', () => {
  it('needs no server at the top, and may name several', () => {
    const text = `id: com.acme.x
tools:
  a.x: {match: {server: a, tool: x}}
  anything_of_b: {match: {server: b, tool: "*"}}
`
    expect(rulesOf(text)).toEqual([
      named('a.x', { server: 'a', tool: 'x' }),
      named('anything_of_b', { server: 'b', tool: '*' }),
    ])
  })

  it('names the tool in the full form, where it says no other', () => {
    const text = `id: com.acme.x
rules:
  - match: {server: a, tool: x}
  - {tool: a.rest, match: {server: a, tool: "*"}}
`
    expect(rulesOf(text).map(({ tool }) => tool)).toEqual(['a.x', 'a.rest'])
  })

  it('reads arguments in the body, and of a resource always its URI', () => {
    const rules = manifestOf(
      under('s', '  t: {args: {a: string}}\n  r: {match: {resource: "x:*"}, args: {b: integer}}'),
    ).rules
    expect(rules[0]?.args).toEqual({
      a: { type: 'string', optional: false, from: { in: 'body', pointer: '/a' } },
    })
    expect(rules[1]?.args).toEqual({
      uri: { type: 'string', optional: false, from: { in: 'path', name: 'uri' } },
      b: { type: 'integer', optional: false, from: { in: 'body', pointer: '/b' } },
    })
  })

  it.each([
    ['no part', 't: {match: {server: a}}', 'one thing of it'],
    ['two parts', 't: {match: {server: a, tool: x, prompt: y}}', 'one thing of it'],
    ['a path', 't: {match: {server: a, tool: x, path: /x}}', 'one thing of it'],
    ['an unknown part', 't: {match: {server: a, template: x}}', 'template'],
    ['a server that is no name', 't: {match: {server: A b, tool: x}}', "a server's name"],
    ['an empty name', 't: {match: {server: a, tool: ""}}', 'the beginning of names'],
    ['a * in the middle', 't: {match: {server: a, tool: "a*b"}}', 'the beginning of names'],
    ['two *', 't: {match: {server: a, tool: "a**"}}', 'the beginning of names'],
    ['a space', 't: {match: {server: a, tool: "a b"}}', 'the beginning of names'],
    [
      'an argument in a query',
      't: {match: {server: a, tool: x}, args: {q: {type: string, query: q}}}',
      'a tool of a server has a body only',
    ],
    [
      'an argument in a path',
      't: {match: {server: a, tool: x}, args: {uri: {type: string, path: uri}}}',
      'a tool of a server has a body only',
    ],
    [
      'an optional URI',
      't: {match: {server: a, resource: "*"}, args: {uri: "string?"}}',
      'always there',
    ],
    [
      'a pinned pattern',
      `t: {match: {server: a, tool: "*"}, definition: ${'a'.repeat(64)}}`,
      'only one tool',
    ],
    [
      'a pinned prompt',
      `t: {match: {server: a, prompt: x}, definition: ${'a'.repeat(64)}}`,
      'only one tool',
    ],
    ['a pin that is none', 't: {match: {server: a, tool: x}, definition: abc}', '64 hex digits'],
    [
      'a pin of another call',
      `t: {match: POST /x, definition: ${'a'.repeat(64)}}`,
      'only one tool',
    ],
  ])('refuses %s', (_what, line, said) => {
    const problems = problemsOf(`id: com.acme.x\ntools:\n  ${line}\n`)
    expect(problems.length).toBeGreaterThan(0)
    expect(JSON.stringify(problems)).toContain(said)
  })

  it.each([
    ['another server than the top', '  t: {match: {server: b, tool: x}}', 'about the server files'],
    ['a key that no tool can be called', '  "a b": {match: {tool: x}}', 'not a tool name'],
  ])('under server at the top refuses %s', (_what, lines, said) => {
    expect(JSON.stringify(problemsOf(under('files', lines)))).toContain(said)
  })
})

describe('a rule that is never reached', () => {
  it.each([
    ['*', 'x'],
    ['*', 'a*'],
    ['a*', 'ab*'],
    ['a*', 'a'],
    ['a*', 'a*'],
    ['x', 'x'],
  ])('behind %s: %s', (first, later) => {
    const text = (part: string, other = part) =>
      under('s', `  one: {match: {${part}: "${first}"}}\n  two: {match: {${other}: "${later}"}}`)
    for (const part of ['tool', 'prompt', 'resource', 'method']) {
      expect(JSON.stringify(problemsOf(text(part)))).toContain('never reached')
    }
    expect(problemsOf(text('tool', 'prompt'))).toEqual([])
  })

  it.each([
    ['x', '*'],
    ['ab*', 'a*'],
    ['a', 'a*'],
    ['a*', 'b*'],
    ['ab', 'a'],
  ])('is not behind %s: %s', (first, later) => {
    const text = under(
      's',
      `  one: {match: {tool: "${first}"}}\n  two: {match: {tool: "${later}"}}`,
    )
    expect(problemsOf(text)).toEqual([])
    const elsewhere = `id: com.acme.x\nrules:\n  - {tool: one, match: {server: a, tool: "${later}"}}\n  - {tool: two, match: {server: b, tool: "${later}"}}\n`
    expect(problemsOf(elsewhere)).toEqual([])
  })
})

describe('the full form of rules on servers', () => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,8}$/)
  const pattern = fc.tuple(name, fc.boolean()).map(([text, open]) => (open ? `${text}*` : text))
  const match = fc.oneof(
    pattern.map((tool) => ({ tool })),
    pattern.map((prompt) => ({ prompt })),
    pattern.map((method) => ({ method })),
    pattern.map((resource) => ({ resource: `file:///${resource}` })),
  )
  const tools = fc.dictionary(
    name,
    fc.record(
      {
        match,
        args: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('string', 'object?')),
      },
      { requiredKeys: [] },
    ),
    { minKeys: 1, maxKeys: 4 },
  )
  it('expands to itself, whatever the short form was', () => {
    let expanded = 0
    fc.assert(
      fc.property(fc.boolean(), tools, (atTop, given) => {
        const short = Object.fromEntries(
          Object.entries(given).map(([key, { match: of, ...more }]) => [
            key,
            {
              ...more,
              ...(of === undefined && atTop
                ? {}
                : { match: { server: 's', ...(of ?? { tool: key }) } }),
            },
          ]),
        )
        const top = { id: 'com.acme.x', ...(atTop && { server: 's' }) }
        const once = expandText(JSON.stringify({ ...top, tools: short }))
        // Rules that hide each other are refused, and so are names that are too long.
        if (!once.ok) return
        expanded++
        const again = expandText(JSON.stringify(once.manifest))
        expect(again).toEqual(once)
        expect(JSON.stringify(again.ok && again.manifest)).toBe(JSON.stringify(once.manifest))
      }),
      { numRuns: 300 },
    )
    expect(expanded).toBeGreaterThan(150)
  })
})
