import { createHash, randomBytes, randomInt } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createToken, type Role } from '../../src/adapters/identity/tokens.js'
import { isHeadType } from '../../src/core/journal/vocabulary.js'
import { type Installation, install, type Serving } from '../cli/admin-support.js'
import { cli } from '../cli/support.js'

/**
 * Promise 8, from outside: the shipped command in front of a tool, people and agents at work, and every
 * argument, name, reason and amount is long and random. Nothing public may hold any of them.
 */
const said: { readonly what: string; readonly value: string; readonly kept: boolean }[] = []
function unique<T extends string>(what: string, value: T, kept: boolean): T {
  said.push({ what, value, kept })
  return value
}
/** A text that nobody guesses; `kept` ones must be found in the evidence, so that a grep means something. */
const text = (what: string, kept = true): string =>
  unique(what, `Zq${randomBytes(12).toString('hex')}`, kept)
const digits = (count: number): string =>
  `${randomInt(1, 10)}${Array.from({ length: count - 1 }, () => randomInt(0, 10)).join('')}`
/**
 * Below the threshold that asks a person, which is public, or above it. The last digit is no 0, which a decimal
 * loses when it is written again.
 */
const amount = (what: string, size: 'small' | 'large' | 'huge' = 'small', kept = true): string =>
  unique(
    what,
    `${digits({ small: 9, large: 11, huge: 13 }[size])}.${digits(3)}${randomInt(1, 10)}`,
    kept,
  )

const MANIFEST = `id: com.acme.payments
tools:
  pay:
    match: POST /v1/pay
    args: {order: string, currency: string, amount: decimal}
    constraints:
      known_currency: {currency: {in: [EUR, USD]}}
      daily: {sum: {of: amount, max: "500000000000", per: [$agent, currency], window: 1d}}
      once: {dedupe: {per: [order], window: 1h}}
  note:
    match: POST /v1/notes
    args: {customer: string, note: string}
    subject: customer
    capture: full
    digest_salt: tenant
    constraints:
      few: {count: {max: 2, per: [customer], window: 1h}}
  transfer:
    match: POST /v1/transfers
    args: {to: string, amount: decimal}
    hitl: {quorum: 2}
  spend:
    match: POST /v1/spend
    args: {amount: decimal}
    constraints:
      little: {sum: {of: amount, max: "99999999", per: [$agent], window: 1d}}
  find:
    match: GET /v1/items/{item}
    args: {item: string, colour: {type: string, query: colour}}
  forbidden:
    match: POST /v1/forbidden
    args: {reason: string}
`
const POLICIES = `
@id("support") permit (principal == Agent::"support-bot", action, resource);
@id("never") forbid (principal, action == Action::"forbidden", resource);
@id("large-pay") @hem("required") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("9999999999.0")) } unless { context.approval.granted };
@id("transfers") @hem("required") forbid (principal, action == Action::"transfer", resource)
unless { context.approval.granted };
`

let home: Installation
let gate: Serving
let upstream: Server
const AGENT = 'cg_agent_for-command-tests'
const tokens = new Map<string, string>()
/** Made before the gate starts: it looks for new tokens only now and then. */
const waiting: { readonly kind: string; readonly name: string }[] = []
/** All that agents were told, fields included. */
const told: string[] = []

beforeAll(async () => {
  home = await install()
  upstream = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ answer: text('a response', false) }))
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  writeFileSync(
    home.config,
    `upstream: ${origin}\noperator: acme\nagents: {support-bot: {token_sha256_env: BOT_TOKEN_SHA256}}\njournal: {segment_bytes: 65536}\npassthrough: [{path: /open}]\n`,
  )
  writeFileSync(join(home.home, 'manifests', 'payments.yaml'), MANIFEST)
  writeFileSync(join(home.home, 'policies', 'payments.cedar'), POLICIES)
  for (const role of ['approver', 'operator'] as const) {
    for (let n = 0; n < 6; n++) enrol(role, role, {})
  }
  enrol('machine', 'approver', { machine: true })
  enrol('viewer', 'viewer', {})
  enrol('auditor', 'auditor', {})
  gate = await home.start()
}, 60_000)
afterAll(async () => {
  upstream.closeAllConnections()
  await new Promise((resolve) => upstream.close(resolve))
  await home.close()
})

