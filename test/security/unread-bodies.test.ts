import { connect } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { httpServer } from '../support/readers/http-server.js'
import { php } from '../support/readers/php.js'
import { rack } from '../support/readers/rack.js'
import { servlet } from '../support/readers/servlet.js'
import { serveAs } from '../support/reading-server.js'
import { expectRefused, FORM, field, MULTIPART, scenes } from './harness.js'

/** A body that the rule does not read: what servers do with it, and that the gate does not let them. */
const MANIFEST = `id: com.acme.shop
tools:
  read_order:
    match: GET /orders/{id}
    args: {id: string}
    irreversibility: two_way
  delete_order:
    match: DELETE /orders/{id}
    args: {id: string}
  search:
    match: GET /search
    args: {q: string, type: {type: string, optional: true, body: /type}}
    irreversibility: two_way
  transfer:
    match: POST /transfer
    args: {amount: {type: decimal, query: amount}, to: {type: string, query: to}}
    connection: pooled
  upload:
    match: POST /upload
    args: {folder: {type: string, query: folder}}
    also: {body: any}
    irreversibility: two_way
`
const SMUGGLED = 'DELETE /orders/1 HTTP/1.1\r\nhost: x\r\nx-rest: '

const { inFrontOf, inFrontOfFramework } = scenes()

