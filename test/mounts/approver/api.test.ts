import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { jsonDigest } from '../../../src/core/json/build.js'
import type { Plain } from '../../../src/core/json/value.js'
import { PAYMENTS } from '../../support/manifests.js'
import { decision, detail, type Plane, startPlane, tokenFor, waiting } from './harness.js'

let plane: Plane
let order = 0
const next = () => waiting(plane, `o-${++order}`)

beforeAll(async () => {
  plane = await startPlane()
})
afterAll(() => plane.close())

const dispositions = async (id: string) =>
  (await plane.rig.capsules())
    .filter(({ capsule }) => capsule['dev.capsulegate.decision_id'] === id)
    .map(({ capsule }) => [
      capsule.disposition.verdict_class,
      capsule.disposition.approver,
      capsule.disposition.human_disposed,
    ])

describe('reading', () => {
  it('gives the whole document, whose digest anybody computes again', async () => {
    const item = await next()
    const document = item.document as { arguments: { amount: unknown } }
    expect(jsonDigest(document as unknown as Plain, nodeCrypto)).toBe(item.document_digest)
    expect(document.arguments.amount).toEqual({ type: 'decimal', value: '250' })
  })

  it('lists open ones with filters, never an argument, and ended ones apart', async () => {
    const item = await next()
    const list = async (query: string) =>
      (await plane.ask('GET', `/v1/approvals${query}`, { as: 'viewer' })).json<{
        approvals: { approval_id: string }[]
      }>().approvals
    const has = async (query: string) =>
      (await list(query)).some(({ approval_id }) => approval_id === item.approval_id)
    expect(await has('')).toBe(true)
    expect(await has('?state=pending&tool=create_refund&agent=support-bot')).toBe(true)
    expect([
      await has('?tool=other'),
      await has('?agent=other'),
      await has('?state=approved'),
    ]).toEqual([false, false, false])
    expect(JSON.stringify(await list(''))).not.toContain(`o-${order}`)
    await decision(plane, item, { decision: 'deny', reason: 'no' })
    expect([await has(''), await has('?state=decided')]).toEqual([false, true])
  })

  it('does not exist for an approver who is not asked, and for an id nobody gave out', async () => {
    const manifest = `${PAYMENTS}    hitl: {roles: [finance]}\n`
    const at = await startPlane({ manifest })
    try {
      const finance = tokenFor(at, 'fin', { groups: ['finance'] })
      const made = await at.refund('250.00')
      const id = made.kind === 'pending' ? made.actionId : ''
      const path = `/v1/approvals/${id}`
      const [stranger, asked, auditor] = await Promise.all([
        at.ask('GET', path, { as: 'approver' }),
        at.ask('GET', path, { bearer: finance }),
        at.ask('GET', path, { as: 'auditor' }),
      ])
      const unknown = await at.ask(
        'GET',
        `/v1/approvals/${id.replace(/.$/, (c) => (c === '0' ? '1' : '0'))}`,
        { as: 'approver' },
      )
      expect([stranger.status, asked.status, auditor.status]).toEqual([404, 200, 200])
      expect(stranger.bytes.equals(unknown.bytes)).toBe(true)
      const { document_digest } = asked.json<{ document_digest: string }>()
      const item = { approval_id: id, document_digest }
      expect((await decision(at, item, { decision: 'approve' })).status).toBe(404)
      expect((await decision(at, item, { decision: 'approve' }, finance)).status).toBe(200)
    } finally {
      await at.close()
    }
  })
})

