import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import { compileRouter, match, upstreamOf } from '../../../../src/core/manifest/route/match.js'
import { readTarget } from '../../../../src/core/manifest/route/target.js'
import { foldSegments, foldsOnto } from '../../../../src/core/manifest/route/template.js'
import { httpCall, manifestOf, PAYMENTS, routerOf } from '../../../support/manifests.js'

const API = `id: com.acme.api
tools:
  read_order: {match: "GET /v1/orders/{order}", args: {order: string}}
`
const BROAD = `id: com.acme.broad
tools:
  special: {match: "POST /v1/orders:cancel"}
  generic: {match: "POST /v1/{name}"}
  cafe: {match: "GET /caf%C3%A9"}
  any: {match: "GET /{name}"}
  root: {match: GET /}
  by_name: {args: {order: string}}
`

describe('a target', () => {
  it.each([
    ['', 'empty'],
    ['*', 'asterisk form'],
    ['http://evil/v1', 'absolute form'],
    ['evil:443', 'authority form'],
    ['v1/refunds', 'no leading slash'],
    ['//evil/v1', 'two slashes first'],
    ['/v1//refunds', 'an empty segment'],
    ['/v1/refunds/', 'a trailing slash'],
    ['/v1/./refunds', 'a dot segment'],
    ['/v1/../refunds', 'two dots'],
    ['/v1/..', 'two dots last'],
    ['/v1/..;/refunds', 'two dots behind a path parameter'],
    ['/v1/..;a=b/refunds', 'two dots behind a named path parameter'],
    ['/v1/..%3B/refunds', 'two dots behind an encoded semicolon'],
    ['/v1/;a/refunds', 'an empty segment behind a path parameter'],
    ['/v1/%2e%2e/refunds', 'encoded dots'],
    ['/v1/%2E/refunds', 'an encoded dot'],
    ['/v1/a%2ejson', 'an encoded dot in a name'],
    ['/v1%2Frefunds', 'an encoded slash'],
    ['/v1%2frefunds', 'an encoded slash, lower case'],
    ['/v1\\refunds', 'a backslash'],
    ['/v1%5Crefunds', 'an encoded backslash'],
    ['/v1?x=\\', 'a backslash in the query'],
    ['/v1%00', 'an encoded NUL'],
    ['/v1\u0000', 'a NUL'],
    ['/v1?x=%00', 'an encoded NUL in the query'],
    ['/v1#x', 'a fragment'],
    ['/v1?x#y', 'a fragment in the query'],
    ['/v1\t', 'a tab'],
    ['/v1 x', 'a space'],
    ['/v1%0d%0aX', 'an encoded line end'],
    ['/v1%7F', 'an encoded DEL'],
    ['/v1/é', 'a raw letter beyond ASCII'],
    ['/v1/%61', 'an encoded letter'],
    ['/v1/%7e', 'an encoded tilde'],
    ['/v1/%2D', 'an encoded hyphen'],
    ['/v1/%39', 'an encoded digit'],
    ['/v1/%', 'a bare percent'],
    ['/v1/%2', 'half an escape'],
    ['/v1/%zz', 'no hex'],
    ['/v1?x=%', 'a bare percent in the query'],
    ['/v1/%FF', 'no UTF-8'],
    ['/v1/%C0%AF', 'an overlong slash'],
    ['/v1/%ED%A0%80', 'an encoded surrogate'],
    ['/v1?x=%C0%AE', 'an overlong dot in the query'],
    ['/v1/%252e%252e', 'two layers of encoding'],
    ['/v1/{order}', 'a brace'],
    ['/v1/export;x', 'a path parameter'],
    ['/v1/export;', 'a bare semicolon'],
    ['/v1;a=b/export', 'a path parameter in the middle'],
    ['/v1/export.', 'a trailing dot'],
    ['/v1./export', 'a trailing dot in the middle'],
    ['/v1/export...', 'three dots behind a name'],
    ['/v1/export%20', 'a trailing space'],
    ['/v1/export.%20', 'a dot and a space'],
    [`/v1?${'&'.repeat(500)}`, 'five hundred and one parts'],
    ['/v1?amount=7[x]=', 'a name that ends in two places'],
    ['/v1?a=1&amount=7%5Bx%5d=9', 'the same, encoded'],
    [`/${'a'.repeat(20_000)}`, 'twenty thousand characters'],
  ])('%j is refused: %s', (target) => {
    expect(readTarget(target).ok).toBe(false)
  })

  it.each([
    '/',
    '/v1',
    '/v1/a.b',
    '/v1/a:b@c',
    '/v1/caf%C3%A9',
    '/v1/100%25',
    '/v1?',
    '/v1?a[b]=c|d',
    '/v1?a[b]=c]=d',
    '/v1?a=b]',
    "/v1/a!$&'()*+,=b",
    '/v1/.well-known',
    '/v1/a%3Bb',
  ])('%j is read', (target) => {
    expect(readTarget(target).ok).toBe(true)
  })

  it('is refused, or re-encodes from what was read to the very octets that were sent', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '/',
        '.',
        '..',
        ';',
        '%',
        '%2e',
        '%2F',
        '%2f',
        '%61',
        '%41',
        '%00',
        '%C3%A9',
        '%c3%a9',
        '%ff',
        '%25',
        '?',
        '&',
        '=',
        '#',
        '\\',
        ' ',
        '\t',
        '//',
        'é',
        'v1',
        'a',
        '+',
        ':',
        '@',
      ),
      fc.string({ maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const target = `/${pieces.join('')}`
        const read = readTarget(target)
        if (!read.ok) return
        const path = target.split('?', 1)[0]
        expect(`/${read.target.segments.map(({ raw }) => raw).join('/')}`).toBe(path)
        // No parser that resolves or decodes sees another path than we do.
        expect(new URL(target, 'http://x').pathname).toBe(path)
        for (const { raw, text } of read.target.segments) {
          expect(decodeURIComponent(raw)).toBe(text)
          expect(['', '.', '..']).not.toContain(text)
          expect(text).not.toMatch(/[/\\\u0000-\u001f]/)
        }
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('a match', () => {
  const router = routerOf(API)
  const broad = routerOf(BROAD)
  const toolOf = (found: ReturnType<typeof match>) =>
    found.ok ? found.route.rule.tool : found.code

  it('decodes a path parameter once', () => {
    const found = match(router, httpCall('GET', '/v1/orders/a%20b%25'))
    expect(found.ok && found.params.get('order')).toBe('a b%')
  })

  it.each([
    ['get', '/v1/orders/7'],
    ['POST', '/v1/orders/7'],
    ['GET', '/v1/orders'],
    ['GET', '/v1/orders/7/lines'],
  ])('%s %s has none', (method, target) => {
    expect(toolOf(match(router, httpCall(method, target)))).toBe('unmatched')
  })

  it('takes the first rule of a manifest that fits', () => {
    expect(toolOf(match(broad, httpCall('POST', '/v1/orders:cancel')))).toBe('special')
    expect(toolOf(match(broad, httpCall('POST', '/v1/orders')))).toBe('generic')
    expect(toolOf(match(broad, httpCall('GET', '/')))).toBe('root')
  })

  it.each([
    ['POST', '/v1/orders%3Acancel'],
    ['POST', '/v1/orders%3acancel'],
    ['GET', '/caf%c3%a9'],
  ])('refuses %s %s, a second spelling that would fall to a broader rule', (method, target) => {
    expect(toolOf(match(broad, httpCall(method, target)))).toBe('target_ambiguous')
  })

  it.each([
    ['GET', '/V1/orders/7'],
    ['HEAD', '/v1/orders/7'],
  ])('refuses %s %s, which a server may run as what a rule governs', (method, target) => {
    expect(toolOf(match(router, httpCall(method, target)))).toBe('target_ambiguous')
    expect(upstreamOf(router, method, target)).toBe('default')
  })

  it('ignores method override headers', () => {
    const headers = [['x-http-method-override', 'GET']] as const
    expect(toolOf(match(router, httpCall('DELETE', '/v1/orders/7', undefined, { headers })))).toBe(
      'unmatched',
    )
  })

  it('does not cross upstreams', () => {
    const call = httpCall('GET', '/v1/orders/7', undefined, { upstream: 'other' })
    expect(toolOf(match(router, call))).toBe('unmatched')
    expect(upstreamOf(router, 'GET', '/v1/orders/7')).toBe('default')
    expect(upstreamOf(router, 'GET', '/v1/../7')).toBeNull()
  })

  it('finds rule and upstream together: as if the call had named the upstream of its rule', () => {
    const two = routerOf(
      'id: com.acme.l\nupstream: left\ntools:\n  a: {match: "GET /a/{id}"}\n  b: {match: "GET /b%20c"}\n',
      'id: com.acme.r\nupstream: right\ntools:\n  c: {match: "GET /c/{id}"}\n  d: {match: POST /a/x}\n',
    )
    const segment = fc.constantFrom('a', 'A', 'b%20c', 'b c', 'b%20C', 'c', 'x', '%61', '..', '')
    fc.assert(
      fc.property(
        fc.constantFrom('GET', 'HEAD', 'POST'),
        fc.array(segment, { maxLength: 3 }),
        (method, segments) => {
          const target = `/${segments.join('/')}`
          const found = match(two, httpCall(method, target, undefined, { upstream: null }))
          const upstream = upstreamOf(two, method, target)
          expect(found).toEqual(
            match(two, httpCall(method, target, undefined, { upstream: upstream ?? 'default' })),
          )
          if (found.ok) expect(found.upstream).toBe(upstream)
          const other = upstream === 'left' ? 'right' : 'left'
          const elsewhere = match(two, httpCall(method, target, undefined, { upstream: other }))
          expect(elsewhere.ok).toBe(false)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('a guarded route goes by the path of the application, which may have no rule', () => {
    const goes = (target: string, upstream: string | null = null) => {
      const found = match(broad, httpCall('POST', target, undefined, { tool: 'by_name', upstream }))
      return found.ok ? found.upstream : found.code
    }
    expect(goes('/other/place')).toBe('default')
    expect(goes('/other/place', 'named')).toBe('named')
  })

  it('holds a guarded route to the method and path of the tool it names', () => {
    const named = (method: string, target: string, tool: string) =>
      toolOf(match(broad, httpCall(method, target, undefined, { tool })))
    expect(named('POST', '/v1/x', 'generic')).toBe('generic')
    expect(named('GET', '/v1/x', 'generic')).toBe('unmatched')
    expect(named('POST', '/other/place', 'by_name')).toBe('by_name')
    expect(named('POST', '/v1/x', 'nobody')).toBe('unmatched')
    expect(named('POST', '/v1/x', 'constructor')).toBe('unmatched')
    expect(named('POST', '/v1/../x', 'by_name')).toBe('target_malformed')
  })

  it('finds a function by its name, and only a function', () => {
    const call = (tool: string) =>
      match(broad, {
        ...httpCall('POST', '/'),
        kind: 'function',
        tool,
        argumentsJson: new Uint8Array(),
      })
    expect(toolOf(call('by_name'))).toBe('by_name')
    expect(toolOf(call('special'))).toBe('unmatched')
  })
})

describe('several manifests', () => {
  const compile = (...texts: string[]) =>
    compileRouter(
      texts.map(manifestOf).map((manifest) => ({
        manifest,
        digest: manifestDigest(manifest, nodeCrypto),
      })),
    )
  const one = (id: string, tool: string, route: string): string =>
    `id: com.acme.${id}\ntools:\n  ${tool}: {match: "${route}"}\n`

  it.each([
    ['the same path', 'GET /v1/x', 'GET /v1/x'],
    ['the same shape', 'GET /v1/{a}', 'GET /v1/{b}'],
    ['a parameter over a literal', 'GET /v1/{a}', 'GET /v1/x'],
    ['parameters crosswise', 'GET /{a}/x', 'GET /v1/{b}'],
  ])('are refused with %s', (_name, first, second) => {
    const compiled = compile(one('a', 'first', first), one('b', 'second', second))
    expect(compiled.ok ? [] : compiled.problems.map((p) => p.message).join()).toContain(
      'same targets',
    )
  })

  it.each([
    ['another method', 'GET /v1/x', 'HEAD /v1/x'],
    ['another literal', 'GET /v1/{a}', 'GET /v2/{a}'],
    ['another length', 'GET /v1/{a}', 'GET /v1/{a}/b'],
  ])('stand side by side with %s', (_name, first, second) => {
    expect(compile(one('a', 'first', first), one('b', 'second', second)).ok).toBe(true)
  })

  it('are refused with one tool name or one id in two', () => {
    expect(compile(one('a', 't', 'GET /a'), one('b', 't', 'GET /b')).ok).toBe(false)
    expect(compile(PAYMENTS, PAYMENTS.replace('/v1', '/v2')).ok).toBe(false)
  })
})

describe('paths that routers fold', () => {
  const FOLDED = `id: com.acme.folded
tools:
  export: {match: "GET /orders/export"}
  report: {match: "GET /files/report.csv"}
  upper: {match: "GET /Lists/{id}/x"}
  lower: {match: "GET /lists/{id}/X"}
  order: {match: "GET /orders/{id}", args: {id: string}}
  file: {match: "GET /files/{name}", args: {name: string}}
  lines: {match: "GET /orders/{id}/{part}", args: {id: string, part: string}}
  notes: {match: "GET /{kind}/all/notes", args: {kind: string}}
`
  const router = routerOf(FOLDED)
  const toolOf = (target: string, from = router, method = 'GET'): string => {
    const found = match(from, httpCall(method, target))
    return found.ok ? found.route.rule.tool : found.code
  }

  it.each([
    ['/orders/export', 'export'],
    ['/orders/7', 'order'],
    ['/orders/exporter', 'order'],
    ['/orders/a.export', 'order'],
    ['/orders/.export', 'order'],
    ['/files/report.csv', 'report'],
    ['/Lists/7/x', 'upper'],
    ['/lists/7/X', 'lower'],
    ['/orders/export/lines', 'lines'],
  ])('%s is %s', (target, tool) => {
    expect(toolOf(target)).toBe(tool)
  })

  it.each([
    ['/orders/EXPORT', 'letter case'],
    ['/orders/export.json', 'a suffix'],
    ['/orders/Export.JSON', 'both'],
    ['/files/report', 'the suffix that a literal has'],
    ['/files/report.pdf', 'another suffix than a literal has'],
    ['/Orders/7', 'letter case of a literal'],
    ['/LISTS/7/x', 'letter case that no rule has'],
    ['/orders/all/notes', 'a literal of another rule in a place that is a parameter here'],
    ['/orders/ALL/notes', 'the same in another letter case'],
  ])('%s is ambiguous: %s', (target) => {
    expect(toolOf(target)).toBe('target_ambiguous')
  })

  it('are told apart where the upstream does', () => {
    const loaded = { manifest: manifestOf(FOLDED), digest: 'd' }
    const compiled = compileRouter([loaded], new Set(['default']))
    if (!compiled.ok) throw new Error('it compiles')
    expect(toolOf('/orders/EXPORT', compiled.router)).toBe('order')
    expect(toolOf('/orders/export.json', compiled.router)).toBe('order')
    expect(toolOf('/Orders/7', compiled.router)).toBe('unmatched')
    expect(upstreamOf(compiled.router, 'GET', '/Orders/7')).toBeNull()
  })

  it('never dispatch a segment as a parameter that folds onto a literal in its place', () => {
    const spelling = fc.constantFrom('export', 'EXPORT', 'Export.json', 'report', 'x', 'all', 'ALL')
    const path = fc.tuple(
      fc.constantFrom('orders', 'files', 'lists'),
      spelling,
      fc.option(spelling),
    )
    fc.assert(
      fc.property(path, (segments) => {
        const target = `/${segments.filter((segment) => segment !== null).join('/')}`
        const found = match(router, httpCall('GET', target))
        if (!found.ok) return
        // What an upstream that folds would run: the first rule, by folded literals.
        const folded = foldSegments(
          target
            .slice(1)
            .split('/')
            .map((raw) => ({ raw, text: raw })),
        )
        const ran = router.byShape
          .get(`GET ${folded.length}`)
          ?.filter(({ template }) => template !== null && foldsOnto(template, folded))
        const literals = (index: number): number =>
          (ran?.[index]?.template ?? []).filter(({ kind }) => kind === 'literal').length
        const narrowest = Math.max(...(ran ?? []).map((_, index) => literals(index)))
        const own = found.route.template ?? []
        expect(own.filter(({ kind }) => kind === 'literal').length).toBe(narrowest)
      }),
      { numRuns: 2000 },
    )
  })
})
