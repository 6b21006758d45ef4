import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { migrateManifest } from '../../../src/config/migrate-manifest.js'
import { match } from '../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../src/core/manifest/route/read-args.js'
import { httpCall, manifestOf, PAYMENTS, routerOf } from '../../support/manifests.js'
import { rig } from '../../support/rig.js'
import { cli } from '../support.js'

const V1 = 'manifest: gate.constraints/v1\n'
const OLD = `# who wrote this
id: com.acme.orders   # and why
tools:
  # refunds first
  create_refund:
    match: POST /v1/refunds
    args: {order: string}
  read: {match: "GET /v1/orders/{id}", args: {id: string}, irreversibility: two_way}
  whole:
    match: POST /v1/whole
    constraints: {shape: {$body: {schema: {type: object}}}}
`

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-migrate-'))
  mkdirSync(join(dir, 'manifests'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))
const write = (name: string, text: string): void =>
  writeFileSync(join(dir, 'manifests', name), text)
const read = (name: string): string => readFileSync(join(dir, 'manifests', name), 'utf8')
const migrate = (...more: string[]) =>
  cli(['manifest', 'migrate', '-d', join(dir, 'manifests'), ...more])

describe('manifest migrate', () => {
  it('writes the line and what was open, and leaves every other character alone', async () => {
    write('orders.yaml', OLD)
    const { code, out } = await migrate()
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      'wrote  orders.yaml  create_refund, read, whole',
    ])
    expect(read('orders.yaml')).toBe(`# who wrote this
manifest: gate.constraints/v2
id: com.acme.orders   # and why
tools:
  # refunds first
  create_refund:
    also: {query: any, body: any}
    match: POST /v1/refunds
    args: {order: string}
  read: {also: {query: any, body: any}, match: "GET /v1/orders/{id}", args: {id: string}, irreversibility: two_way}
  whole:
    also: {query: any}
    match: POST /v1/whole
    constraints: {shape: {$body: {schema: {type: object}}}}
`)
    const again = await migrate('--json')
    expect(JSON.parse(again.out)).toEqual({
      ok: true,
      written: true,
      migrated: [],
      current: ['orders.yaml'],
    })
  })

  it('keeps JSON, the full form and an explicit v1 what they are', async () => {
    write('a.json', '{"id":"com.acme.a","tools":{"x":{"match":"POST /x"},"y":{}}}')
    write(
      'b.yaml',
      `${V1}id: com.acme.b\nrules:\n  - tool: x\n    match: GET /b\n  -   tool: y\n      match: GET /c\n`,
    )
    expect((await migrate()).code).toBe(0)
    expect(JSON.parse(read('a.json'))).toEqual({
      manifest: 'gate.constraints/v2',
      id: 'com.acme.a',
      tools: {
        x: { also: { query: 'any', body: 'any' }, match: 'POST /x' },
        y: { also: { query: 'any', body: 'any' } },
      },
    })
    expect(read('b.yaml')).toBe(
      'manifest: gate.constraints/v2\nid: com.acme.b\nrules:\n  - also: {query: any, body: any}\n    tool: x\n    match: GET /b\n  -   also: {query: any, body: any}\n      tool: y\n      match: GET /c\n',
    )
  })

  it('keeps intent and object as they are', async () => {
    const shop = `id: com.acme.shop
object:
  type: order
  id: order
  states: [open, closed]
  transitions: {close: {from: open, to: closed}}
tools:
  close: {match: "POST /close/{order}", args: {order: string}, intent: required, thin: refuse}
`
    write('shop.yaml', shop)
    expect((await migrate()).code).toBe(0)
    const migrated = read('shop.yaml')
    expect(migrated).toBe(
      `manifest: gate.constraints/v2\n${shop.replace('{match', '{also: {query: any, body: any}, match')}`,
    )
    const { also: _, ...rule } = { ...manifestOf(migrated).rules[0] }
    expect(rule).toEqual({ ...manifestOf(V1 + shop).rules[0] })
    expect(manifestOf(migrated).object).toEqual(manifestOf(V1 + shop).object)
  })

  it('writes nothing with --dry-run, and nothing at all when one file cannot be read', async () => {
    write('orders.yaml', OLD)
    const dry = await migrate('--dry-run')
    expect(dry.out).toContain('also: {query: any, body: any}')
    expect(read('orders.yaml')).toBe(OLD)
    write('broken.yaml', 'id: com.acme.broken\ntools: [1]\n')
    const { code, err } = await migrate()
    expect([code, err]).toEqual([1, expect.stringContaining('broken.yaml')])
    expect(read('orders.yaml')).toBe(OLD)
  })

  it('behaves as v1 did, call for call', () => {
    const body = `id: com.acme.p
tools:
  pay: {match: "POST /pay/{who}", args: {who: string, amount: decimal, memo: {type: string, query: memo, optional: true}}}
  look: {match: GET /look, irreversibility: two_way}
`
    const migrated = migrateManifest(body, false)
    if (migrated.kind !== 'written') throw new Error('it migrates')
    const [before, after] = [routerOf(V1 + body), routerOf(migrated.text)]
    const name = fc.constantFrom('memo', 'Memo', 'x', 'x[y]', 'who', '_method', 'a.b', 'amount')
    const query = fc.array(fc.tuple(name, fc.constantFrom('1', '')), { maxLength: 3 })
    const call = fc.record({
      method: fc.constantFrom('POST', 'GET'),
      query,
      body: fc.option(fc.dictionary(name, fc.constantFrom<unknown>('1', 2, { amount: '1' }))),
    })
    fc.assert(
      fc.property(call, (drawn) => {
        const target = drawn.method === 'GET' ? '/look' : '/pay/me'
        const sent = httpCall(
          drawn.method,
          `${target}?${new URLSearchParams(drawn.query)}`,
          drawn.body ?? undefined,
        )
        const answers = [before, after].map((router) => {
          const found = match(router, sent)
          if (!found.ok) throw new Error(found.detail)
          const args = readArgs(found, sent)
          return args.ok ? [...args.args.keys(), args.notRead, args.notJudged] : args.code
        })
        expect(answers[1]).toEqual(answers[0])
      }),
      { numRuns: 1000 },
    )
  })
})

