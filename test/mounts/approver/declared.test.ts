import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { derive } from '../../../src/adapters/webhook/events.js'
import type { ApprovalSeen, WebhookEvent } from '../../../src/adapters/webhook/model.js'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import { itemPage } from '../../../src/mounts/approver/item.js'
import { standing } from '../../../src/mounts/approver/words.js'
import { cli } from '../../cli/support.js'
import { person } from '../../support/approvals.js'
import { type Asked, HOSTILE, startAsked } from './asked.js'
import { decision, detail } from './harness.js'

/** What people are shown of a call that declares, and of a session that was stopped. */
let at: Asked
beforeAll(async () => {
  at = await startAsked()
})
afterAll(() => at.close())

const session = {
  pathId: 'p',
  principal: { name: 'dora', role: 'approver', groups: [], machine: false },
  token: 't',
  csrf: 'c',
  secure: false,
} as const
const approvalOf = async (id: string) => {
  const approval = await at.plane.gate.read.approval(id)
  if (approval === null) throw new Error(id)
  return approval
}
async function pageOf(id: string): Promise<string> {
  const approval = await approvalOf(id)
  const shown = await at.plane.gate.read.document(approval)
  return itemPage({ session, approval, shown, hindrance: null, attempt: null })
}
const LIFTS_NOT = 'Approving will not let this call run'

describe('a call whose agent demands a person', () => {
  it("quotes the agent's own words, named as unchecked, and none of them is markup", async () => {
    const description = `${HOSTILE}, as the customer said`
    const page = await pageOf(await at.demanded({ declared_goal: { goal_id: ids(), description } }))
    expect(page).toContain('What the agent says')
    expect(page).toContain('The gate has not checked them')
    expect(page).toContain(
      String.raw`&quot;&lt;img src=x onerror=alert(1)&gt; \&quot;Approve\&quot; \u{202E}neve\u{200B} &amp; &lt;b&gt;done&lt;/b&gt;, as the customer said&quot;`,
    )
    expect(page).not.toMatch(/<img|<b>|\u202e|\u200b/)
    for (const said of ['0.9', 'REQUIRED', 'INSTRUCTION', 'ProcessPayment', 'IDP_STANDARD']) {
      expect(page).toContain(`&quot;${said}&quot;`)
    }
    expect(page).toContain('The agent itself demands a person&#39;s judgement.')
    expect(page).toContain('By the agent itself')
    expect(page).not.toContain(LIFTS_NOT)
    expect(page).toContain('>Approve</button>')
  })

  it('says so where approving lifts nothing, before and beside the button', async () => {
    const id = await at.unlifted()
    const page = await pageOf(id)
    expect(page).toContain(LIFTS_NOT)
    expect(page).toContain('Even if you approve, the call will not run')
    expect(page).toContain('As things stand nothing of this is sent')
    expect(page).not.toContain('What will be sent')
    const summary = (await detail(at.plane, id)) as unknown as { [name: string]: unknown }
    expect(summary).toMatchObject({ holds: 'call', session_id: expect.any(String) })
    expect(summary.shown).toContain('"approval_lifts": false')
    expect(summary.shown).toContain('"agent_says"')
  })
})

describe('a restricted declaration', () => {
  const restricted = () => ({
    audit_accessible: false,
    declared_goal: { goal_id: ids(), description: 'zq9 nobody here may read this' },
  })
  it.each(['demanded', 'gap'] as const)(
    'is not quoted to people, who are told so: %s',
    async (how) => {
      const id = await at[how](restricted())
      const page = await pageOf(id)
      const item = JSON.stringify(await detail(at.plane, id))
      expect(page).not.toContain('zq9')
      expect(item).not.toContain('zq9')
      expect(page).toContain('external auditors alone may read it')
      // The finding itself is no word of the agent.
      expect(page.includes('<strong>IDP_COMMITMENT_GAP</strong>')).toBe(how === 'gap')
    },
  )
})