/** A token under a name that nothing else has. */
function enrol(kind: string, role: Role, more: { machine?: true }): void {
  const name = `Zq${randomBytes(12).toString('hex')}`
  const made = createToken(home.data, { role, name, groups: [], now: new Date(), ...more })
  tokens.set(name, made.token)
  waiting.push({ kind, name })
}
function someone(kind: string, kept = true): string {
  const at = waiting.findIndex((one) => one.kind === kind)
  const [one] = waiting.splice(at, at < 0 ? 0 : 1)
  if (one === undefined) throw new Error(`no more ${kind}`)
  return unique(`the name of a ${kind}`, one.name, kept)
}
async function admin(who: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${gate.admin}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${tokens.get(who)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const said = await response.text()
  return { status: response.status, text: said, json: () => JSON.parse(said) }
}
async function call(
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
) {
  const response = await fetch(`${gate.agents}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${AGENT}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const answer = await response.text()
  told.push(`${JSON.stringify([...response.headers])} ${answer}`)
  return {
    status: response.status,
    verdict: response.headers.get('gate-verdict'),
    action: String(response.headers.get('gate-action')),
    capsule: String(response.headers.get('gate-capsule')),
  }
}
const pay = (order: string, paid: string, more: Record<string, string> = {}, currency = 'EUR') =>
  call('POST', '/v1/pay', { order, currency, amount: paid }, more)
const shown = async (who: string, id: string) => {
  const found = (await admin(who, 'GET', `/v1/approvals/${id}`)).json() as Record<string, string>
  return { digest: found.document_digest ?? found.digest, ...found }
}
async function vote(who: string, id: string, body: Record<string, unknown>) {
  const { digest } = await shown(who, id)
  return admin(who, 'POST', `/v1/approvals/${id}/decision`, { digest, ...body })
}

describe('a run in which everything private is random', () => {
  it('executes, replays and refuses in every way', async () => {
    const order = text('an order')
    const key = { 'idempotency-key': `"${text('an idempotency key', false)}"` }
    expect((await pay(order, amount('an amount that was paid'), key)).verdict).toBe('executed')
    expect(
      (await pay(order, said.find(({ what }) => what.startsWith('an amount'))?.value ?? '', key))
        .status,
    ).toBe(200)
    expect((await pay(order, amount('a second amount'))).status).toBe(409)
    expect(
      (
        await pay(
          text('another order', false),
          amount('a third amount', 'small', false),
          {},
          text('a currency'),
        )
      ).status,
    ).toBe(403)
    const over = { amount: amount('an amount over the budget') }
    expect((await call('POST', '/v1/spend', over)).status).toBe(429)
    const customer = text('a subject')
    for (const status of [200, 200, 429]) {
      expect((await call('POST', '/v1/notes', { customer, note: text('a note') })).status).toBe(
        status,
      )
    }
    expect((await call('POST', '/v1/forbidden', { reason: text('an argument') })).status).toBe(403)
    const item = text('a path segment', false)
    expect((await call('GET', `/v1/items/${item}?colour=${text('a query value')}`)).status).toBe(
      200,
    )
    for (const [refused, status] of [
      [
        call(
          'GET',
          `/v1/items/${item}?colour=red&${text('a query name')}=${text('its value', false)}`,
        ),
        400,
      ],
      [call('GET', `/v1/nowhere/${text('an unmatched path')}`), 403],
      [call('POST', '/v1/pay', { [text('a member', false)]: text('its value', false) }), 400],
      [call('POST', '/v1/pay', `{"order":"${text('half a body', false)}`), 400],
      [call('POST', '/v1/pay', { order: text('an order without amount', false) }), 400],
      [call('GET', `/v1/items/..%2f${text('an ambiguous path', false)}`), 400],
      [call('POST', '/v1/pay', {}, { authorization: `Bearer ${text('a token', false)}` }), 401],
      [call('GET', `/open/${text('a passed-through path', false)}`), 200],
    ] as const) {
      expect((await refused).status).toBe(status)
    }
  })

  it('asks people, who say why', async () => {
    const [first, second, third] = [someone('approver'), someone('approver'), someone('approver')]
    const to = text('a payee')
    const sum = amount('an amount that was approved', 'large')
    const transfer = () => call('POST', '/v1/transfers', { to, amount: sum })
    const { action, status } = await transfer()
    expect(status).toBe(202)
    const reason = () => ({ reason: text('a reason') })
    expect((await vote(first, action, { decision: 'approve', ...reason() })).status).toBe(200)
    expect((await vote(second, action, { decision: 'approve', ...reason() })).status).toBe(200)
    const late = await vote(third, action, {
      decision: 'deny',
      reason: text('a late reason', false),
    })
    expect(late.status).toBe(409)
    expect((await transfer()).verdict).toBe('executed')

    const refused = await call('POST', '/v1/transfers', {
      to: text('a refused payee'),
      amount: amount('a refused amount', 'large'),
    })
    expect((await vote(third, refused.action, { decision: 'deny', ...reason() })).status).toBe(200)
    const path = `/v1/approvals/${refused.action}/reopen`
    expect((await admin(second, 'POST', path, reason())).status).toBe(200)

    const later = await pay(text('a deferred order'), amount('a deferred amount', 'large'))
    const deferred = { decision: 'defer', ttl_seconds: 600, ...reason() }
    expect((await vote(first, later.action, deferred)).status).toBe(200)

    const robot = someone('machine')
    const bounded = amount('an amount within bounds', 'large')
    const ordered = text('a bounded order')
    const asked = await pay(ordered, bounded)
    const cap = amount('a bound', 'huge')
    const within = { decision: 'approve_with_bounds', bounds: { cap: { amount: { lte: cap } } } }
    expect((await vote(robot, asked.action, { ...within, ...reason() })).status).toBe(200)
    expect((await pay(ordered, bounded)).verdict).toBe('executed')
    const withdrawn = await pay(text('a withdrawn order'), amount('a withdrawn amount', 'large'))
    expect((await call('DELETE', `/.gate/v1/actions/${withdrawn.action}`)).status).toBe(200)
  })

  it('grants, halts, resumes, closes and erases, by people with names', async () => {
    const operator = someone('operator')
    const payee = text('a payee of a standing grant')
    const cap = amount('a standing bound', 'huge')
    const granted = await admin(operator, 'POST', '/v1/grants', {
      agent: 'support-bot',
      tool: 'transfer',
      bounds: { cap: { amount: { lte: cap } }, payee: { to: { in: [payee] } } },
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      uses: 3,
    })
    expect(granted.status).toBe(201)
    const paid = amount('an amount under a standing grant', 'large')
    const sent = await call('POST', '/v1/transfers', { to: payee, amount: paid })
    expect(sent.verdict).toBe('executed')
    const listed = await admin(operator, 'GET', '/v1/grants')
    expect(listed.json().grants[0]).toMatchObject({ bounds: { cap: { amount: { lte: cap } } } })
    const another = someone('operator', false)
    const gone = await admin(another, 'DELETE', `/v1/grants/${granted.json().grant}`)
    expect(gone.status).toBe(200)

    const halting = someone('operator')
    const scope = { kind: 'tool', name: 'find' }
    expect((await admin(halting, 'POST', '/v1/halts', { scope })).status).toBe(200)
    const halted = `/v1/items/${text('a halted segment', false)}?colour=${text('halted', false)}`
    expect((await call('GET', halted)).status).toBe(403)
    const resuming = someone('operator')
    expect((await admin(resuming, 'DELETE', '/v1/halts?kind=tool&name=find')).status).toBe(200)

    const blocked = await pay(
      text('a blocked order', false),
      amount('a blocked amount', 'small', false),
      {},
      'GBP',
    )
    const closed = await admin(someone('operator'), 'POST', '/v1/open-items/close', {
      capsule_ids: [blocked.capsule],
      reason: text('a closing reason'),
    })
    expect(closed.status).toBe(200)

    // Erased at once: who and what it was is gone from the evidence too, the subject's name with it.
    const subject = text('an erased subject', false)
    await call('POST', '/v1/notes', { customer: subject, note: text('an erased note', false) })
    const erasing = someone('operator')
    const erased = await admin(erasing, 'POST', '/v1/evidence/erase', { subject })
    expect(erased.json()).toMatchObject({ records: expect.any(Number) })
    expect(erased.json().records).toBeGreaterThan(0)
  })

  it('leaves nothing private in anything public', async () => {
    const viewer = someone('viewer', false)
    const auditor = someone('auditor', false)
    const journal = join(home.data, 'journal')
    const lines = readdirSync(journal)
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .flatMap((name) => readFileSync(join(journal, name), 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line))
    for (const type of [
      'ACTION_DISPATCHED',
      'CAPSULE',
      'REPLAYED',
      'APPROVAL_VOTED',
      'DECISION_LOST',
      'REFUSAL_LIFTED',
      'GRANT_ISSUED',
      'GRANT_REVOKED',
      'HALT',
      'RESUME',
      'EVIDENCE_ERASED',
    ]) {
      expect(lines.map((line) => line.type)).toContain(type)
    }

    // The run kept what it says it kept: a grep for these values finds them where they may be.
    let evidence = ''
    const ids = new Set<string>()
    for (const line of lines) {
      const { action_id, approval_id, evidence_digest, grant } = line
      for (const id of [action_id, approval_id, evidence_digest, grant, line.capsule?.action_id]) {
        if (typeof id === 'string') ids.add(id)
      }
    }
    for (const id of ids) evidence += (await admin(auditor, 'GET', `/v1/evidence/${id}`)).text
    const lost = said.filter(({ value, kept }) => kept && !evidence.includes(value))
    expect(lost).toEqual([])

    const pages: string[] = []
    const capsules = lines.flatMap(({ capsule }) => (capsule === undefined ? [] : [capsule]))
    const approvals = new Set(lines.flatMap(({ approval_id: id }) => (id ? [id] : [])))
    for (const path of [
      '/v1/capsules?limit=100',
      '/v1/open-items',
      '/v1/approvals',
      '/v1/approvals?state=decided',
      '/v1/halts',
      '/v1/grants',
      '/v1/keys',
      '/metrics',
      '/readyz',
      ...capsules.map(({ capsule_id: id }) => `/v1/capsules/${id}`),
      ...capsules.map(({ action_id: id }) => `/v1/actions/${id}`),
      ...[...ids].map((id) => `/v1/evidence/${id}`),
      ...[...approvals].map((id) => `/v1/approvals/${id}`),
    ]) {
      pages.push((await admin(viewer, 'GET', path)).text)
    }
    pages.push(await eventsFor(viewer, lines))

    const out = join(home.home, 'export')
    expect((await cli(['ledger', 'export', '--data', home.data, '--out', out])).code).toBe(0)
    // A stopped gate has written its snapshot.
    expect(await gate.stop()).toBe(0)
    const files = [out, journal].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1')),
    )
    const open = [...pages, ...files].join('\n')
    expect(open.length).toBeGreaterThan(100_000)
    const found = said.filter(({ value }) => open.includes(value))
    expect(found).toEqual([])
    // Nor as a plain digest, which a guesser of names could compare.
    const names = said.filter(({ what }) => /name|subject|amount|bound/.test(what))
    const guessed = names.filter(({ value }) =>
      open.includes(createHash('sha256').update(value).digest('hex')),
    )
    expect(guessed).toEqual([])
    const amounts = said.filter(({ what }) => /amount|bound/.test(what))
    const whole = amounts.filter(({ value }) => open.includes(value.split('.')[0] ?? value))
    expect(whole).toEqual([])

    // The tenant's secret is nowhere, not even where auditors look.
    const secret = readFileSync(join(home.data, 'keys', 'tenant.salt'), 'utf8').trim()
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(open).not.toContain(secret)
    expect(evidence).not.toContain(secret)
    // What agents are told names no person and no other's words.
    const heard = told.join('\n')
    const people = said.filter(({ what }) => /name of|reason|bound/.test(what))
    expect(people.filter(({ value }) => heard.includes(value))).toEqual([])
  }, 120_000)
})

/** The event stream from the first line, as a viewer gets it. */
async function eventsFor(
  viewer: string,
  lines: readonly { readonly seq: number; readonly type: string }[],
): Promise<string> {
  const last = lines.findLast(({ type }) => !isHeadType(type))
  const abort = new AbortController()
  const response = await fetch(`${gate.admin}/v1/events`, {
    headers: { authorization: `Bearer ${tokens.get(viewer)}`, 'last-event-id': '0' },
    signal: abort.signal,
  })
  let told = ''
  try {
    for await (const chunk of response.body ?? []) {
      told += Buffer.from(chunk).toString('utf8')
      if (told.includes(`id: ${last?.seq}\n`)) break
    }
  } finally {
    abort.abort()
  }
  return told
}
