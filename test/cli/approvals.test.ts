import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Detail, detail, type Plane, startPlane, waiting } from '../mounts/approver/harness.js'
import { cli, type Ran } from './support.js'

const approvals = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> =>
  cli(['approvals', ...args], { env })

let plane: Plane
let order = 0
const next = () => waiting(plane, `o-${++order}`)
const run = (...args: string[]): Promise<Ran> =>
  approvals(args, { GATE_ADMIN_URL: plane.url, GATE_ADMIN_TOKEN: plane.tokens.approver })
const state = async ({ approval_id }: Detail) => (await detail(plane, approval_id)).state

beforeAll(async () => {
  plane = await startPlane()
})
afterAll(() => plane.close())

describe('approvals', () => {
  it('ls shows what waits, in a table and as JSON', async () => {
    const item = await next()
    const text = await run('ls', '--tool', 'create_refund')
    expect([text.code, text.out.includes(item.approval_id)]).toEqual([0, true])
    const json = JSON.parse((await run('ls', '--json', '--mine')).out)
    expect(json.approvals.at(-1)).toMatchObject({ approval_id: item.approval_id, state: 'pending' })
    expect((await run('ls', '--agent', 'nobody')).out).toBe('nothing\n')
  })

  it('show prints the document whole, its hidden characters spelt out, and the digest last', async () => {
    const item = await waiting(plane, '\u001b[2K\u202e\u200bo-9\r"x"')
    const { code, out } = await run('show', item.approval_id)
    expect(code).toBe(0)
    expect(out).toContain('"\\u{1B}[2K\\u{202E}\\u{200B}o-9\\u{D}\\"x\\""')
    expect(out).not.toMatch(/[\u001b\u202e\u200b\r]/)
    expect(out.trimEnd().split('\n').at(-1)).toBe(`digest ${item.document_digest}`)
  })

  it('approve wants the digest of what was read', async () => {
    const item = await next()
    const blind = await run('approve', item.approval_id)
    expect([blind.code, blind.err]).toEqual([2, expect.stringContaining('approvals show')])
    expect((await run('approve', item.approval_id, item.document_digest.slice(0, 8))).code).toBe(2)
    const wrong = await run('approve', item.approval_id, '0'.repeat(12))
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('show it again')])
    expect(await state(item)).toBe('pending')
    const done = await run('approve', item.approval_id, item.document_digest.slice(0, 12))
    expect([done.code, done.out]).toEqual([0, 'approved: the identical call runs once\n'])
    expect(await state(item)).toBe('approved')
    const again = await run('approve', item.approval_id, '--digest', item.document_digest, '--json')
    expect(JSON.parse(again.out)).toMatchObject({ state: 'approved', repeated: true })
  })

  it('reopen takes a refusal back once, and nothing else', async () => {
    const item = await next()
    expect((await run('reopen', item.approval_id)).err).toContain('No refusal by a person stands')
    await run('deny', item.approval_id, '--reason', 'no')
    expect(await detail(plane, item.approval_id)).toMatchObject({
      refused_until: expect.any(String),
    })
    const done = await run('reopen', item.approval_id, '--reason', 'misread it')
    expect([done.code, done.out]).toEqual([0, 'reopened: the same call asks a human again\n'])
    expect(await detail(plane, item.approval_id)).toMatchObject({ refused_until: null })
    expect((await run('reopen', item.approval_id)).code).toBe(1)
  })

  it('deny wants a reason, defer a time, and a second outcome is refused', async () => {
    const item = await next()
    expect((await run('deny', item.approval_id)).code).toBe(2)
    expect((await run('defer', item.approval_id, '--for', 'soon')).code).toBe(2)
    expect((await run('defer', item.approval_id, '--for', '2h')).out).toBe(
      'postponed: it stays open\n',
    )
    expect((await run('deny', item.approval_id, '--reason', 'no')).out).toBe(
      'refused: the call will not run\n',
    )
    const late = await run('approve', item.approval_id, item.document_digest)
    expect([late.code, late.err]).toEqual([1, expect.stringContaining('resolved')])
  })

  it('approves within bounds, and says which one the call breaks', async () => {
    const item = await next()
    const bounds = (cap: string) => JSON.stringify({ cap: { amount: { lte: cap } } })
    const digest = item.document_digest
    const broken = await run('approve', item.approval_id, digest, '--bounds', bounds('10.00'))
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('cap')])
    const kept = await run('approve', item.approval_id, digest, '--bounds', bounds('300.00'))
    expect(kept.code).toBe(0)
  })

  it('shows and approves nothing when the document is not the one its digest names', async () => {
    const item = await next()
    const posted: string[] = []
    const liar = createServer((request, response) => {
      if (request.method === 'POST') posted.push(request.url ?? '')
      const document = { ...item.document, tool: 'harmless' }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ ...item, document }))
    })
    await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`
    const env = { GATE_ADMIN_URL: url, GATE_ADMIN_TOKEN: 'x' }
    const shown = await approvals(['show', item.approval_id], env)
    const decided = await approvals(['approve', item.approval_id, item.document_digest], env)
    liar.closeAllConnections()
    liar.close()
    expect([shown.code, decided.code, posted]).toEqual([1, 1, []])
    expect(shown.out).toBe('')
  })

  it('says what is missing: no token, an agent token, an unknown id', async () => {
    const env = { GATE_ADMIN_URL: plane.url }
    expect((await approvals(['ls'], env)).code).toBe(2)
    const agent = await approvals(['ls'], { ...env, GATE_ADMIN_TOKEN: plane.tokens.agent })
    expect([agent.code, agent.err]).toEqual([1, expect.stringContaining('403')])
    expect((await run('show', '../keys')).code).toBe(1)
  })
})