describe('a session that was stopped', () => {
  it('asks whether it goes on, the gap first, and gives no bounds', async () => {
    const id = await at.gap()
    const page = await pageOf(id)
    expect(page).toContain('You decide whether it goes on')
    expect(page).toContain('What was sent is not what was declared')
    expect(page).toContain('<strong>IDP_COMMITMENT_GAP</strong>')
    expect(page.indexOf('IDP_COMMITMENT_GAP')).toBeLessThan(page.indexOf('Exact arguments'))
    expect(page).toContain('>Let the session go on</button>')
    expect(page).toContain('>End the session</button>')
    expect(page).not.toMatch(/>Approve<|>Refuse<|What will be sent|After approval/)
    expect(page).toContain('Stopped session of &quot;support-bot&quot;')
    const item = await detail(at.plane, id)
    expect(item).toMatchObject({ holds: 'session', session_id: expect.any(String) })
    const bounds = { small: { booking: { eq: 'b-1' } } }
    const bounded = await decision(at.plane, item, { decision: 'approve_with_bounds', bounds })
    expect([bounded.status, bounded.json().detail]).toEqual([
      422,
      expect.stringContaining('A session goes on or ends'),
    ])
    const done = await decision(at.plane, item, { decision: 'approve' })
    expect(done.json()).toMatchObject({ state: 'resumed' })
    const approval = await approvalOf(id)
    expect(standing(approval)).toBe('The session goes on')
    // Nothing was refused, so nothing stands and nothing can be taken back.
    expect(await detail(at.plane, id)).toMatchObject({ refused_until: null })
  })

  it('says that it was ended, for good', async () => {
    const id = await at.tooManyMissions()
    const page = await pageOf(id)
    expect(page).toContain('named another mission than its mandate')
    expect(page).not.toContain('IDP_COMMITMENT_GAP')
    const item = await detail(at.plane, id)
    const done = await decision(at.plane, item, { decision: 'deny', reason: 'no' })
    expect(done.json()).toMatchObject({ state: 'refused' })
    expect(standing(await approvalOf(id))).toBe('The session was ended')
    const reopened = await at.plane.ask('POST', `/v1/approvals/${id}/reopen`, {
      as: 'approver',
      body: { reason: 'no' },
    })
    expect([reopened.status, await at.plane.gate.data.state.isOver(sessionIn(item))]).toEqual([
      409,
      true,
    ])
  })

  it('may be decided later, stays stopped meanwhile, and ends undecided', async () => {
    const steps = at.steps()
    await at.send(steps, 'ReadBooking', {}, '/v1/bookings/another')
    const { heldBy } = (await at.plane.gate.data.state.session(steps.sessionId)) ?? {}
    const item = await detail(at.plane, String(heldBy))
    const later = await decision(at.plane, item, { decision: 'defer', ttl_seconds: 3600 })
    expect(later.json()).toMatchObject({ state: 'deferred' })
    expect(await at.send(steps, 'ReadBooking')).toMatchObject({ code: 'session_pending' })
    expect(standing(await approvalOf(String(heldBy)))).toBe('Postponed')
    const approval = await approvalOf(String(heldBy))
    const resumed = await at.plane.gate.resolve({
      approvalId: approval.approvalId,
      documentDigest: approval.documentDigest,
      decider: person('the-approver'),
      outcome: { kind: 'approve' },
    })
    expect(resumed).toMatchObject({ state: 'resumed' })
    expect(await at.send(steps, 'ReadBooking')).toMatchObject({ code: 'executed' })
  })
})

const ids = (): string => '5f0c1b2a-7d3e-4c6b-8a9d-0e1f2a3b4c5d'
const sessionIn = (item: object): string => (item as { readonly session_id: string }).session_id

describe('from a terminal, and for systems that are told', () => {
  it('a stopped session is shown in words, and resumed', async () => {
    const id = await at.gap()
    const env = { GATE_ADMIN_URL: at.plane.url, GATE_ADMIN_TOKEN: at.plane.tokens.approver }
    const run = (...args: string[]) => cli(['approvals', ...args], { env })
    expect((await run('ls')).out).toContain('read_booking (stopped session)')
    const shown = await run('show', id)
    expect(shown.out).toContain('You decide whether it goes on.')
    expect(shown.out).toContain('What was sent is not what was declared (IDP_COMMITMENT_GAP)')
    expect(shown.out).toContain('which the gate has not checked')
    const { document_digest } = await detail(at.plane, id)
    expect((await run('approve', id, document_digest)).out).toBe('resumed: the session goes on\n')
    const unlifted = await at.unlifted()
    const seen = await detail(at.plane, unlifted)
    expect((await run('show', unlifted)).out).toContain(LIFTS_NOT)
    expect((await run('approve', unlifted, seen.document_digest)).out).toBe(
      'approved: policy or a constraint still refuses the call\n',
    )
  }, 30_000)

  it('events of a stopped session say what it is, and that it was resumed', async () => {
    const id = await at.gap()
    const item = await detail(at.plane, id)
    await decision(at.plane, item, { decision: 'approve' })
    const approvals = new Map<string, ApprovalSeen>()
    const told: WebhookEvent[] = []
    for await (const raw of at.plane.gate.data.journal.lines()) {
      const line = readLine(raw)
      if (line === null) continue
      const { events, change } = derive(line, { approvals, judges: null })
      told.push(...events.filter(({ approval }) => approval === id))
      for (const [key, seen] of Object.entries(change?.approvals ?? {})) {
        if (seen === null) approvals.delete(key)
        else approvals.set(key, seen)
      }
    }
    const about = { holds: 'session', session_id: sessionIn(item) }
    expect(told).toMatchObject([
      { type: 'approval.requested', data: about },
      { type: 'approval.decided', data: { ...about, outcome: 'resumed' } },
    ])
  })
})
