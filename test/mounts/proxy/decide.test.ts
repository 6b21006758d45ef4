import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { MOST_PERMITS } from '../../../src/gate/permit/permits.js'
import { decide as decideAs, person } from '../../support/approvals.js'
import { AUTH, ask, get, post, rawClient, type Stand } from './harness.js'
import {
  asOther,
  capsuleOf,
  codeOf,
  json,
  permit,
  question,
  reporting,
  startRuntimes,
  written,
} from './runtimes.js'

/** `POST /.gate/v1/decide`: permits, and calls that get none. */
let stand: Stand
beforeAll(async () => {
  stand = await startRuntimes()
})
afterAll(() => stand.close())
const own: Stand[] = []
afterEach(async () => {
  for (const each of own.splice(0)) await each.close()
})

describe('a permit', () => {
  it('is given when its dispatch line is durable, and its capsule follows at the report', async () => {
    const answer = await ask(stand.port, question())
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const { verdict, action_id: id, deadline, ...more } = json(answer)
    expect({ verdict, more }).toEqual({ verdict: 'permit', more: {} })
    expect(answer.headers.get('gate-action')).toBe(id)
    const left = Date.parse(String(deadline)) - Date.now()
    expect(left).toBeGreaterThan(50_000)
    expect(left).toBeLessThanOrEqual(60_000)
    const dispatched = (await stand.lines()).find(({ action_id }) => action_id === id)
    expect(dispatched).toMatchObject({
      type: 'ACTION_DISPATCHED',
      tool: 'Bash',
      agent: 'bot',
      acts: 'runtime',
    })
    expect(await capsuleOf(stand, String(id))).toBeUndefined()
    const status = await ask(stand.port, get(`/.gate/v1/actions/${id}`))
    expect(json(status)).toMatchObject({ state: 'in_flight', verdict: null })

    const reported = await ask(stand.port, reporting(String(id)))
    expect(reported.status).toBe(200)
    const capsule = await capsuleOf(stand, String(id))
    expect(json(reported)).toEqual({
      action_id: id,
      verdict: 'executed',
      capsule_id: capsule?.capsule_id,
    })
    expect(reported.headers.get('gate-capsule')).toBe(capsule?.capsule_id)
    expect(capsule?.disposition).toMatchObject({ decision: 'accept', verdict_class: 'executed' })
    expect(capsule?.effect).toMatchObject({
      status: 'dispatched',
      effect_attestation: 'runtime_claimed',
    })
    expect(capsule?.effect).not.toHaveProperty('response_digest')
  })

  it('that is reported as failed is errored, and what was spent stays spent', async () => {
    const id = await permit(stand, { args: { command: 'make' } })
    const reported = await ask(stand.port, reporting(id, { ok: false }))
    expect([reported.status, json(reported).verdict]).toEqual([200, 'errored'])
    expect(await capsuleOf(stand, id)).toMatchObject({
      disposition: { verdict_class: 'errored', decision: 'accept' },
      effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
    })
  })

  it('that nobody reports on is a timeout at its deadline, and a late report is told so', async () => {
    const over = written(stand)
    const id = await permit(stand, { tool: 'Quick' })
    const capsule = await over
    expect(capsule).toMatchObject({
      action_id: id,
      disposition: { verdict_class: 'timeout', decision: 'accept' },
      effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
    })
    const late = await ask(stand.port, reporting(id))
    expect(late.status).toBe(409)
    expect(json(late)).toMatchObject({
      code: 'report_over',
      action_id: id,
      capsule_id: capsule.capsule_id,
    })
    expect(await stand.capsules()).not.toContainEqual(
      expect.objectContaining({ action_id: id, disposition: { verdict_class: 'executed' } }),
    )
  })

  it('is asked for and reported on one connection, which stays open', async () => {
    const client = await rawClient(stand.port)
    const kept = (request: string): string => request.replace('connection: close\r\n', '')
    client.send(kept(question()))
    const first = await client.until((got) => got.includes('}'))
    const [, id = ''] = /"action_id":"([^"]+)"/.exec(first.toString()) ?? []
    client.send(kept(reporting(id)) + get(`/.gate/v1/actions/${id}`))
    const all = (await client.closed()).toString()
    expect(all.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
    expect(all).toContain('"state":"concluded"')
  })
})

