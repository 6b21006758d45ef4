import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROLES, type Role } from '../../../src/adapters/identity/tokens.js'
import { publicLine } from '../../../src/mounts/admin/public-line.js'
import { ROUTES } from '../../../src/mounts/admin/routes.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  mandateIssuer,
  type Steps,
  stepsOf,
} from '../../support/intents.js'
import { type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'
import { idsOf, type Plane, startPlane } from './harness.js'

/** Words that stand in restricted declarations and nowhere else. */
const SECRET = { goal: 'Zinnober-Ziel-4711', why: 'Zinnober-Grund-4712' }
const GOAL = '7e7f3b52-63f5-4e0e-9c3c-8fb1b4a7a001'
const RESTRICTED_GOAL = '7e7f3b52-63f5-4e0e-9c3c-8fb1b4a7a002'
const OPEN = { goal: 'Azur-Ziel-815', why: 'Azur-Grund-816' }

let plane: Plane
let server: RawUpstream
let upstream: Upstream
let open: Steps
let closed: Steps
const issuer = mandateIssuer()

beforeAll(async () => {
  plane = await startPlane({
    manifest: BOOKING,
    policies: BOOKING_POLICIES,
    mandateIssuers: issuer.options,
  })
  server = await rawUpstream(fine)
  upstream = upstreamTo(server.origin)
  open = stepsOf(issuer)
  closed = stepsOf(issuer, { booking: 'b-7' })
})
afterAll(async () => {
  await upstream.close()
  await server.close()
  await plane.close()
})

const said = (jti: string, words: typeof SECRET, goal_id: string, more: Claims = {}): Claims => ({
  declared_goal: { goal_id, description: words.goal },
  reasoning_basis: { type: 'INSTRUCTION', description: `${words.why} under ${jti}` },
  ...more,
})
async function call(steps: Steps, action: BookingAction, more: Claims) {
  const declared = carried(steps.standard(action, more), steps.mandate)
  const made = bookingCall(action, steps.booking, declared)
  return idsOf(await plane.gate.govern(made, sending(upstream, made)))
}
const restricted = (more: Claims = {}) =>
  said(closed.jti, SECRET, RESTRICTED_GOAL, { audit_accessible: false, ...more })

type Row = { action_id: string; declaration: string; [member: string]: unknown }
const list = async (as: Role, query = '') => {
  const answered = await plane.ask('GET', `/v1/intents${query}`, { as })
  return answered.status === 200
    ? answered.json<{ intents: Row[]; next: string | null }>()
    : { intents: [], next: null, status: answered.status }
}

let seen: { actionId: string }
let hidden: { actionId: string }
let denied: { actionId: string }
let waiting: { actionId: string; capsuleId: string }

describe('what agents declared', () => {
  beforeAll(async () => {
    seen = await call(open, 'ReadBooking', said(open.jti, OPEN, GOAL))
    hidden = await call(closed, 'ReadBooking', restricted())
    denied = await call(closed, 'CloseBooking', restricted({ confidence_level: 0.1 }))
    waiting = await call(closed, 'ReadBooking', restricted({ hem_urgency: 'REQUIRED' }))
  })

  it.each(['auditor', 'operator'] as const)(
    'is read by an %s, but for restricted ones',
    async (as) => {
      const { intents, next } = await list(as)
      expect(next).toBeNull()
      expect(intents).toHaveLength(1)
      expect(intents[0]).toMatchObject({
        action_id: seen.actionId,
        verdict: 'executed',
        match_result: 'MATCHED',
        declaration_state: 'present',
        audit_accessible: true,
      })
      expect(JSON.parse(intents[0]?.declaration ?? '')).toMatchObject({
        declared_goal: { goal_id: GOAL, description: OPEN.goal },
      })
    },
  )

  it('is read by an external auditor, restricted ones too', async () => {
    const { intents } = await list('external_auditor')
    expect(
      intents.map(({ action_id, verdict, match_result }) => [action_id, verdict, match_result]),
    ).toEqual([
      [seen.actionId, 'executed', 'MATCHED'],
      [hidden.actionId, 'executed', 'MATCHED'],
      [denied.actionId, 'denied', null],
      [waiting.actionId, 'hitl_dispatched', null],
    ])
    expect(intents[1]?.declaration).toContain(SECRET.goal)
  })

  it.each(['viewer', 'approver'] as const)('is nothing for a %s', async (as) => {
    expect(await list(as)).toMatchObject({ status: 403 })
  })

  it('is found by session, object, goal and agent', async () => {
    const found = async (query: string, as: Role = 'external_auditor') =>
      (await list(as, query)).intents.map(({ action_id }) => action_id)
    const all = [hidden.actionId, denied.actionId, waiting.actionId]
    expect(await found(`?session=${closed.sessionId}`)).toEqual(all)
    expect(await found(`?object=${open.soId}`)).toEqual([seen.actionId])
    expect(await found(`?goal=${GOAL}`)).toEqual([seen.actionId])
    expect(await found(`?goal=${RESTRICTED_GOAL}`)).toEqual(all)
    expect(await found('?agent=other-bot')).toEqual([])
    // Not even whether there is one is told.
    expect(await found(`?goal=${RESTRICTED_GOAL}`, 'auditor')).toEqual([])
    expect(await found(`?session=${closed.sessionId}`, 'operator')).toEqual([])
  })

  it('is read page by page, each once', async () => {
    const ids: string[] = []
    let after: string | null = '0'
    while (after !== null) {
      const page: { intents: Row[]; next: string | null } = await list(
        'external_auditor',
        `?limit=1&after=${after}`,
      )
      ids.push(...page.intents.map(({ action_id }) => action_id))
      after = page.next
    }
    expect(ids).toEqual([seen.actionId, hidden.actionId, denied.actionId, waiting.actionId])
  })

  it('shows in the stream that there was a restricted one, and no more', async () => {
    const lines = await plane.rig.lines()
    const shown = lines.filter(({ type }) => type === 'IDP_SUBMITTED').map(publicLine)
    expect(shown[0]).toHaveProperty('requested_action', 'ReadBooking')
    expect(Object.keys(shown[1] ?? {}).sort()).toEqual(
      [
        'v',
        'origin',
        'seq',
        'prev',
        'at',
        'type',
        'event_id',
        'action_id',
        'session_id',
        'audit_accessible',
      ].sort(),
    )
  })
})

describe('a restricted declaration', () => {
  const WORDS = [SECRET.goal, SECRET.why, RESTRICTED_GOAL]
  /** Text as it is, and as base64 may have it. */
  const saysAny = (text: string): readonly string[] => {
    const decoded = [...text.matchAll(/"([A-Za-z0-9+/_-]{24,}={0,2})"/g)].map(([, octets = '']) =>
      Buffer.from(octets, 'base64').toString('latin1'),
    )
    return WORDS.filter((word) => [text, ...decoded].some((each) => each.includes(word)))
  }

  async function pathsOf(path: string): Promise<string[]> {
    const actions = [seen, hidden, denied, waiting].map(({ actionId }) => actionId)
    const lines = await plane.rig.lines()
    const digests = [...new Set(JSON.stringify(lines).match(/[0-9a-f]{64}/g) ?? [])]
    if (path.includes('{action_id}') && path.startsWith('/v1/evidence'))
      return [...actions, ...digests].map((id) => path.replace('{action_id}', id))
    if (path.includes('{action_id}')) return actions.map((id) => path.replace('{action_id}', id))
    if (path.includes('{approval_id}')) return [path.replace('{approval_id}', waiting.actionId)]
    if (path.includes('{capsule_id}')) return digests.map((id) => path.replace('{capsule_id}', id))
    return [path.replaceAll(/\{\w+\}/g, 'x')]
  }

  it('is told to nobody but external auditors, on no route', async () => {
    const told: string[] = []
    let bodies = 0
    for (const row of ROUTES) {
      if (row.method !== 'get' || row.path === '/v1/events') continue
      for (const path of await pathsOf(row.path)) {
        for (const as of ROLES) {
          const { bytes, status } = await plane.ask('GET', path, { as })
          if (status === 200) bodies++
          if (saysAny(bytes.toString()).length > 0) told.push(`${as} ${row.path}`)
        }
      }
    }
    expect(bodies).toBeGreaterThan(100)
    expect([...new Set(told)]).toEqual(['external_auditor /v1/intents'])
  })

  it('is told by no event stream, to nobody', async () => {
    const { seq } = plane.gate.read.head()
    for (const as of ['viewer', 'auditor', 'approver', 'operator'] as const) {
      const answer = await fetch(`${plane.url}/v1/events`, {
        headers: { authorization: `Bearer ${plane.tokens[as]}`, 'last-event-id': '0' },
      })
      let text = ''
      const reader = answer.body?.getReader()
      while (reader !== undefined && !text.includes(`"seq":${seq - 1},`)) {
        const { value, done } = await reader.read()
        if (done) break
        text += Buffer.from(value).toString()
      }
      await reader?.cancel()
      expect(text).toContain('IDP_SUBMITTED')
      expect(saysAny(text)).toEqual([])
    }
  })

  it('leaves its digests in the evidence, and says what it withholds', async () => {
    const { json } = await plane.ask('GET', `/v1/evidence/${waiting.actionId}`, { as: 'auditor' })
    const { parts } = json<{ parts: { kind: string; name: string; withheld?: string[] }[] }>()
    const withheld = parts.filter((part) => part.withheld !== undefined)
    expect(withheld.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
      'cedar dev.capsulegate.cedar',
      'frozen head',
      'intent restricted_key',
    ])
    const open = await plane.ask('GET', `/v1/evidence/${seen.actionId}`, { as: 'auditor' })
    expect(open.bytes.toString()).not.toContain('withheld')
  })
})

describe('what was erased or damaged', () => {
  it('is told apart from what is there', async () => {
    const day = new Date().toISOString().slice(0, 10)
    await plane.gate.erase({ operator: 'acme', day }, 'olga')
    const { intents } = await list('external_auditor')
    expect(
      intents.map(({ declaration_state, declaration }) => [declaration_state, declaration]),
    ).toEqual(Array.from({ length: 4 }, () => ['erased', null]))
  })
})
