import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { type GovernedProxy, governedProxy } from '../../src/express.js'
import { AUTH, type Express, type Stand, startApp, VERSIONS } from '../mounts/express/harness.js'
import { ask } from '../mounts/proxy/harness.js'
import { httpServer } from '../support/readers/http-server.js'
import { type ReadingServer, serveAs } from '../support/reading-server.js'
import {
  expectRefused,
  FORM,
  field,
  MULTIPART,
  type Outcome,
  octets,
  outcome,
  type Sent,
} from './harness.js'

/** The same inside an application: what a handler behind the gate never gets to see. */
const MANIFEST = `id: com.acme.app
tools:
  export: {match: GET /orders/export}
  read: {match: "GET /orders/{id}", args: {id: string, limit: integer?}, irreversibility: two_way}
  pay: {match: POST /pay, args: {amount: decimal, to: {type: string, query: to}}}
  upload:
    match: POST /upload
    args: {folder: {type: string, query: folder}}
    also: {query: any, body: any}
    irreversibility: two_way
  refund: {args: {amount: decimal}}
`
const send = async (stand: Stand, request: Sent): Promise<Outcome> => {
  const { result, capsules } = await stand.after(() => ask(stand.port, octets(request, AUTH)))
  return outcome(
    result,
    capsules.map(({ disposition }) => disposition.verdict_class),
  )
}

describe.each(VERSIONS)('%s behind the middleware', (_, made) => {
  const express = made as Express
  let stand: Stand
  const handled: { readonly route: string; readonly query: unknown; readonly body: unknown }[] = []
  const handler = (route: string) => (req: Request, res: Response) => {
    const body = Buffer.isBuffer(req.body) ? req.body.toString() : req.body
    handled.push({ route, query: { ...req.query }, body })
    res.json({ route })
  }
  beforeAll(async () => {
    stand = await startApp(
      (guarded) => {
        const app = express()
        app.post('/refunds', guarded.guard('refund') as never, handler('refund'))
        app.use(guarded as never)
        app.use(express.urlencoded({ extended: true }))
        app.get('/orders/export', handler('export'))
        app.get('/orders/:id', handler('read'))
        app.post('/pay', handler('pay'))
        app.post('/upload', handler('upload'))
        return app
      },
      { manifest: MANIFEST },
    )
  })
  afterAll(() => stand.close())
  afterEach(() => {
    handled.length = 0
  })

  it('a GET’s unread body never reaches a handler', async () => {
    for (const [body, type] of [
      ['x', null],
      ['{"id":"9"}', 'application/json'],
      ['id=9', FORM],
    ] as const) {
      expectRefused(await send(stand, { line: 'GET /orders/7', body, type }), 'body_not_read')
    }
    expect(handled).toEqual([])
    expect((await send(stand, { line: 'GET /orders/7' })).status).toBe(200)
    expect(handled).toMatchObject([{ route: 'read' }])
  })

  it('a look-alike never reaches req.query', async () => {
    for (const name of ['[limit]', 'limit[]', 'LIMIT', 'limit']) {
      const line = `GET /orders/7?limit=1&${name}=9`
      expectRefused(await send(stand, { line }), 'arguments_invalid')
    }
    expectRefused(await send(stand, { line: 'GET /orders/7?x[y]=9' }), 'query_not_read')
    expect(handled).toEqual([])
  })

  it('a member that nothing reads never reaches req.body', async () => {
    const line = 'POST /pay?to=me'
    const refused = await send(stand, { line, body: '{"amount":"1","role":"admin"}' })
    expectRefused(refused, 'member_not_read', { pointer: '/role' })
    const merged = await send(stand, { line, body: '{"amount":"1","to":"you"}' })
    expectRefused(merged, 'arguments_invalid')
    expectRefused(await send(stand, { line, body: 'amount=9', type: FORM }), 'body_unreadable')
    expect(handled).toEqual([])
    expect((await send(stand, { line, body: '{"amount":"1"}' })).status).toBe(200)
    expect(handled).toMatchObject([{ route: 'pay', query: { to: 'me' }, body: { amount: '1' } }])
  })

  it('a path in another letter case never reaches the other route', async () => {
    for (const path of ['/orders/EXPORT', '/orders/export.json']) {
      expectRefused(await send(stand, { line: `GET ${path}` }), 'target_ambiguous')
    }
    expectRefused(await send(stand, { line: 'GET /orders/export;x' }), 'target_malformed')
    expect(handled).toEqual([])
  })

  it('a form let through unread may not override, nor change the method', async () => {
    const line = 'POST /upload?folder=a'
    for (const [body, type] of [
      ['folder=b', FORM],
      ['[folder]=b', FORM],
      ['_method=DELETE', FORM],
      [field('folder', 'b'), MULTIPART],
      [field('_method', 'DELETE'), MULTIPART],
    ] as const) {
      expectRefused(await send(stand, { line, body, type }), 'arguments_invalid')
    }
    expectRefused(await send(stand, { line: `${line}&_method=DELETE` }), 'arguments_invalid')
    expect(handled).toEqual([])
    expect((await send(stand, { line, body: 'file=b', type: FORM })).status).toBe(200)
    expect(handled).toMatchObject([{ route: 'upload', query: { folder: 'a' } }])
  })

  it('a guarded route is as closed', async () => {
    const body = '{"amount":"1"}'
    const refused = await send(stand, { line: 'POST /refunds?x=1', body })
    expectRefused(refused, 'query_not_read', { not_read: 'x' })
    expectRefused(await send(stand, { line: 'POST /refunds?amount=9', body }), 'arguments_invalid')
    const more = '{"amount":"1","role":"admin"}'
    expectRefused(await send(stand, { line: 'POST /refunds', body: more }), 'member_not_read')
    expect(handled).toEqual([])
    expect((await send(stand, { line: 'POST /refunds', body })).status).toBe(200)
    expect(handled).toMatchObject([{ route: 'refund', body: { amount: '1' } }])
  })
})