describe('a call that gets no permit', () => {
  it.each([
    ['a tool that nobody governs', question({ tool: 'Unheard' }), 403, 'tool_unknown'],
    [
      'a tool that the gate itself sends',
      question({ tool: 'pay', args: { amount: '1' } }),
      403,
      'tool_unknown',
    ],
    ['a constraint', question({ args: { command: 'a;b' } }), 403, 'constraint_failed'],
    ['a policy', asOther(question({ tool: 'Quick' })), 403, 'policy_denied'],
    [
      'an argument too many',
      question({ args: { command: 'ls', cwd: '/' } }),
      400,
      'member_not_read',
    ],
    ['an argument of another type', question({ args: { command: 7 } }), 400, 'arguments_invalid'],
    [
      'a member too many',
      post('/.gate/v1/decide', '{"tool":"Bash","arguments":{},"x":1}'),
      400,
      'request_malformed',
    ],
    ['no JSON', post('/.gate/v1/decide', 'tool=Bash'), 400, 'request_malformed'],
    ['nothing', post('/.gate/v1/decide', ''), 400, 'request_malformed'],
    ['a foreign approval', question({ head: 'gate-approval: none\r\n' }), 409, 'approval_closed'],
  ])('because of %s is refused, and recorded once', async (_why, request, status, code) => {
    const { result, capsules } = await stand.after(() => ask(stand.port, request))
    expect([result.status, json(result).code]).toEqual([status, code])
    expect(result.headers.get('content-type')).toBe('application/problem+json')
    expect(capsules).toHaveLength(1)
    expect(json(result).capsule_id).toBe(capsules[0]?.capsule_id)
    expect(capsules[0]?.effect).toBeUndefined()
  })

  it('because of who asks is refused before anything is read', async () => {
    for (const request of [question(), reporting('01900000-0000-7000-8000-00000000beef')]) {
      const { result, capsules } = await stand.after(() =>
        ask(stand.port, request.replace(AUTH, '')),
      )
      expect([result.status, json(result).code]).toEqual([401, 'unauthenticated'])
      expect(capsules).toHaveLength(1)
    }
  })

  it.each([
    ['GET', get('/.gate/v1/decide')],
    ['another path', post('/.gate/v1/decide/now', '{}')],
    ['a query', post('/.gate/v1/decide?dry=1', '{}')],
    ['GET of a report', get('/.gate/v1/actions/01900000-0000-7000-8000-00000000beef/report')],
  ])('because it is no question (%s) gets a 404', async (_what, request) => {
    expect(await codeOf(stand, request)).toEqual([404, 'not_found'])
  })

  it('because the agent holds as many as it may is refused until one is over', async () => {
    const at = await startRuntimes()
    own.push(at)
    const ids: string[] = []
    while (ids.length < MOST_PERMITS) ids.push(await permit(at))
    const { result, capsules } = await at.after(() => ask(at.port, question()))
    expect([result.status, json(result).code]).toEqual([429, 'permits_exhausted'])
    expect(json(result).dispatched).toBe(false)
    expect(capsules[0]?.disposition).toMatchObject({ verdict_class: 'denied', decision: 'reject' })
    expect((await ask(at.port, asOther(question()))).status).toBe(200)
    await ask(at.port, reporting(ids[0] ?? ''))
    await permit(at)
  })

  it('because open permits take all the memory of its agent is refused unread', async () => {
    const at = await startRuntimes({ memory: { agentBodyBytes: 4_000, heldBytes: 1_000_000 } })
    own.push(at)
    const args = { command: 'x'.repeat(3_000) }
    const id = await permit(at, { args })
    expect(await codeOf(at, question({ args }))).toEqual([429, 'bodies_exhausted'])
    expect((await ask(at.port, reporting(id))).status).toBe(200)
    await permit(at, { args })
  })
})