describe('deciding', () => {
  it('approves: the identical call runs once, on a human', async () => {
    const item = await next()
    const sent = plane.received.length
    const done = await decision(plane, item, { decision: 'approve' })
    expect([done.status, done.json()]).toEqual([
      200,
      {
        approval_id: item.approval_id,
        state: 'approved',
        votes: 1,
        quorum: 1,
        capsule_id: null,
        repeated: false,
      },
    ])
    expect(plane.received.length).toBe(sent)
    expect((await plane.refund('250.00', {}, `o-${order}`)).kind).toBe('executed')
    expect(plane.received.length).toBe(sent + 1)
    expect((await dispositions(item.approval_id)).at(-1)).toEqual(['executed', 'human', true])
  })

  it('says the same to the same decision again, and 409 to a different one', async () => {
    const item = await next()
    const first = await decision(plane, item, { decision: 'deny', reason: 'wrong order' })
    const again = await decision(plane, item, { decision: 'deny', reason: 'wrong order' })
    const other = await decision(plane, item, { decision: 'approve' })
    expect([first.status, again.status, other.status]).toEqual([200, 200, 409])
    expect(again.json()).toEqual({ ...first.json<object>(), repeated: true })
    expect(other.json().detail).toContain('resolved')
    expect(await dispositions(item.approval_id)).toEqual([
      ['hitl_dispatched', 'policy', false],
      ['resolved', 'human', true],
    ])
  })

  it.each([
    ['another digest', { decision: 'approve', digest: '0'.repeat(64) }, 409, 'digest_mismatch'],
    ['a refusal without a reason', { decision: 'deny' }, 400, 'reason_required'],
    [
      'a refusal with blanks for a reason',
      { decision: 'deny', reason: ' \t' },
      400,
      'reason_required',
    ],
    ['a deferral without a time', { decision: 'defer' }, 400, 'request_invalid'],
    ['a deferral for no time', { decision: 'defer', ttl_seconds: 0 }, 400, 'request_invalid'],
    [
      'an escalation with nobody above',
      { decision: 'defer', ttl_seconds: 60, on_expiry: 'escalated' },
      409,
      'no_ladder',
    ],
    [
      'bounds on no argument of the tool',
      { decision: 'approve_with_bounds', bounds: { b: { nope: { lte: '1' } } } },
      422,
      'bounds_broken',
    ],
    [
      'bounds the request breaks',
      { decision: 'approve_with_bounds', bounds: { b: { amount: { lte: '1.00' } } } },
      422,
      'bounds_broken',
    ],
    [
      'a decider named in the body',
      { decision: 'approve', name: 'the-boss' },
      400,
      'request_invalid',
    ],
    ['an unknown decision', { decision: 'maybe' }, 400, 'request_invalid'],
    [
      'an item that was never open',
      { decision: 'approve', on: '0'.repeat(64) },
      409,
      'already_decided',
    ],
  ])('refuses %s and records no vote', async (_, body, status, code) => {
    const item = await next()
    const answered = await decision(plane, item, body)
    expect([answered.status, answered.json().code]).toEqual([status, code])
    expect(await detail(plane, item.approval_id)).toMatchObject({ state: 'pending', votes: 0 })
  })

  it('approves within bounds that hold', async () => {
    const item = await next()
    const bounds = { cap: { amount: { lte: '300.00' } } }
    const done = await decision(plane, item, { decision: 'approve_with_bounds', bounds })
    expect([done.status, done.json().state]).toEqual([200, 'approved'])
    expect((await plane.refund('250.00', {}, `o-${order}`)).kind).toBe('executed')
  })

  it('defers: still open, on a new capsule, by a human', async () => {
    const item = await next()
    const done = await decision(plane, item, { decision: 'defer', ttl_seconds: 600 })
    expect(done.json()).toMatchObject({ state: 'deferred', repeated: false })
    const now = await detail(plane, item.approval_id)
    expect([now.state, now.capsule_id === done.json().capsule_id]).toEqual(['pending', true])
    expect((await dispositions(item.approval_id)).at(-1)).toEqual(['deferred', 'human', true])
    const late = await decision(plane, item, { decision: 'approve', on: item.capsule_id })
    expect([late.status, late.json().code]).toEqual([409, 'already_decided'])
  })

  it('takes a machine token at its word: policy, and the call that runs on it too', async () => {
    const item = await next()
    const machine = tokenFor(plane, 'approval-robot', { machine: true })
    await fresh()
    const done = await decision(plane, item, { decision: 'approve' }, machine)
    expect(done.status).toBe(200)
    await plane.refund('250.00', {}, `o-${order}`)
    expect((await dispositions(item.approval_id)).at(-1)).toEqual(['executed', 'policy', false])
    const later = await decision(
      plane,
      await next(),
      { decision: 'defer', ttl_seconds: 60 },
      machine,
    )
    expect([later.status, later.json().code]).toEqual([403, 'people_only'])
  })

  it('closes no blocked item for a machine', async () => {
    const machine = tokenFor(plane, 'closing-robot', { machine: true, role: 'operator' })
    await fresh()
    const made = await plane.refund('900.00')
    const capsule_ids = [made.kind === 'refused' ? made.capsuleId : '']
    const answered = await plane.ask('POST', '/v1/open-items/close', {
      bearer: machine,
      body: { capsule_ids, reason: 'seen' },
    })
    expect([answered.status, answered.json().code]).toEqual([403, 'people_only'])
  })

  it('lets nobody decide under the name of the agent that asks', async () => {
    const item = await next()
    const same = tokenFor(plane, 'support-bot')
    await fresh()
    const answered = await decision(plane, item, { decision: 'approve' }, same)
    expect([answered.status, answered.json().code]).toEqual([403, 'own_request'])
  })

  it('freezes while halted', async () => {
    const item = await next()
    await plane.gate.halt({ kind: 'all' }, 'test')
    const answered = await decision(plane, item, { decision: 'approve' })
    await plane.gate.resume({ kind: 'all' }, 'test')
    expect([answered.status, answered.json().code]).toEqual([409, 'frozen'])
    expect((await decision(plane, item, { decision: 'approve' })).status).toBe(200)
  })

  it('of twenty deciders at once, records one outcome and tells the others', async () => {
    const item = await next()
    const people = Array.from({ length: 20 }, (_, i) => tokenFor(plane, `person-${i}`))
    await fresh()
    const answers = await Promise.all(
      people.map((token, i) =>
        decision(
          plane,
          item,
          i % 2 === 0 ? { decision: 'approve' } : { decision: 'deny', reason: 'no' },
          token,
        ),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(19)
  })

  it('approves nothing that can no longer be read', async () => {
    const item = await next()
    const day = new Date().toISOString().slice(0, 10)
    await plane.ask('POST', '/v1/evidence/erase', { body: { operator: 'acme', day } })
    const shown = await detail(plane, item.approval_id)
    expect(shown).toMatchObject({ document: null, document_state: 'erased' })
    const answered = await decision(plane, item, { decision: 'approve' })
    expect([answered.status, answered.json().code]).toEqual([410, 'erased'])
    expect((await decision(plane, item, { decision: 'deny', reason: 'gone' })).status).toBe(200)
  })
})

/** Tokens made meanwhile are seen at the next look at the file, within a second: look until then. */
async function fresh(): Promise<void> {
  const probe = tokenFor(plane, 'probe')
  for (;;) {
    const { status } = await plane.ask('GET', '/v1/approvals', { bearer: probe })
    if (status === 200) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('standing grants', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
  const bounds = { cap: { amount: { lte: '300.00' } } }

  it('lets calls within bounds run as policy, so many times, until revoked', async () => {
    const at = await startPlane()
    try {
      const made = await at.ask('POST', '/v1/grants', {
        body: {
          agent: 'support-bot',
          tool: 'create_refund',
          bounds,
          expires_at: inAnHour(),
          uses: 2,
        },
      })
      expect(made.status).toBe(201)
      const { grant } = made.json<{ grant: string }>()
      expect((await at.refund('250.00')).kind).toBe('executed')
      expect((await at.refund('350.00')).kind).toBe('pending')
      const listed = (await at.ask('GET', '/v1/grants', { as: 'auditor' })).json()
      expect(listed).toMatchObject({ grants: [{ grant, bounds, uses_left: 1 }] })
      expect((await at.ask('DELETE', `/v1/grants/${grant}`)).status).toBe(200)
      expect((await at.ask('DELETE', `/v1/grants/${grant}`)).status).toBe(404)
      expect((await at.ask('GET', '/v1/grants')).json()).toEqual({ grants: [] })
      expect((await at.refund('251.00')).kind).toBe('pending')
      const ran = (await at.rig.capsules()).find(
        ({ capsule }) => capsule.disposition.verdict_class === 'executed',
      )
      expect(ran?.capsule.disposition).toMatchObject({ approver: 'policy', human_disposed: false })
    } finally {
      await at.close()
    }
  })

  it.each([
    ['no bounds', { bounds: {} }],
    ['no tool of ours', { tool: 'nothing' }],
    ['no uses', { uses: 0 }],
    ['the past', { expires_at: '2020-01-01T00:00:00Z' }],
  ])('refuses one with %s', async (_, more) => {
    const body = {
      agent: 'support-bot',
      tool: 'create_refund',
      bounds,
      expires_at: inAnHour(),
      uses: 1,
    }
    const answered = await plane.ask('POST', '/v1/grants', { body: { ...body, ...more } })
    expect([answered.status, answered.json().code]).toEqual([422, 'grant_invalid'])
  })
})
