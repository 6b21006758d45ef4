import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { IRREVERSIBILITY_CLASSES } from '../../../../src/core/capsule/registries.js'
import { manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import { compileRouter, match } from '../../../../src/core/manifest/route/match.js'
import { withHint } from '../../../../src/core/manifest/route/match-server.js'
import { readArgs } from '../../../../src/core/manifest/route/read-args.js'
import { httpCall, manifestOf, routerOf } from '../../../support/manifests.js'
import { mcpCall, toolCall } from '../../../support/mcp-call.js'

const FILES = `id: com.acme.files
server: files
tools:
  read_file: {args: {path: string}}
  read_all: {match: {tool: "read_*"}, args: {path: string}}
  rest: {match: {tool: "*"}}
  docs: {match: {resource: "file:///srv/docs/*"}}
  logo: {match: {resource: "file:///srv/logo.png"}}
  summarize: {match: {prompt: summarize}, args: {topic: string}}
  complete: {match: {method: completion/complete}}
  tasks: {match: {method: "tasks/*"}, also: {body: any}}
`
const router = routerOf(FILES)
const ofServer = (method: string, name: string | null, args?: unknown) =>
  match(router, mcpCall('files', method, name, args))
/** The rule that took it, and what it is called. */
const taken = (method: string, name: string | null) => {
  const found = ofServer(method, name)
  return found.ok ? [found.route.rule.action, found.route.rule.tool] : found.code
}

describe('what is asked of a server', () => {
  it('is taken by the first rule that names it', () => {
    expect(taken('tools/call', 'read_file')).toEqual(['files.read_file', 'files.read_file'])
    expect(taken('prompts/get', 'summarize')).toEqual(['files.summarize', 'files.summarize'])
    expect(taken('completion/complete', null)).toEqual(['files.complete', 'files.complete'])
    expect(taken('resources/read', 'file:///srv/logo.png')).toEqual(['files.logo', 'files.logo'])
  })

  it('is called by its own name where a pattern took it, under the action of the rule', () => {
    expect(taken('tools/call', 'read_dir')).toEqual(['files.read_all', 'files.read_dir'])
    expect(taken('tools/call', 'rm')).toEqual(['files.rest', 'files.rm'])
    expect(taken('tasks/cancel', null)).toEqual(['files.tasks', 'files.method.tasks_cancel'])
  })

  it('keeps the name of the rule where its own is no name', () => {
    for (const name of ['rm -rf', 'größe', 'a"b', 'x'.repeat(65), '\u202e', 'a\nb']) {
      expect(taken('tools/call', name)).toEqual(['files.rest', 'files.rest'])
    }
    expect(taken('resources/read', 'file:///srv/docs/a.md')).toEqual(['files.docs', 'files.docs'])
  })

  it('fills no memory with names that agents make up', () => {
    const tools = new Set<string>()
    for (let n = 0; n < 3_000; n++) {
      const found = ofServer('tools/call', `made-up-${n}`)
      if (found.ok) tools.add(found.route.rule.tool)
    }
    expect(tools.size).toBe(3_000)
    const [a, b] = [0, 2_999].map((n) => [
      ofServer('tools/call', `made-up-${n}`),
      ofServer('tools/call', `made-up-${n}`),
    ])
    // Those that came first are kept, those that came late are made anew.
    expect(a?.[0]?.ok && a[1]?.ok && a[0].route === a[1].route).toBe(true)
    expect(b?.[0]?.ok && b[1]?.ok && b[0].route === b[1].route).toBe(false)
  })

  it.each([
    ['tools/call', 'Read_file'],
    ['prompts/get', 'read_file'],
    ['prompts/get', 'Summarize'],
    ['resources/read', 'file:///srv/other'],
    ['resources/read', 'read_file'],
    ['resources/subscribe', 'file:///srv/docs/a'],
    ['completion/complete/x', null],
    ['tasks', null],
    ['__proto__', null],
    ['constructor', 'x'],
  ])('is refused where no rule names it: %s %s', (method, name) => {
    const exact = FILES.replace(/ {2}rest: .*\n/, '')
    const found = match(routerOf(exact), mcpCall('files', method, name))
    expect(found).toMatchObject({ ok: false, code: 'unmatched' })
  })

  it('is not asked of another server, nor of an HTTP upstream of its name', () => {
    expect(match(router, toolCall('file', 'read_file'))).toMatchObject({ code: 'unmatched' })
    expect(match(router, toolCall('files2', 'read_file'))).toMatchObject({ code: 'unmatched' })
    expect(match(router, httpCall('POST', '/read_file'))).toMatchObject({ code: 'unmatched' })
    const guarded = httpCall('POST', '/x', {}, { tool: 'files.read_file' })
    expect(match(router, guarded)).toMatchObject({ code: 'unmatched' })
    const called = { ...toolCall('files', 'x'), kind: 'function' as const }
    const argumentsJson = new Uint8Array()
    expect(match(router, { ...called, tool: 'files.read_file', argumentsJson })).toMatchObject({
      code: 'unmatched',
    })
  })
})

describe('a resource', () => {
  it.each([
    'file:///srv/docs/../../etc/passwd',
    'file:///srv/docs/..',
    'file:///srv/docs/.',
    'file:///srv/docs/./a',
    'file:///srv/docs/%2e%2e/x',
    'file:///srv/docs/%2E./x',
    'file:///srv/docs/..%2fx',
    'file:///srv/docs/a%5Cb',
    'file:///srv/docs/..\\x',
    'file:///srv/docs/a%00',
    'file:///srv/docs/a b',
    'file:///srv/docs/a\nb',
    'file:///srv/docs/x?../y',
    'file:///srv/docs/x#/../y',
  ])('is refused under a beginning that it could leave: %s', (uri) => {
    expect(taken('resources/read', uri)).toBe('target_malformed')
  })

  it.each(['file:///srv/docs/a.md', 'file:///srv/docs/..a', 'file:///srv/docs/a...b/c?x=1'])(
    'is let through where it is one thing: %s',
    (uri) => {
      expect(taken('resources/read', uri)).toEqual(['files.docs', 'files.docs'])
    },
  )

  it('may be anything under a rule for all', () => {
    const all = routerOf('id: com.acme.x\nserver: s\ntools: {any: {match: {resource: "*"}}}')
    expect(match(all, mcpCall('s', 'resources/read', 'x://a/../b')).ok).toBe(true)
  })

  it('is read as the argument uri, which arguments cannot replace', () => {
    const uri = 'file:///srv/docs/a.md'
    const call = mcpCall('files', 'resources/read', uri)
    const found = match(router, call)
    if (!found.ok) throw new Error(found.detail)
    const read = readArgs(found, call)
    expect(read.ok && read.args.get('uri')).toEqual({ type: 'string', value: uri })
    for (const given of ['{"uri":"file:///etc/passwd"}', '{"URI":"x"}', '{"Uri":null}']) {
      const forged = readArgs(found, mcpCall('files', 'resources/read', uri, given))
      expect(forged.ok && forged.notRead.members.length === 0).toBe(false)
    }
  })

  it('never leaves the beginning that let it through', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '/', '%2e', '%2F', '\\', 'a', '?', '#', ';', ' ', '%', '2e'),
      fc.string({ maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const uri = `file:///srv/docs/${pieces.join('')}`
        const found = ofServer('resources/read', uri)
        if (!found.ok) return
        const url = new URL(uri)
        expect(url.pathname.startsWith('/srv/docs/')).toBe(true)
        expect(decoded(url.pathname).split('/')).not.toContain('..')
      }),
      { numRuns: 2_000 },
    )
  })
})
/** Byte by byte, as the careless do. */
const decoded = (path: string): string =>
  path.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))

