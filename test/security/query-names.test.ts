import { describe, expect, it } from '@jest/globals'
import { FRAMEWORKS } from '../support/frameworks.js'
import { aspnet } from '../support/readers/aspnet.js'
import { php } from '../support/readers/php.js'
import { rack } from '../support/readers/rack.js'
import { servlet } from '../support/readers/servlet.js'
import { protobuf } from '../support/readers/typed-json.js'
import type { Reader } from '../support/readers/view.js'
import { expectRefused, scenes } from './harness.js'

/** Query names that a server takes for an argument, and names that nothing reads. */
const { inFrontOf, inFrontOfFramework } = scenes()
const MANIFEST = `id: com.acme.users
tools:
  list:
    match: GET /users
    args: {user_id: string, limit: integer?}
    also: {query: any}
  page:
    match: GET /pages
    args: {user_id: string}
    irreversibility: two_way
  export:
    match: GET /exports
    args: {user_id: string}
    also: {query: [trace, "expand[]", $select]}
  find:
    match: GET /found
    args: {status: {type: string, query: "filter[status]"}, top: {type: integer, query: $top}}
    also: {query: any}
  pay:
    match: POST /pay
    args: {amount: decimal, to: {type: string, query: to}}
    also: {query: any}
`

describe('a second spelling of an argument', () => {
  const LOOK_ALIKES: readonly (readonly [string, Reader])[] = [
    ['user.id', php],
    ['user+id', php],
    ['user%20id', php],
    ['+user_id', php],
    ['user[id', php],
    ['user_id[]', php],
    ['[user_id]', rack],
    ['user_id[x]', rack],
    ['userId', protobuf],
    ['USER_ID', aspnet],
    ['User_Id', aspnet],
    ['user_id', servlet],
  ]
  it.each(LOOK_ALIKES)('%s misleads a server, and is refused under any', async (name, reader) => {
    const at = await inFrontOf(reader, MANIFEST)
    for (const line of [`GET /users?user_id=7&${name}=9`, `GET /users?${name}=9&user_id=7`]) {
      expectRefused(await at.send({ line }), 'arguments_invalid')
    }
    expect(at.app.ran).toEqual([])
    const other = await at.send({ line: 'GET /users?user_id=7&other=9' })
    expect(other.status).toBe(200)
    expect(at.app.ran).toHaveLength(1)
  })

  it.each(FRAMEWORKS)('%s gets the judged value only', async (framework) => {
    const at = await inFrontOfFramework(framework, MANIFEST)
    for (const name of ['[limit]', 'limit[]', 'limit', 'Limit', '%5Blimit%5D', 'limit[0]']) {
      const line = `GET /users?user_id=7&limit=1&${name}=999`
      expectRefused(await at.send({ line }), 'arguments_invalid')
    }
    expect(at.app.understood).toEqual([])
    expect((await at.send({ line: 'GET /users?user_id=7&limit=1&x=2' })).status).toBe(200)
    expect(at.app.understood).toMatchObject([{ query: { user_id: '7', limit: '1' } }])
  })

  it('[limit] alone is no way around the argument: Express 4 would read it as limit', async () => {
    const at = await inFrontOfFramework('Express 4', MANIFEST)
    expectRefused(await at.send({ line: 'GET /users?user_id=7&[limit]=999' }), 'arguments_invalid')
    expect(at.app.understood).toEqual([])
  })

  it('is refused in every class, and for rules that let nothing more through', async () => {
    const at = await inFrontOf(php, MANIFEST)
    for (const path of ['/users', '/pages', '/exports']) {
      const refused = await at.send({ line: `GET ${path}?user_id=7&user.id=9` })
      expectRefused(refused, 'arguments_invalid')
      expect(refused.problem.fault).toContain('user_id')
    }
    expect(at.app.ran).toEqual([])
  })

  it('a name that args spells octet for octet passes: filter[status], $top', async () => {
    const at = await inFrontOf(php, MANIFEST)
    const sent = await at.send({ line: 'GET /found?filter[status]=open&$top=5' })
    expect(sent.status).toBe(200)
    expect(at.app.ran).toMatchObject([
      { bags: { $_GET: { filter: { status: 'open' }, $top: '5' } } },
    ])
    for (const name of ['filter', 'filter.status', 'filter[Status]', 'filter[status][]', 'top']) {
      const line = `GET /found?filter[status]=open&$top=5&${name}=x`
      expectRefused(await at.send({ line }), 'arguments_invalid')
    }
  })

  it('; is a separator to Rack: x=1;user_id=9 is refused', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    for (const query of ['x=1;user_id=9&user_id=7', 'user_id=7;x=1', 'user_id=7&x=1;limit=9']) {
      expectRefused(await at.send({ line: `GET /users?${query}` }), 'arguments_invalid')
    }
    expect(at.app.ran).toEqual([])
    expect((await at.send({ line: 'GET /users?user_id=7%3Bx' })).status).toBe(200)
    expect(at.app.ran).toMatchObject([{ bags: { GET: { user_id: '7;x' } } }])
  })

  it('an argument of the body is refused in the query, and the other way round', async () => {
    for (const framework of FRAMEWORKS) {
      const at = await inFrontOfFramework(framework, MANIFEST)
      const body = '{"amount":"1"}'
      expectRefused(await at.send({ line: 'POST /pay?to=me&amount=9', body }), 'arguments_invalid')
      expectRefused(
        await at.send({ line: 'POST /pay?to=me&[amount]=9', body }),
        'arguments_invalid',
      )
      const other = '{"amount":"1","to":"you"}'
      expectRefused(await at.send({ line: 'POST /pay?to=me', body: other }), 'arguments_invalid')
      expect(at.app.understood).toEqual([])
      expect((await at.send({ line: 'POST /pay?to=me', body })).status).toBe(200)
      expect(at.app.understood).toMatchObject([{ merged: { amount: '1', to: 'me' } }])
    }
  })
})