describe('a key, an approval, a halt', () => {
  it('a key in use names the permit it is used for; afterwards it has no response to replay', async () => {
    const head = 'idempotency-key: k-1\r\n'
    const id = await permit(stand, { head })
    const second = await ask(stand.port, question({ head }))
    expect(json(second)).toMatchObject({ status: 409, code: 'idempotency_in_flight', held_by: id })
    expect(await codeOf(stand, question({ head, args: { command: 'other' } }))).toEqual([
      422,
      'idempotency_mismatch',
    ])
    await ask(stand.port, reporting(id))
    expect(await codeOf(stand, question({ head }))).toEqual([409, 'idempotency_in_flight'])
  })

  it('a person who must decide is asked; the same question then gets a permit, once', async () => {
    const args = { command: 'pay', amount: '150.00' }
    const asked = await ask(stand.port, question({ args }))
    expect([asked.status, json(asked).code]).toEqual([202, 'approval_pending'])
    const id = String(json(asked).approval_id)
    expect(asked.headers.get('location')).toBe(`/.gate/v1/actions/${id}`)
    await decideAs(stand.gate, id, person('ada'), { kind: 'approve' })
    const other = { ...args, amount: '151.00' }
    const head = `gate-approval: ${id}\r\n`
    expect(await codeOf(stand, question({ args: other, head }))).toEqual([409, 'approval_mismatch'])
    const given = await permit(stand, { args, head })
    // Its grant is spent while it is open.
    expect(await codeOf(stand, question({ args, head }))).toEqual([409, 'approval_closed'])
    await ask(stand.port, reporting(given))
    expect((await capsuleOf(stand, given))?.disposition).toMatchObject({
      approver: 'human',
      human_disposed: true,
      verdict_class: 'executed',
    })
  })

  it('Prefer: wait holds the answer until somebody decides', async () => {
    const opened = written(stand)
    const waiting = ask(
      stand.port,
      question({ args: { command: 'wait', amount: '200.00' }, head: 'prefer: wait=20\r\n' }),
    )
    const { action_id: id } = await opened
    await decideAs(stand.gate, id, person('ada'), { kind: 'approve' })
    const answer = await waiting
    expect([answer.status, json(answer).verdict]).toEqual([200, 'permit'])
    expect((await ask(stand.port, reporting(String(json(answer).action_id)))).status).toBe(200)
  })

  it('a halt stops the next permit; the one that was given can be reported', async () => {
    const at = await startRuntimes()
    own.push(at)
    const id = await permit(at)
    await at.gate.halt({ kind: 'all' }, 'ops')
    expect(await codeOf(at, question())).toEqual([403, 'halted'])
    expect((await ask(at.port, reporting(id))).status).toBe(200)
    expect((await capsuleOf(at, id))?.disposition.verdict_class).toBe('executed')
  })

  it('observe mode permits what it would refuse, and says so', async () => {
    const at = await startRuntimes({ mode: 'observe' })
    own.push(at)
    const id = await permit(at, { args: { command: 'a;b' } })
    await ask(at.port, reporting(id))
    const capsule = await capsuleOf(at, id)
    expect(capsule?.['dev.capsulegate.mode']).toBe('observe')
    expect(capsule?.constraints).toContainEqual(
      expect.objectContaining({ result: 'fail', blocking: false }),
    )
  })
})

describe('the gate', () => {
  it('that stops concludes what is open as cut, and forgets nothing of it', async () => {
    const at = await startRuntimes()
    const ids = [await permit(at), await permit(at), await permit(at)]
    await ask(at.port, reporting(ids[2] ?? ''))
    await at.proxy.close(0)
    await at.gate.stop()
    for (const id of ids.slice(0, 2)) {
      const capsule = await capsuleOf(at, id)
      expect(capsule).toMatchObject({
        disposition: { verdict_class: 'errored', decision: 'accept' },
        effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
      })
      expect(capsule).not.toHaveProperty('dev.capsulegate.recovered')
    }
    await at.close()
  })

  it('goes on waiting for the report of a caller that hung up', async () => {
    const client = await rawClient(stand.port)
    client.send(question({ args: { command: 'gone' } }))
    const got = await client.until((bytes) => bytes.includes('}'))
    client.socket.destroy()
    const [, id = ''] = /"action_id":"([^"]+)"/.exec(got.toString()) ?? []
    expect((await ask(stand.port, reporting(id))).status).toBe(200)
  })
})