describe('arguments of a tool of a server', () => {
  const reading = (given?: unknown) => {
    const call = toolCall('files', 'read_file', given)
    const found = match(router, call)
    if (!found.ok) throw new Error(found.detail)
    return readArgs(found, call)
  }
  it('are read as the rule says, and nothing beside them passes', () => {
    expect(reading({ path: '/a' })).toMatchObject({ ok: true, notRead: { members: [] } })
    expect(reading({ path: '/a', more: 1 })).toMatchObject({ notRead: { members: ['/more'] } })
    expect(reading({ path: 7 })).toMatchObject({ ok: false, code: 'arg_type' })
    expect(reading({})).toMatchObject({ ok: false, code: 'arg_missing' })
    expect(reading()).toMatchObject({ ok: false, code: 'arg_missing' })
    expect(reading('{"path":"/a","path":"/b"}')).toMatchObject({ code: 'body_unreadable' })
    expect(reading({ path: '/a', Path: '/b' })).toMatchObject({ code: 'arg_ambiguous' })
  })
})

describe('two manifests', () => {
  const compiled = (...texts: string[]) =>
    compileRouter(
      texts.map(manifestOf).map((manifest) => ({
        manifest,
        digest: manifestDigest(manifest, nodeCrypto),
      })),
    )
  const one = (id: string, of: string, server = 's') =>
    `id: com.acme.${id}\nrules: [{tool: ${id}, match: {server: ${server}, ${of}}}]`

  it.each([
    ['tool: x', 'tool: x'],
    ['tool: x', 'tool: "*"'],
    ['tool: "ab*"', 'tool: "a*"'],
    ['resource: "x:*"', 'resource: "x:y"'],
    ['method: tasks/get', 'method: "tasks/*"'],
  ])('may not both take %s and %s', (a, b) => {
    for (const texts of [
      [one('a', a), one('b', b)],
      [one('a', b), one('b', a)],
    ]) {
      const { ok, ...rest } = compiled(...texts)
      expect(ok).toBe(false)
      expect(JSON.stringify(rest)).toContain('match the same calls of a server')
    }
    expect(compiled(one('a', a), one('b', b, 'other')).ok).toBe(true)
  })

  it.each([
    ['tool: x', 'prompt: x'],
    ['tool: "a*"', 'tool: "b*"'],
    ['tool: ab', 'tool: a'],
  ])('may take %s and %s', (a, b) => {
    expect(compiled(one('a', a), one('b', b)).ok).toBe(true)
  })
})

describe('the class of a tool', () => {
  const rule = manifestOf(FILES).rules[0]
  if (rule === undefined) throw new Error('no rule')
  const classes = IRREVERSIBILITY_CLASSES
  const hinted = (
    given: (typeof classes)[number],
    hint: (typeof classes)[number],
    trusted: boolean,
  ) =>
    withHint(
      { ...rule, effect: { ...rule.effect, irreversibility_class: given } },
      { digest: 'd', hinted: hint, trusted },
    ).effect.irreversibility_class

  it('is raised by annotations, and never lowered by those of a server that is not trusted', () => {
    for (const [i, given] of classes.entries()) {
      for (const [j, hint] of classes.entries()) {
        expect(hinted(given, hint, false)).toBe(classes[Math.max(i, j)])
      }
    }
  })

  it('is lowered by a trusted server, but not where the operator said that nothing undoes it', () => {
    expect(hinted('one_way_consequential', 'two_way', true)).toBe('two_way')
    expect(hinted('two_way', 'one_way_consequential', true)).toBe('one_way_consequential')
    for (const hint of classes)
      expect(hinted('one_way_terminal', hint, true)).toBe('one_way_terminal')
  })

  it('stays what the rule says where nothing is known of the tool', () => {
    expect(withHint(rule, null)).toBe(rule)
  })
})