describe('a query name that nothing reads', () => {
  it('is refused by name for every class but two_way', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const refused = await at.send({ line: 'GET /exports?user_id=7&role=admin' })
    expectRefused(refused, 'query_not_read', { not_read: 'role' })
    expect(at.app.ran).toEqual([])
  })

  it('passes for two_way where its letters are plain', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    expect((await at.send({ line: 'GET /pages?user_id=7&page=2&sort.by=a&x-y_z=1' })).status).toBe(
      200,
    )
    expect(at.app.ran).toHaveLength(1)
    for (const name of ['page[size]', 'a%20b', '$top', '%F0%9F%98%80', 'x%5B']) {
      const refused = await at.send({ line: `GET /pages?user_id=7&${name}=1` })
      expectRefused(refused, 'query_not_read', { not_read: decodeURIComponent(name) })
    }
    expect(at.app.ran).toHaveLength(1)
  })

  it('passes where also lists it, octet for octet', async () => {
    const at = await inFrontOf(rack, MANIFEST)
    const line = 'GET /exports?user_id=7&trace=1&expand[]=a&expand[]=b&$select=x'
    expect((await at.send({ line })).status).toBe(200)
    expect(at.app.ran).toMatchObject([{ bags: { GET: { user_id: '7', expand: ['a', 'b'] } } }])
    for (const name of ['Trace', 'expand', 'select', 'trace2']) {
      expectRefused(await at.send({ line: `GET /exports?user_id=7&${name}=1` }), 'query_not_read', {
        not_read: name,
      })
    }
  })

  it('passes under any whatever its letters', async () => {
    const at = await inFrontOf(php, MANIFEST)
    expect((await at.send({ line: 'GET /users?user_id=7&page[size]=2&a+b=1&$x=y' })).status).toBe(
      200,
    )
    expect(at.app.ran).toHaveLength(1)
  })
})