describe('manifest check', () => {
  it('warns of v1 and of any on tools that cannot be undone, tool by tool', async () => {
    write('a.yaml', `${V1}id: com.acme.a\ntools: {x: {match: GET /x}, y: {match: GET /y}}\n`)
    write(
      'b.yaml',
      'id: com.acme.b\ntools:\n  pay: {match: POST /pay, also: {query: any}}\n  see: {match: GET /see, irreversibility: two_way, also: {query: any}}\n  alike: {match: GET /alike, args: {user_id: string}, also: {query: [userId]}}\n',
    )
    const { code, out } = await cli(['manifest', 'check', '-d', join(dir, 'manifests'), '--json'])
    const { ok, warnings } = JSON.parse(out)
    expect([code, ok]).toEqual([0, true])
    expect(
      warnings.map(({ tool, code: why }: { tool: string; code: string }) => `${tool} ${why}`),
    ).toEqual(['x v1_open', 'y v1_open', 'pay any_one_way', 'alike names_alike'])
  })

  it('finds tests that hold what their tool does not read', async () => {
    write(
      'a.yaml',
      `id: com.acme.a
tools:
  pay: {match: POST /pay, args: {amount: decimal}}
  close: {match: POST /close}
tests:
  - {tool: pay, args: {amount: "1"}, body: {amount: "1", role: admin}, expect: pass}
  - {tool: close, body: {a: 1}, expect: pass}
  - {tool: pay, args: {amount: "1"}, body: {amount: "1"}, expect: pass}
`,
    )
    const { code, err } = await cli(['manifest', 'check', '-d', join(dir, 'manifests')])
    expect(code).toBe(1)
    expect(err).toMatch(/test 1 of pay has \/role, which the tool does not read/)
    expect(err).toMatch(/test 2 of close has a body/)
    expect(err).not.toMatch(/test 3/)
  })
})

describe('the first start after the change', () => {
  const warned = (reports: readonly { event: string; detail?: string }[]): readonly string[] =>
    reports.flatMap(({ event, detail }) => (event === 'manifest_warning' ? [detail ?? ''] : []))

  it('names each tool that the record knows as open, and only that once', async () => {
    const open = await rig({ manifest: V1 + PAYMENTS })
    expect(warned(open.reports)).toEqual([
      expect.stringMatching(/create_refund lets query names.*manifest migrate/),
    ])
    const closed = await open.restart({ manifest: PAYMENTS })
    expect(warned(closed.reports)).toEqual([
      expect.stringMatching(/create_refund now refuses .*manifest migrate/),
    ])
    const later = await closed.restart()
    expect(warned(later.reports)).toEqual([])
    await later.close()
    const fresh = await rig({ manifest: PAYMENTS })
    expect(warned(fresh.reports)).toEqual([])
    await fresh.close()
  })

  it('an explicit v1 keeps the digest it had', () => {
    expect(manifestOf(V1 + PAYMENTS).rules[0]).not.toHaveProperty('also')
  })
})
