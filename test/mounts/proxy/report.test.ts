import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { MOST_UNGATED } from '../../../src/gate/permit/ungated-limit.js'
import { MOST_REPORTED } from '../../../src/mounts/http/own/report.js'
import { draws } from '../../support/draws.js'
import { answering, rawUpstream } from '../../support/raw-upstream.js'
import { ask, get, JSON_TYPE, post, type RawAnswer, rawClient, type Stand } from './harness.js'
import {
  asOther,
  capsuleOf,
  codeOf,
  json,
  permit,
  question,
  reporting,
  startRuntimes,
} from './runtimes.js'

/** `POST /.gate/v1/actions/{id}/report`: what runtimes claim, once, and what no permit covers. */
const SECRET = 'zq7-private'
let stand: Stand
beforeAll(async () => {
  stand = await startRuntimes()
})
afterAll(() => stand.close())
const own: Stand[] = []
afterEach(async () => {
  for (const each of own.splice(0)) await each.close()
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
    const id = await permit(stand)
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
    const at = await startRuntimes()
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
    const id = await permit(stand)
    const long = reporting(id, { ok: true, claimed: { stdout: 'x'.repeat(MOST_REPORTED) } })
    expect([413, 'report_too_large']).toEqual(await codeOf(stand, long))
    expect(await codeOf(stand, reporting(id, { ok: 'yes' }))).toEqual([400, 'report_malformed'])
    expect(await codeOf(stand, reporting(id, { ok: true, claimed: { confirmed: true } }))).toEqual([
      400,
      'report_malformed',
    ])
    const twice = reporting(id).replace(JSON_TYPE, JSON_TYPE + JSON_TYPE)
    expect(await codeOf(stand, twice)).toEqual([400, 'report_malformed'])
    const fits = { ok: true, claimed: { stdout: 'x'.repeat(MOST_REPORTED - 100) } }
    expect((await ask(stand.port, reporting(id, fits))).status).toBe(200)
  })
})

describe('a report', () => {
  it('is taken once, and the second is told which capsule it came too late for', async () => {
    const id = await permit(stand)
    const first = await ask(stand.port, reporting(id, { ok: false }))
    const { result, capsules } = await stand.after(() => ask(stand.port, reporting(id)))
    expect(capsules).toEqual([])
    expect(json(result)).toMatchObject({
      status: 409,
      code: 'report_over',
      capsule_id: json(first).capsule_id,
    })
    expect((await capsuleOf(stand, id))?.disposition.verdict_class).toBe('errored')
  })

  it('of many at once wins exactly once, and the others name the winner’s capsule', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 2, maxLength: 9 }), async (oks) => {
        const id = await permit(stand)
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
    const at = await startRuntimes()
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
      const capsule = await capsuleOf(at, id)
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
    const at = await startRuntimes({ upstream: tool.origin })
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
    expect(await codeOf(at, reporting(id))).toEqual([404, 'ungated_report'])
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
    const theirs = await permit(stand)
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
    expect((await capsuleOf(stand, id))?.disposition.verdict_class).toBe('blocked')
  })

  it('is limited per agent, and the rest is counted', async () => {
    const at = await startRuntimes()
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
