import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { MOST_PERMITS } from '../../../src/gate/permit/permits.js'
import { MOST_UNGATED } from '../../../src/gate/permit/ungated-limit.js'
import { MOST_REPORTED } from '../../../src/mounts/http/own/report.js'
import { decide as decideAs, person } from '../../support/approvals.js'
import { draws } from '../../support/draws.js'
import { answering, rawUpstream } from '../../support/raw-upstream.js'
import {
  AUTH,
  ask,
  get,
  JSON_TYPE,
  OTHER_TOKEN,
  post,
  type RawAnswer,
  rawClient,
  type Stand,
  startStand,
  TOKEN,
} from './harness.js'

/** Verdicts for runtimes that act themselves, over real sockets: the gate sends nothing to anybody. */
const MANIFEST = `id: com.acme.hook
tools:
  Bash:
    args: {command: string, amount: {type: decimal, optional: true}}
    deadlines: {total_ms: 60000}
    constraints:
      no_removal: {command: {matches: "[^;]*"}}
  Quick:
    args: {command: string}
    deadlines: {total_ms: 150}
  Kept:
    args: {command: string}
    capture: full
    subject: command
  pay:
    match: POST /pay
    args: {amount: decimal}
`
const POLICY = `@id("all") permit (principal, action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("not-quick") forbid (principal == Agent::"other", action == Action::"Quick", resource);
@id("large") @hem("required") forbid (principal, action == Action::"Bash", resource)
when { if context.args has amount then context.args.amount.greaterThan(decimal("100.0")) else false }
unless { context.approval.granted };
`
const SECRET = 'zq7-private'
let stand: Stand
const start = (more: Partial<Parameters<typeof startStand>[0]> = {}): Promise<Stand> =>
  startStand({ upstream: 'http://127.0.0.1:9', manifest: MANIFEST, policy: POLICY, ...more })
beforeAll(async () => {
  stand = await start()
})
afterAll(() => stand.close())
const own: Stand[] = []
afterEach(async () => {
  for (const each of own.splice(0)) await each.close()
})

type Asked = { readonly tool?: string; readonly args?: object; readonly head?: string }
const question = ({ tool = 'Bash', args = { command: 'ls' }, head = '' }: Asked = {}): string =>
  post('/.gate/v1/decide', JSON.stringify({ tool, arguments: args }), JSON_TYPE + head)
const reporting = (id: string, body: unknown = { ok: true }): string =>
  post(`/.gate/v1/actions/${id}/report`, JSON.stringify(body), JSON_TYPE)
const asOther = (request: string): string => request.replace(TOKEN, OTHER_TOKEN)
const json = ({ body }: RawAnswer): { [name: string]: unknown } => JSON.parse(body.toString())
async function permit(at: Stand = stand, asked: Asked = {}): Promise<string> {
  const answer = await ask(at.port, question(asked))
  expect([answer.status, json(answer).verdict]).toEqual([200, 'permit'])
  return String(json(answer).action_id)
}
const capsuleOf = async (id: string, at: Stand = stand): Promise<Capsule | undefined> =>
  (await at.capsules()).find(({ action_id }) => action_id === id)