describe.each(VERSIONS)('%s with governedProxy', (_, made) => {
  const express = made as Express
  let stand: Stand
  let app: ReadingServer
  let proxy: GovernedProxy
  beforeAll(async () => {
    app = await serveAs(httpServer, [
      { tool: 'read', method: 'GET', path: '/orders/{id}' },
      { tool: 'upload', method: 'POST', path: '/upload' },
      { tool: 'drop', method: 'DELETE', path: '/orders/{id}' },
    ])
    stand = await startApp(
      (_guarded, gate) => {
        proxy = governedProxy({
          gate,
          target: app.origin,
          credential: { header: 'X-Key', value: () => 'the-gate-s-own' },
        })
        return express().use('/api', proxy as never)
      },
      { manifest: MANIFEST },
    )
  })
  afterAll(async () => {
    await stand.close()
    await proxy.close()
    await app.close()
  })
  afterEach(() => {
    app.ran.length = 0
  })
  const SMUGGLED = 'DELETE /orders/1 HTTP/1.1\r\nhost: x\r\nx-rest: '

  it('an unread GET body is not the next request with the gate’s credential', async () => {
    const line = 'GET /api/orders/7'
    expectRefused(await send(stand, { line, body: SMUGGLED, type: null }), 'body_not_read')
    expect((await send(stand, { line })).status).toBe(200)
    expect((await send(stand, { line })).status).toBe(200)
    expect(app.ran.map(({ tool }) => tool)).toEqual(['read', 'read'])
    expect(app.connections()).toBe(1)
  })

  it('a body let through unread has a connection of its own', async () => {
    const before = app.connections()
    const request = { line: 'POST /api/upload?folder=a', body: SMUGGLED, type: 'text/plain' }
    expect((await send(stand, request)).status).toBe(200)
    expect((await send(stand, request)).status).toBe(200)
    expect(app.connections() - before).toBe(2)
    expect(app.ran.map(({ tool }) => tool)).toEqual(['upload', 'upload'])
  })

  it('refuses what the proxy refuses', async () => {
    for (const [line, code] of [
      ['GET /api/orders/7?[limit]=9', 'arguments_invalid'],
      ['GET /api/orders/EXPORT', 'target_ambiguous'],
      ['GET /api/orders/export;x', 'target_malformed'],
      ['POST /api/upload?folder=a&_method=DELETE', 'arguments_invalid'],
    ] as const) {
      expectRefused(await send(stand, { line }), code)
    }
    expect(app.ran).toEqual([])
  })
})
