import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { httpMatchOf } from '../../../../src/core/manifest/model.js'
import { manifestOf } from '../../../support/manifests.js'
import { cli, serving } from '../../support.js'

type Sent = readonly [method: string, target: string, body?: unknown]

let dir: string
let api: Server
let origin: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'capsule-gate-traffic-'))
  // A shop: what it does not have is a 404.
  api = createServer((req, res) => {
    const known = /^\/v1\/(?:orders|refunds|ping)(?:[/?]|$)/.test(req.url ?? '')
    req.resume().on('end', () => {
      res.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
      res.end('{"ok":true}')
    })
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
})
afterEach(async () => {
  api.close()
  api.closeAllConnections()
  await rm(dir, { recursive: true, force: true })
})

/** A call's verdict, for as long as a gate runs. */
const verdicts = <T>(
  args: readonly string[],
  cwd: string,
  use: (verdict: (sent: Sent) => Promise<string | null>) => Promise<T>,
  token?: string,
): Promise<T> =>
  serving(args, cwd, (url) =>
    use(async ([method, target, body]) => {
      const answer = await fetch(`${url}${target}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      await answer.arrayBuffer()
      return answer.headers.get('gate-verdict')
    }),
  )

const observe = (data = 'seen') => ['--upstream', origin, '--observe', '--data', data]
const init = (...more: readonly string[]) =>
  cli(['init', 'g', '--from-traffic', '--data', 'seen', '--upstream', origin, ...more], {
    cwd: dir,
  })

const READS: readonly Sent[] = [
  ['GET', '/v1/orders/ord_17?expand=true'],
  ['GET', '/v1/orders/ord_99'],
  ['GET', '/v1/orders/export'],
]
const WRITES: readonly Sent[] = [
  ['POST', '/v1/refunds', { order: 'ord_17', amount: '12.50', card_token: 'tok-very-secret' }],
  ['POST', '/v1/refunds', { order: 'ord_99', amount: '99.00', note: 'late' }],
  ['DELETE', '/v1/orders/7'],
  ['POST', '/v1/ping'],
]

describe('init --from-traffic', () => {
  it('observed calls become a project that starts: the same reads pass, the same writes ask', async () => {
    await verdicts(observe(), dir, async (verdict) => {
      for (const sent of [...READS, ...WRITES]) expect(await verdict(sent)).toBe('executed')
      await verdict(['GET', '/wp-login.php'])
      const early = await init()
      expect([early.code, early.err]).toEqual([1, expect.stringContaining('stop it first')])
    })
    const made = await init()
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' })
    expect(made.out).toContain('1 calls: the API did not carry them out')
    expect(made.out).not.toContain('would be refused')
    const folder = join(dir, 'g')
    const text = readFileSync(join(folder, 'manifests', 'api.yaml'), 'utf8')
    expect(text).not.toContain('very-secret')
    expect(text).toMatch(/# {3}post_v1_refunds_amount: \{amount: \{lte: "99"\}\}/)
    expect(
      manifestOf(text).rules.map(
        (rule) => `${httpMatchOf(rule)?.method} ${httpMatchOf(rule)?.path}`,
      ),
    ).toEqual([
      'DELETE /v1/orders/{order_id}',
      'GET /v1/orders/export',
      'GET /v1/orders/{order_id}',
      'POST /v1/ping',
      'POST /v1/refunds',
    ])
    const checked = await cli(['manifest', 'check', '--config', 'gate.yaml'], { cwd: folder })
    expect(checked.out).toMatch(/5 tools, 5 tests passed/)

    const token = (await cli(['tokens', 'create', '--name', 'my-agent'], { cwd: folder })).out
    await verdicts(
      ['--config', 'gate.yaml'],
      folder,
      async (verdict) => {
        for (const sent of READS) expect(await verdict(sent)).toBe('executed')
        for (const sent of WRITES) expect(await verdict(sent)).toBe('hitl_dispatched')
        expect(await verdict(['GET', '/v1/ping'])).toBe('denied')
        expect(await verdict(['POST', '/v1/refunds', { order: 'x', amount: 'all' }])).toBe('denied')
      },
      token.trim(),
    )
  })

  it('a gate that kept no request has nothing to learn from: exit 2, nothing written', async () => {
    await verdicts(observe(), dir, async (verdict) => {
      await verdict(['GET', '/nowhere'])
    })
    const { code, err } = await init()
    expect([code, err]).toEqual([2, expect.stringContaining('holds no call')])
    expect(existsSync(join(dir, 'g'))).toBe(false)
  })

  it('erased evidence is nothing to learn from: exit 2, nothing written', async () => {
    await verdicts(observe(), dir, async (verdict) => {
      for (const sent of READS) await verdict(sent)
    })
    const { operator, at } = firstDispatch()
    const scope = ['--operator', operator, '--day', at.slice(0, 10)]
    const erased = await cli(['evidence', 'erase', '--data', 'seen', ...scope, '--yes'], {
      cwd: dir,
    })
    expect(erased.out).toMatch(/^[1-9]\d* records went dark/)
    const { code, err } = await init()
    expect([code, err]).toEqual([2, expect.stringContaining('holds no call')])
  })

  it.each<[string, readonly string[]]>([
    ['no data folder', ['--from-traffic', '--upstream', 'http://127.0.0.1:1', '--data', 'none']],
    ['no upstream', ['--from-traffic']],
    ['two sources', ['--from-traffic', '--openapi', 'a.yaml', '--upstream', 'http://127.0.0.1:1']],
    ['a data folder and no traffic', ['--data', 'seen']],
  ])('%s: exit 2, nothing written and no data folder made', async (_name, args) => {
    writeFileSync(join(dir, 'a.yaml'), 'openapi: 3.1.0')
    const { code, err } = await cli(['init', 'g', ...args], { cwd: dir })
    expect(code).toBe(2)
    expect(err).not.toContain('\n    at ')
    expect(['g', 'none', 'seen', 'data'].filter((name) => existsSync(join(dir, name)))).toEqual([])
  })

  function firstDispatch(): { readonly operator: string; readonly at: string } {
    const lines = readFileSync(join(dir, 'seen', 'journal', '00000001.jsonl'), 'utf8').split('\n')
    return JSON.parse(lines.find((line) => line.includes('"ACTION_DISPATCHED"')) ?? '')
  }
})