const written = (at: Stand): Promise<Capsule> =>
  new Promise((resolve) => {
    const stop = at.gate.data.subscribe((line) => {
      if (line.type !== 'CAPSULE') return
      stop()
      resolve(line.capsule)
    })
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
    expect(await capsuleOf(String(id))).toBeUndefined()
    const status = await ask(stand.port, get(`/.gate/v1/actions/${id}`))
    expect(json(status)).toMatchObject({ state: 'in_flight', verdict: null })

    const reported = await ask(stand.port, reporting(String(id)))
    expect(reported.status).toBe(200)
    const capsule = await capsuleOf(String(id))
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
    expect(await capsuleOf(id)).toMatchObject({
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

describe('what a runtime claims', () => {
  const claimed = {
    result: { cost: 0.25, of: SECRET },
    diff: `+${SECRET}`,
    stdout: SECRET,
    stderr: '',
    usage: { input_tokens: 12 },
    model: 'some-model',
    parent_action: '01900000-0000-7000-8000-000000000001',
  }

  it('is in the evidence, exactly as it was sent and bound by digest, and nowhere in the open', async () => {
    const id = await permit()
    await ask(stand.port, reporting(id, { ok: true, claimed }))
    const found = await stand.gate.data.evidence.byAction(id)
    if (found.state !== 'present') throw new Error(found.state)
    const part = found.value.find(({ name }) => name === 'claimed')
    expect(part?.value).toMatchObject({ ok: true, claimed: JSON.stringify(claimed) })
    const line = (await stand.lines()).find(
      ({ type, capsule }) => type === 'CAPSULE' && (capsule as Capsule).action_id === id,
    )
    expect(line?.report_digest).toBe(part?.digest)
    expect(await stand.gate.read.absentEvidence(id)).toEqual([])
    expect(JSON.stringify(await stand.lines())).not.toContain(SECRET)
    expect(stand.reports.join()).not.toContain(SECRET)
  })

  it('is encrypted, under the key of the subject where the tool names one', async () => {
    const at = await start()
    own.push(at)
    const id = await permit(at, { tool: 'Kept', args: { command: 'ada' } })
    await ask(at.port, reporting(id, { ok: true, claimed }))
    const folder = join(at.dir, 'data', 'evidence')
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    for (const file of files.filter((entry) => entry.isFile())) {
      expect(readFileSync(join(file.parentPath, file.name)).includes(SECRET)).toBe(false)
    }
    await at.gate.erase({ subject: 'ada' }, 'ops')
    expect((await at.gate.data.evidence.byAction(id)).state).toBe('erased')
  })

  it('is bounded, and a report that cannot be read ends nothing', async () => {
    const id = await permit()
    const long = reporting(id, { ok: true, claimed: { stdout: 'x'.repeat(MOST_REPORTED) } })
    expect([413, 'report_too_large']).toEqual(await codeOf(long))
    expect(await codeOf(reporting(id, { ok: 'yes' }))).toEqual([400, 'report_malformed'])
    expect(await codeOf(reporting(id, { ok: true, claimed: { confirmed: true } }))).toEqual([
      400,
      'report_malformed',
    ])
    const twice = reporting(id).replace(JSON_TYPE, JSON_TYPE + JSON_TYPE)
    expect(await codeOf(twice)).toEqual([400, 'report_malformed'])
    const fits = { ok: true, claimed: { stdout: 'x'.repeat(MOST_REPORTED - 100) } }
    expect((await ask(stand.port, reporting(id, fits))).status).toBe(200)
  })
})
const codeOf = async (request: string, at: Stand = stand): Promise<unknown[]> => {
  const answer = await ask(at.port, request)
  return [answer.status, json(answer).code]
}

describe('a report', () => {
  it('is taken once, and the second is told which capsule it came too late for', async () => {
    const id = await permit()
    const first = await ask(stand.port, reporting(id, { ok: false }))
    const { result, capsules } = await stand.after(() => ask(stand.port, reporting(id)))
    expect(capsules).toEqual([])
    expect(json(result)).toMatchObject({
      status: 409,
      code: 'report_over',
      capsule_id: json(first).capsule_id,
    })
    expect((await capsuleOf(id))?.disposition.verdict_class).toBe('errored')
  })

  it('of many at once wins exactly once, and the others name the winner’s capsule', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 2, maxLength: 9 }), async (oks) => {
        const id = await permit()
        const answers = await Promise.all(oks.map((ok) => ask(stand.port, reporting(id, { ok }))))
        const won = answers.filter(({ status }) => status === 200)
        expect(won).toHaveLength(1)
        const winner = answers.findIndex(({ status }) => status === 200)
        const capsules = (await stand.capsules()).filter(({ action_id }) => action_id === id)
        expect(capsules).toHaveLength(1)
        const [{ capsule_id, disposition }] = capsules as [Capsule]
        expect(disposition.verdict_class).toBe(oks[winner] === true ? 'executed' : 'errored')
        for (const answer of answers) {
          expect(json(answer).capsule_id).toBe(capsule_id)
          expect([200, 409]).toContain(answer.status)
        }
      }),
      { numRuns: draws(60, 12) },
    )
  })

  it('at the very deadline wins or comes too late, and never both', async () => {
    const at = await start()
    own.push(at)
    for (let round = 0; round < draws(20, 5); round++) {
      const answer = await ask(at.port, question({ tool: 'Quick' }))
      const { action_id: id, deadline } = json(answer) as { action_id: string; deadline: string }
      const client = await rawClient(at.port)
      const request = reporting(id)
      client.send(request.slice(0, -1))
      // The last octet is on its way when the time is up.
      await new Promise((resolve) => setTimeout(resolve, Date.parse(deadline) - Date.now()))
      client.send(request.slice(-1))
      const got = (await client.closed()).toString()
      const capsule = await capsuleOf(id, at)
      expect([
        /^HTTP\/1\.1 200/.test(got) ? 'executed' : 'timeout',
        got.includes(capsule?.capsule_id ?? 'none'),
      ]).toEqual([capsule?.disposition.verdict_class, true])
    }
  })

  it('of a call that the gate sends itself is not the runtime’s to make', async () => {
    const body = '{"ok":true}'
    const tool = await rawUpstream(
      answering(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
    )
    const at = await start({ upstream: tool.origin })
    own.push(at)
    const pay = post('/pay', '{"amount":"5"}', JSON_TYPE)
    const done = await ask(at.port, pay)
    expect(done.status).toBe(200)
    const late = await ask(at.port, reporting(done.headers.get('gate-action') ?? ''))
    expect(json(late)).toMatchObject({
      status: 409,
      capsule_id: done.headers.get('gate-capsule'),
    })
    await tool.close()
    // Nothing was sent, so nothing was let run.
    const failed = await ask(at.port, pay)
    expect(failed.status).toBe(503)
    const id = failed.headers.get('gate-action') ?? ''
    expect(await codeOf(reporting(id), at)).toEqual([404, 'ungated_report'])
  })
})

