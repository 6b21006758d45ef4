import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../src/core/manifest/expand/expand.js'
import { compileRouter, match } from '../../src/core/manifest/route/match.js'
import { httpCall, manifestOf } from '../support/manifests.js'
import { aspnet } from '../support/readers/aspnet.js'
import { rack } from '../support/readers/rack.js'
import { servlet } from '../support/readers/servlet.js'
import { expectRefused, scenes } from './harness.js'

/** Paths that a router maps to another route than the one that was judged. */
const { inFrontOf, inFrontOfFramework } = scenes()
const MANIFEST = `id: com.acme.orders
tools:
  export: {match: GET /orders/export}
  order: {match: "GET /orders/{id}", args: {id: string}}
  head_order: {match: "HEAD /orders/{id}", args: {id: string}}
  lines: {match: "GET /orders/{id}/lines", args: {id: string}}
  export_lines: {match: "DELETE /orders/export/lines"}
  drop_lines: {match: "DELETE /orders/{id}/lines", args: {id: string}}
`

describe('a second spelling of a path', () => {
  it.each([
    '/orders/export;x',
    '/orders/export;x=y',
    '/orders;a/export',
    '/orders/7;export',
    '/;/orders/7',
  ])('Tomcat would cut the parameter: %s is malformed', async (path) => {
    const at = await inFrontOf(servlet, MANIFEST)
    expectRefused(await at.send({ line: `GET ${path}` }), 'target_malformed')
    expect(at.app.ran).toEqual([])
  })

  it.each(['Express 4', 'Express 5', 'koa'] as const)(
    '%s would run export for /orders/EXPORT: it is ambiguous',
    async (framework) => {
      const at = await inFrontOfFramework(framework, MANIFEST)
      for (const path of ['/orders/EXPORT', '/orders/Export', '/orders/eXport']) {
        expectRefused(await at.send({ line: `GET ${path}` }), 'target_ambiguous')
      }
      expect(at.app.understood).toEqual([])
      expect((await at.send({ line: 'GET /orders/EXPORTS' })).status).toBe(200)
      expect((await at.send({ line: 'GET /orders/export' })).status).toBe(200)
      expect(at.app.understood).toMatchObject([
        { tool: 'order', params: { id: 'EXPORTS' } },
        { tool: 'export' },
      ])
    },
  )

  it('Rails would run export for /orders/export.json: it is ambiguous', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    for (const path of ['/orders/export.json', '/orders/export.x', '/orders/EXPORT.JSON']) {
      expectRefused(await at.send({ line: `GET ${path}` }), 'target_ambiguous')
    }
    expect(at.app.ran).toEqual([])
    expect((await at.send({ line: 'GET /orders/exports.json' })).status).toBe(200)
    expect(at.app.ran).toMatchObject([{ tool: 'order', params: { id: 'exports.json' } }])
  })

  it('a parameter in the middle may not be the literal of another rule either', async () => {
    const at = await inFrontOfFramework('Express 5', MANIFEST)
    expectRefused(await at.send({ line: 'DELETE /orders/Export/lines' }), 'target_ambiguous')
    expect((await at.send({ line: 'DELETE /orders/export/lines' })).status).toBe(200)
    expect((await at.send({ line: 'GET /orders/Export/lines' })).status).toBe(200)
    expect(at.app.understood.map(({ tool }) => tool)).toEqual(['export_lines', 'lines'])
  })

  it.each(['/orders/export.', '/orders/export..', '/orders/7.', '/orders./7'])(
    'IIS would cut trailing dots: %s is malformed',
    async (path) => {
      const at = await inFrontOf(aspnet, MANIFEST)
      expectRefused(await at.send({ line: `GET ${path}` }), 'target_malformed')
      expect(at.app.ran).toEqual([])
    },
  )

  it('HEAD is answered by GET’s route: a parameter may not be its literal', async () => {
    for (const framework of ['Express 4', 'Express 5'] as const) {
      const at = await inFrontOfFramework(framework, MANIFEST)
      for (const path of ['/orders/export', '/orders/EXPORT', '/orders/export.json']) {
        const refused = await at.send({ line: `HEAD ${path}` })
        expect([refused.status, refused.verdicts]).toEqual([400, ['denied']])
      }
      expect(at.app.understood).toEqual([])
      expect((await at.send({ line: 'HEAD /orders/7' })).status).toBe(200)
    }
  })

  it('a path that no rule matches is told apart from one that may be a rule’s', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const unknown = await at.send({ line: 'GET /elsewhere' })
    expect(unknown.problem).toMatchObject({ code: 'tool_unknown' })
    expectRefused(await at.send({ line: 'DELETE /ORDERS/export/lines' }), 'target_ambiguous')
    expect(at.app.ran).toEqual([])
  })

  it('paths: exact switches the folding off, and nothing else', () => {
    const manifest = manifestOf(MANIFEST)
    const loaded = [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }]
    const compiled = compileRouter(loaded, new Set(['default']))
    if (!compiled.ok) throw new Error('no router')
    const matched = (target: string) => match(compiled.router, httpCall('GET', target))
    for (const id of ['EXPORT', 'export.json']) {
      const found = matched(`/orders/${id}`)
      expect(found.ok && [found.route.rule.tool, found.params.get('id')]).toEqual(['order', id])
    }
    for (const path of ['/orders/export;x', '/orders/export.', '/orders/%65xport']) {
      expect(matched(path)).toMatchObject({ ok: false, code: 'target_malformed' })
    }
  })
})

describe('a pass-through route', () => {
  const PASSED = `id: com.acme.passed
tools:
  export: {match: GET /docs/export}
  secret: {match: "GET /docs/{team}/secret", args: {team: string}}
`
  const more = { passThrough: [{ path: '/docs', upstream: 'default', kind: 'http' as const }] }

  it.each([
    '/docs/EXPORT',
    '/docs/export.json',
    '/docs/Export.HTML',
    '/docs/x/SECRET',
    '/docs/x/secret.json',
  ])('does not take %s, which a governed route may be', async (path) => {
    const at = await inFrontOfFramework('Express 4', PASSED, more)
    for (const method of ['GET', 'HEAD']) {
      const refused = await at.send({ line: `${method} ${path}` })
      expect([refused.status, refused.verdicts]).toEqual([400, ['denied']])
      if (method === 'GET') expect(refused.problem).toMatchObject({ code: 'target_ambiguous' })
    }
    expect(at.app.understood).toEqual([])
  })

  it('does not take HEAD of a path that a GET rule governs', async () => {
    const at = await inFrontOfFramework('Express 5', PASSED, more)
    const refused = await at.send({ line: 'HEAD /docs/export' })
    expect([refused.status, refused.verdicts]).toEqual([400, ['denied']])
    expect(at.app.understood).toEqual([])
  })

  it('takes everything else as before', async () => {
    const at = await inFrontOfFramework('Express 5', PASSED, more)
    for (const line of ['GET /docs/exports', 'HEAD /docs/Intro.html', 'GET /docs/a/b/c']) {
      expect((await at.send({ line })).status).toBe(200)
    }
    expect(at.app.understood.map(({ tool }) => tool)).toEqual([null, null, null])
  })

  it('takes no path with ; or trailing dots', async () => {
    const at = await inFrontOfFramework('Express 5', PASSED, more)
    for (const path of ['/docs/export;x', '/docs/a;x/secret', '/docs/export.']) {
      expectRefused(await at.send({ line: `GET ${path}` }), 'target_malformed')
    }
    expect(at.app.understood).toEqual([])
  })
})