describe('a body that nothing reads', () => {
  it('is, to http.server, the next request, with the next caller’s credential behind it', async () => {
    const app = await serveAs(httpServer, [
      { tool: 'read_order', method: 'GET', path: '/orders/{id}' },
      { tool: 'delete_order', method: 'DELETE', path: '/orders/{id}' },
    ])
    const socket = connect(app.port, '127.0.0.1')
    socket.write(
      `GET /orders/7 HTTP/1.1\r\nhost: x\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
    )
    socket.write('GET /orders/8 HTTP/1.1\r\nhost: x\r\nauthorization: the-gate-s-own\r\n\r\n')
    while (app.ran.length < 2) await new Promise((resolve) => socket.once('data', resolve))
    expect(app.ran.map(({ tool, params }) => [tool, params.id])).toEqual([
      ['read_order', '7'],
      ['delete_order', '1'],
    ])
    expect(app.ran[1]?.headers).toContainEqual(['authorization', 'the-gate-s-own'])
    socket.destroy()
    await app.close()
  })

  it.each(['GET', 'DELETE'])(
    'of a %s is refused before http.server could take it for a request',
    async (method) => {
      const at = await inFrontOf(httpServer, MANIFEST)
      expectRefused(
        await at.send({ line: `${method} /orders/7`, body: SMUGGLED, type: null }),
        'body_not_read',
      )
      expect((await at.send({ line: `${method} /orders/7` })).status).toBe(200)
      expect(at.app.ran).toHaveLength(1)
      expect(at.app.ran[0]).toMatchObject({ method, params: { id: '7' } })
    },
  )

  it('is refused as a form too: Rack would put it over the query, for GET and DELETE as well', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    for (const line of ['GET /orders/7', 'DELETE /orders/7', 'POST /transfer?amount=1&to=me']) {
      expectRefused(await at.send({ line, body: 'amount=9&id=1', type: FORM }), 'body_not_read')
    }
    expect(at.app.ran).toEqual([])
  })

  it('never reaches a handler that merges body and query: Express 4, Express 5, fastify, koa', async () => {
    for (const framework of ['Express 4', 'Express 5', 'fastify', 'koa'] as const) {
      const at = await inFrontOfFramework(framework, MANIFEST)
      const line = 'POST /transfer?amount=1&to=me'
      expectRefused(await at.send({ line, body: 'amount=9', type: FORM }), 'body_not_read')
      expectRefused(await at.send({ line, body: '{"amount":"9"}' }), 'body_not_read')
      expect(at.app.understood).toEqual([])
      expect((await at.send({ line })).status).toBe(200)
      expect(at.app.understood).toMatchObject([
        { tool: 'transfer', method: 'POST', merged: { amount: '1', to: 'me' } },
      ])
    }
  })

  it('is refused empty-looking too, and a chunked one', async () => {
    const at = await inFrontOf(httpServer, MANIFEST)
    for (const body of [' ', '{}', 'null', '\0']) {
      expectRefused(await at.send({ line: 'GET /orders/7', body, type: null }), 'body_not_read')
    }
    const chunked = {
      line: 'GET /orders/7',
      headers: ['transfer-encoding: chunked', '', '1\r\nx\r\n0\r\n'],
    }
    expectRefused(await at.send(chunked), 'body_not_read')
    expect(at.app.ran).toEqual([])
  })

  it('of a GET passes where the rule reads it', async () => {
    const at = await inFrontOf(httpServer, MANIFEST)
    const sent = await at.send({ line: 'GET /search?q=x', body: '{"type":"open"}' })
    expect(sent.status).toBe(200)
    expect(at.app.ran).toMatchObject([
      { tool: 'search', bags: { parse_qs: { q: ['x'] }, 'json.loads': { type: 'open' } } },
    ])
    expectRefused(
      await at.send({ line: 'GET /search?q=x', body: SMUGGLED, type: null }),
      'body_unreadable',
    )
  })
})

describe('_method', () => {
  const OPEN = `id: com.acme.open
tools:
  note: {match: "POST /orders/{id}", args: {id: string}, also: {query: any, body: any}}
  delete_order: {match: "DELETE /orders/{id}", args: {id: string}}
`
  it.each([
    ['Rack, form', rack, { body: '_method=DELETE', type: FORM }],
    ['Rack, form without a type', rack, { body: '_method=DELETE', type: null }],
    ['Rack, multipart', rack, { body: field('_method', 'DELETE'), type: MULTIPART }],
    ['PHP, form', php, { body: 'a=1&_method=DELETE', type: FORM }],
    ['PHP, form, mangled', php, { body: '.method=DELETE', type: FORM }],
    ['PHP, multipart', php, { body: field('_method', 'DELETE'), type: MULTIPART }],
  ])('runs no POST as DELETE: %s', async (_, reader, more) => {
    const at = await inFrontOf(reader, OPEN)
    const refused = await at.send({ line: 'POST /orders/7', ...more })
    expectRefused(refused, 'arguments_invalid')
    expect(refused.problem.fault).toMatch(/method/)
    expect(at.app.ran).toEqual([])
    expect((await at.send({ line: 'POST /orders/7', body: 'method=x', type: FORM })).status).toBe(
      200,
    )
    expect(at.app.ran).toMatchObject([{ tool: 'note', method: 'POST' }])
  })

  it('in the query runs no POST as DELETE either', async () => {
    const at = await inFrontOf(php, OPEN)
    for (const name of ['_method', '_METHOD', '%5Fmethod', '+_method', '.method', '[_method]']) {
      expectRefused(await at.send({ line: `POST /orders/7?${name}=DELETE` }), 'arguments_invalid')
    }
    expect(at.app.ran).toEqual([])
  })

  it('in a header never leaves the gate', async () => {
    const at = await inFrontOf(rack, OPEN)
    const headers = [
      'x-http-method-override: DELETE',
      'x-http-method: DELETE',
      'x-method-override: DELETE',
    ]
    expect((await at.send({ line: 'POST /orders/7', headers })).status).toBe(200)
    expect(at.app.ran[0]?.headers.map(([name]) => name)).not.toContain('x-http-method-override')
    expect(at.app.ran[0]?.headers.filter(([name]) => /method/.test(name))).toEqual([])
  })
})

describe('also: {body: any} without a rule that reads the body', () => {
  it('lets the body through on a fresh connection each time, and never pools it', async () => {
    const at = await inFrontOf(httpServer, MANIFEST)
    const before = at.app.connections()
    for (const times of [1, 2, 3]) {
      const sent = await at.send({
        line: 'POST /upload?folder=a',
        body: SMUGGLED,
        type: 'text/plain',
      })
      expect(sent.status).toBe(200)
      expect(at.app.connections() - before).toBe(times)
    }
    expect(at.app.ran.map(({ tool }) => tool)).toEqual(['upload', 'upload', 'upload'])
    expect(at.app.ran[0]?.headers).toContainEqual(['connection', 'close'])
    // The next call takes no connection on which something is left.
    expect((await at.send({ line: 'GET /orders/7' })).status).toBe(200)
    expect(at.app.ran.at(-1)).toMatchObject({ tool: 'read_order' })
    expect(at.app.connections() - before).toBeLessThanOrEqual(4)
  })

  it('may not be called pooled', async () => {
    await expect(
      inFrontOf(
        httpServer,
        MANIFEST.replace('also: {body: any}', 'also: {body: any}\n    connection: pooled'),
      ),
    ).rejects.toThrow(/may not share a connection/)
  })

  it.each([
    ['Rack', rack, 'folder=b', FORM],
    ['Rack, by ;', rack, 'x=1;folder=b', FORM],
    ['Rack, in brackets', rack, '[folder]=b', FORM],
    ['Rack, without a type', rack, 'folder=b', null],
    ['Rack, multipart', rack, field('folder', 'b'), MULTIPART],
    ['PHP', php, 'folder=b', FORM],
    ['PHP, with a space', php, '+folder=b', FORM],
    ['PHP, multipart', php, field('folder', 'b'), MULTIPART],
    ['servlet', servlet, 'folder=b', FORM],
    ['a handler that merges JSON', rack, '{"folder":"b"}', 'application/json'],
  ])('refuses a body that names an argument: %s', async (_, reader, body, type) => {
    const at = await inFrontOf(reader, MANIFEST)
    expectRefused(await at.send({ line: 'POST /upload?folder=a', body, type }), 'arguments_invalid')
    expect(at.app.ran).toEqual([])
    const other = body.replaceAll('folder', 'file')
    expect((await at.send({ line: 'POST /upload?folder=a', body: other, type })).status).toBe(200)
    expect(at.app.ran).toHaveLength(1)
  })
})