describe('a report that no permit covers', () => {
  it('is recorded as that: rejected, errored, and nothing claimed of how it was judged', async () => {
    const id = '01900000-0000-7000-8000-00000000beef'
    const body = { ok: true, claimed: { stdout: SECRET } }
    const { result, capsules } = await stand.after(() => ask(stand.port, reporting(id, body)))
    expect(capsules).toHaveLength(1)
    const [capsule] = capsules as [Capsule]
    expect(capsule).toMatchObject({
      action_type: 'fyi',
      developer: 'bot/1',
      assurance: { effect_mode: 'dispatched_unconfirmed' },
      disposition: {
        decision: 'reject',
        approver: 'policy',
        human_disposed: false,
        verdict_class: 'errored',
      },
      effect: {
        type: 'dev.capsulegate.ungated',
        status: 'dispatched',
        effect_attestation: 'runtime_claimed',
      },
    })
    for (const name of ['policy_digest', 'manifest_digest', 'mode'] as const) {
      expect(capsule).not.toHaveProperty(`dev.capsulegate.${name}`)
    }
    expect(capsule).not.toHaveProperty('constraints')
    expect(json(result)).toMatchObject({
      status: 404,
      code: 'ungated_report',
      verdict: 'errored',
      capsule_id: capsule.capsule_id,
      reported_action: id,
      dispatched: true,
    })
    const found = await stand.gate.data.evidence.byAction(capsule.action_id)
    if (found.state !== 'present') throw new Error(found.state)
    expect(found.value.find(({ name }) => name === 'claimed')?.value).toMatchObject({
      action_id: id,
      ok: true,
      claimed: JSON.stringify(body.claimed),
    })
    expect(JSON.stringify(await stand.lines())).not.toContain(SECRET)
    const mine = await ask(stand.port, get(`/.gate/v1/actions/${capsule.action_id}`))
    expect(json(mine)).toMatchObject({ state: 'concluded', verdict: 'errored' })
    expect(stand.reports.some((line) => line.startsWith('ungated_report'))).toBe(true)
  })

  it('tells nobody whether the action is another agent’s or nobody’s, and ends no permit', async () => {
    const theirs = await permit()
    const [known, unknown] = await Promise.all([
      ask(stand.port, asOther(reporting(theirs))),
      ask(stand.port, asOther(reporting('01900000-0000-7000-8000-00000000cafe'))),
    ])
    const without = (answer: RawAnswer) => {
      const { action_id, capsule_id, instance, reported_action, ...rest } = json(answer)
      return rest
    }
    expect(without(known)).toEqual(without(unknown))
    expect([...known.headers.keys()]).toEqual([...unknown.headers.keys()])
    expect(known.status).toBe(404)
    expect((await ask(stand.port, reporting(theirs))).status).toBe(200)
    // Concluded, it is as unknown to the other as before.
    const after = await ask(stand.port, asOther(reporting(theirs)))
    expect(without(after)).toEqual(without(unknown))
  })

  it('of a call that was refused belongs to the same decision', async () => {
    const refused = await ask(stand.port, question({ args: { command: 'rm;' } }))
    expect(json(refused).code).toBe('constraint_failed')
    const id = String(json(refused).action_id)
    const { capsules } = await stand.after(() => ask(stand.port, reporting(id)))
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.disposition).toMatchObject({ decision: 'reject', verdict_class: 'errored' })
    expect(capsules[0]?.['dev.capsulegate.decision_id']).toBe(id)
    // A refusal stays what it was.
    expect((await capsuleOf(id))?.disposition.verdict_class).toBe('blocked')
  })

  it('is limited per agent, and the rest is counted', async () => {
    const at = await start()
    own.push(at)
    const id = '01900000-0000-7000-8000-00000000beef'
    const statuses: number[] = []
    for (let n = 0; n < MOST_UNGATED + 3; n++) {
      statuses.push((await ask(at.port, reporting(id))).status)
    }
    expect(statuses).toEqual([...Array(MOST_UNGATED).fill(404), 429, 429, 429])
    const limited = await ask(at.port, reporting(id))
    expect(json(limited).code).toBe('reports_exhausted')
    expect(limited.headers.get('retry-after')).toBe('60')
    expect((await ask(at.port, asOther(reporting(id)))).status).toBe(404)
    // Neither is a permit of the same agent hindered by it.
    const mine = await permit(at)
    expect((await ask(at.port, reporting(mine))).status).toBe(200)
    expect(await at.capsules()).toHaveLength(MOST_UNGATED + 2)
    await at.gate.stop()
    const dropped = (await at.lines()).filter(({ type }) => type === 'REFUSALS_DROPPED')
    expect(dropped).toEqual([
      expect.objectContaining({ agent: 'bot', count: 4, window_seconds: 60 }),
    ])
  })

  it('with an id that is no action id is no report at all', async () => {
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, reporting('not-an-action')),
    )
    expect([result.status, json(result).code, capsules]).toEqual([404, 'not_found', []])
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
    expect(await codeOf(request)).toEqual([404, 'not_found'])
  })

  it('because the agent holds as many as it may is refused until one is over', async () => {
    const at = await start()
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
    const at = await start({ memory: { agentBodyBytes: 4_000, heldBytes: 1_000_000 } })
    own.push(at)
    const args = { command: 'x'.repeat(3_000) }
    const id = await permit(at, { args })
    expect(await codeOf(question({ args }), at)).toEqual([429, 'bodies_exhausted'])
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
    expect(await codeOf(question({ head, args: { command: 'other' } }))).toEqual([
      422,
      'idempotency_mismatch',
    ])
    await ask(stand.port, reporting(id))
    expect(await codeOf(question({ head }))).toEqual([409, 'idempotency_in_flight'])
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
    expect(await codeOf(question({ args: other, head }))).toEqual([409, 'approval_mismatch'])
    const given = await permit(stand, { args, head })
    // Its grant is spent while it is open.
    expect(await codeOf(question({ args, head }))).toEqual([409, 'approval_closed'])
    await ask(stand.port, reporting(given))
    expect((await capsuleOf(given))?.disposition).toMatchObject({
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
    const at = await start()
    own.push(at)
    const id = await permit(at)
    await at.gate.halt({ kind: 'all' }, 'ops')
    expect(await codeOf(question(), at)).toEqual([403, 'halted'])
    expect((await ask(at.port, reporting(id))).status).toBe(200)
    expect((await capsuleOf(id, at))?.disposition.verdict_class).toBe('executed')
  })

  it('observe mode permits what it would refuse, and says so', async () => {
    const at = await start({ mode: 'observe' })
    own.push(at)
    const id = await permit(at, { args: { command: 'a;b' } })
    await ask(at.port, reporting(id))
    const capsule = await capsuleOf(id, at)
    expect(capsule?.['dev.capsulegate.mode']).toBe('observe')
    expect(capsule?.constraints).toContainEqual(
      expect.objectContaining({ result: 'fail', blocking: false }),
    )
  })
})

describe('the gate', () => {
  it('that stops concludes what is open as cut, and forgets nothing of it', async () => {
    const at = await start()
    const ids = [await permit(at), await permit(at), await permit(at)]
    await ask(at.port, reporting(ids[2] ?? ''))
    await at.proxy.close(0)
    await at.gate.stop()
    for (const id of ids.slice(0, 2)) {
      const capsule = await capsuleOf(id, at)
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
