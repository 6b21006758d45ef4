import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Role } from '../../../src/adapters/identity/tokens.js'
import { ROUTES } from '../../../src/mounts/admin/routes.js'
import { describedTool } from '../../support/manifests.js'
import { TOKEN as CONFIGURED_AGENT } from '../../support/rig.js'
import { type Answered, idsOf, type Plane, startPlane } from './harness.js'

/**
 * Who reaches what, written down a second time: a slip in the table has to be made twice. `v` viewer,
 * `a` auditor, `x` external auditor, `p` approver, `o` operator.
 */
const REACH: Readonly<Record<string, string>> = {
  'get /readyz': 'vaxpo',
  'get /metrics': 'vapo',
  'get /v1/actions/{action_id}': 'vaxpo',
  'get /v1/capsules': 'vaxpo',
  'get /v1/capsules/{capsule_id}': 'vaxpo',
  'get /v1/open-items': 'vaxpo',
  'post /v1/open-items/close': 'po',
  'get /v1/approvals': 'vapo',
  'get /v1/approvals/{approval_id}': 'apo',
  'post /v1/approvals/{approval_id}/decision': 'p',
  'post /v1/approvals/{approval_id}/reopen': 'po',
  'get /v1/grants': 'ao',
  'post /v1/grants': 'o',
  'delete /v1/grants/{grant}': 'o',
  'get /v1/events': 'vapo',
  'get /v1/keys': 'vaxpo',
  'get /v1/halts': 'vapo',
  'post /v1/halts': 'o',
  'delete /v1/halts': 'o',
  'get /v1/sessions': 'vapo',
  'get /v1/sessions/{session_id}': 'vapo',
  'post /v1/sessions': 'o',
  'post /v1/sessions/{session_id}/close': 'o',
  'post /v1/mandates/{mandate_id}/revoke': 'o',
  'post /v1/missions/{mission_ref}': 'o',
  'get /v1/objects/{so_id}': 'vapo',
  'post /v1/objects/{so_id}': 'o',
  'get /v1/tools': 'vapo',
  'get /v1/tools/{server}/{tool}': 'vapo',
  'post /v1/tools/{server}/{tool}/accept': 'o',
  'post /v1/outcomes': 'o',
  'get /v1/evidence/{action_id}': 'ao',
  'post /v1/evidence/erase': 'o',
  'get /v1/intents': 'axo',
  'get /v1/openapi.json': 'vaxpo',
}
/** No token helps here: anybody may ask the one, and the other wants a signature. */
const OPEN: readonly string[] = ['get /livez', 'post /v1/decisions']
const LETTER = {
  viewer: 'v',
  auditor: 'a',
  external_auditor: 'x',
  approver: 'p',
  operator: 'o',
} as const satisfies Partial<Record<Role, string>>

let plane: Plane
let executed: { actionId: string; capsuleId: string }
let pending: { actionId: string; capsuleId: string }
type Operation = {
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, unknown>> }>
  >
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
let document: Document
const ajv = new Ajv2020({ strict: false, validateFormats: false })

beforeAll(async () => {
  plane = await startPlane()
  executed = idsOf(await plane.refund('50.00'))
  pending = idsOf(await plane.refund('250.00'))
  await plane.gate.pinTools('files', [describedTool('write', 'Writes a file.')])
  document = (await plane.ask('GET', '/v1/openapi.json')).json()
  ajv.addSchema(document, 'api')
})
afterAll(() => plane.close())

/** A request that is in order for each row. */
const SAMPLE: Readonly<Record<string, () => { path?: string; body?: unknown }>> = {
  'post /v1/halts': () => ({ body: { scope: { kind: 'agent', name: 'nobody' } } }),
  'delete /v1/halts': () => ({ path: '/v1/halts?kind=agent&name=nobody' }),
  'post /v1/sessions': () => ({ body: { session_id: 'session-1', agent: 'support-bot' } }),
  'post /v1/missions/{mission_ref}': () => ({ body: { phase: 'SUSPENDED' } }),
  'post /v1/objects/{so_id}': () => ({ body: { state: 'closed' } }),
  'post /v1/outcomes': () => ({
    body: { action_id: executed.actionId, status: 'reverted', ref: 'T-1' },
  }),
  'post /v1/tools/{server}/{tool}/accept': () => ({ body: { definition: '0'.repeat(64) } }),
  'post /v1/open-items/close': () => ({
    body: { capsule_ids: ['0'.repeat(64), '1'.repeat(64)], reason: 'seen' },
  }),
  'post /v1/evidence/erase': () => ({ body: { subject: 'nobody-at-all' } }),
  'get /readyz': () => ({ path: '/readyz?verbose' }),
  'post /v1/approvals/{approval_id}/decision': () => ({
    body: { decision: 'deny', digest: '0'.repeat(64), reason: 'no' },
  }),
  'post /v1/approvals/{approval_id}/reopen': () => ({ body: { reason: 'a mistake' } }),
  'post /v1/grants': () => ({
    body: {
      agent: 'support-bot',
      tool: 'create_refund',
      bounds: { cap: { amount: { lte: '300.00' } } },
      expires_at: new Date(Date.now() + 60_000).toISOString(),
      uses: 1,
    },
  }),
}

async function knock(name: string, as: Role | null, bearer?: string): Promise<Answered> {
  const [method = '', template = ''] = name.split(' ')
  const { path = template, body } = SAMPLE[name]?.() ?? {}
  const filled = path
    .replace('{action_id}', executed.actionId)
    .replace('{approval_id}', pending.actionId)
    .replace('{grant}', executed.actionId)
    .replace('{capsule_id}', executed.capsuleId)
    .replace('{server}/{tool}', 'files/write')
    .replace('{session_id}', 'session-1')
    .replace('{mandate_id}', 'mandate-1')
    .replace(/\{(?:mission_ref|so_id)\}/, executed.actionId)
  // An event stream has no end: asking for its head is enough to see who gets in.
  return plane.ask(name === 'get /v1/events' ? 'HEAD' : method.toUpperCase(), filled, {
    as,
    ...(bearer === undefined ? {} : { bearer }),
    ...(body === undefined ? {} : { body }),
  })
}

const pointer = (text: string): string => text.replaceAll('~', '~0').replaceAll('/', '~1')

/** The document promises this status with this type, and the body is what it says. */
function keepsItsWord(name: string, answered: Answered): void {
  const [method = '', path = ''] = name.split(' ')
  const promised = document.paths[path]?.[method]?.responses[String(answered.status)]
  expect([name, answered.status, promised !== undefined]).toEqual([name, answered.status, true])
  if (method === 'get' && path === '/v1/events') return
  expect(Object.keys(promised?.content ?? {})).toContain(answered.type)
  if (!answered.type.endsWith('json')) return
  const at = `api#/paths/${pointer(path)}/${method}/responses/${answered.status}/content/${pointer(answered.type)}/schema`
  const validate = ajv.getSchema(encodeURI(at))
  if (validate === undefined) throw new Error(`no schema at ${at}`)
  expect([name, validate(answered.json()), validate.errors]).toEqual([name, true, null])
}

describe('route × role', () => {
  it('is stated here for every row but livez and what approval systems sign', () => {
    const rows = ROUTES.map(({ method, path }) => `${method} ${path}`)
    expect(rows.filter((row) => !OPEN.includes(row)).sort()).toEqual(Object.keys(REACH).sort())
    expect(new Set(rows).size).toBe(rows.length)
  })

  const roles = Object.keys(LETTER) as (keyof typeof LETTER)[]
  const cases = Object.keys(REACH).flatMap((name) => roles.map((role) => [name, role] as const))
  it.each(cases)('%s for %s', async (name, role) => {
    const answered = await knock(name, role)
    const reaches = REACH[name]?.includes(LETTER[role]) === true
    expect([401, 403].includes(answered.status)).toBe(!reaches)
    if (!reaches && name !== 'get /v1/events') {
      expect(answered.json().code).toBe('forbidden')
    }
    keepsItsWord(name, answered)
  })

  it.each(Object.keys(REACH))('%s turns agents and strangers away', async (name) => {
    const agent = await knock(name, 'agent')
    expect(agent.status).toBe(403)
    if (name !== 'get /v1/events') keepsItsWord(name, agent)
    for (const bearer of ['garbage', plane.tokens.operator.slice(0, -1), CONFIGURED_AGENT, '']) {
      const answered = await knock(name, null, bearer)
      expect([bearer, answered.status]).toEqual([bearer, 401])
      expect(answered.headers.get('www-authenticate')).toBe('Bearer')
    }
    const nobody = await knock(name, null)
    expect(nobody.status).toBe(401)
    if (name !== 'get /v1/events') keepsItsWord(name, nobody)
  })

  it('answers livez to anyone, and says nothing else', async () => {
    const answered = await plane.ask('GET', '/livez', { as: null })
    expect([answered.status, answered.json()]).toEqual([200, { status: 'ok' }])
  })

  it('does not tell strangers which paths there are', async () => {
    const there = await plane.ask('GET', '/v1/capsules', { as: null })
    const absent = await plane.ask('GET', '/v1/nothing', { as: null })
    expect(absent.bytes).toEqual(there.bytes)
    expect((await plane.ask('GET', '/v1/nothing')).status).toBe(404)
  })
})

describe('tokens', () => {
  it('takes a token in no other place than the Authorization header', async () => {
    const { operator } = plane.tokens
    for (const path of [`/v1/halts?access_token=${operator}`, `/v1/halts?token=${operator}`]) {
      expect((await plane.ask('GET', path, { as: null })).status).toBe(401)
    }
    const headers = { cookie: `token=${operator}`, 'x-api-key': operator }
    expect((await plane.ask('GET', '/v1/halts', { as: null, headers })).status).toBe(401)
    const basic = Buffer.from(`operator:${operator}`).toString('base64')
    const asBasic = { authorization: `Basic ${basic}` }
    expect((await plane.ask('GET', '/v1/halts', { as: null, headers: asBasic })).status).toBe(401)
  })

  it('stops knowing a revoked token, and everybody when the file is damaged', async () => {
    const own = await startPlane()
    try {
      expect((await own.ask('GET', '/v1/keys', { as: 'viewer' })).status).toBe(200)
      own.revoke('the-viewer')
      await expect(
        until(async () => (await own.ask('GET', '/v1/keys', { as: 'viewer' })).status === 401),
      ).resolves.toBe(true)
      expect((await own.ask('GET', '/v1/keys', { as: 'auditor' })).status).toBe(200)
      writeFileSync(`${own.rig.dir}/data/tokens.json`, '{"tokens": [')
      await until(async () => (await own.ask('GET', '/v1/keys')).status === 401)
      expect(own.reports.some(({ event }) => event === 'tokens_unreadable')).toBe(true)
    } finally {
      await own.close()
    }
  })
})

describe('limits', () => {
  it('lets an operator halt while a stranger on the same host is being refused', async () => {
    const own = await startPlane({ limits: { refusalsPerMinute: 3, requestsPerMinute: 4 } })
    try {
      const statuses: number[] = []
      for (let i = 0; i < 5; i++) {
        statuses.push((await own.ask('GET', '/v1/halts', { as: null, bearer: `guess${i}` })).status)
      }
      expect(statuses).toEqual([401, 401, 401, 429, 429])
      expect((await own.ask('GET', '/v1/keys')).status).toBe(200)
      // A busy dashboard on the operator's own token does not stand in the way either.
      for (let i = 0; i < 4; i++) await own.ask('GET', '/v1/keys')
      const limited = await own.ask('GET', '/v1/keys')
      expect([limited.status, limited.json().code]).toEqual([429, 'too_many_requests'])
      expect((await own.ask('GET', '/v1/keys', { as: 'viewer' })).status).toBe(200)
      const halted = await own.ask('POST', '/v1/halts', { body: { scope: { kind: 'all' } } })
      expect(halted.status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

describe('requests that are not in order', () => {
  it.each([
    ['GET', '/v1/actions/not-an-id', undefined],
    ['GET', '/v1/actions/%E0%A4%A', undefined],
    ['GET', '/v1/capsules?verdict=nonsense', undefined],
    ['GET', '/v1/capsules?verdict=blocked&verdict=denied', undefined],
    ['GET', '/v1/capsules?unknown=1', undefined],
    ['GET', '/v1/capsules?cursor=-1', undefined],
    ['POST', '/v1/halts', '{"scope":'],
    ['POST', '/v1/halts', { scope: { kind: 'agent' } }],
    ['POST', '/v1/halts', { scope: { kind: 'all', name: 'x' } }],
    ['POST', '/v1/halts', { scope: { kind: 'all' }, by: 'somebody else' }],
    ['POST', '/v1/halts', undefined],
    ['DELETE', '/v1/halts?kind=agent', undefined],
    ['DELETE', '/v1/halts?kind=all&name=x', undefined],
    ['POST', '/v1/tools/files/write/accept', { definition: 'latest' }],
    ['POST', '/v1/tools/files/write/accept', {}],
    ['POST', '/v1/sessions', { session_id: '', agent: 'support-bot' }],
    ['POST', '/v1/sessions', { session_id: 's', agent: 'support-bot', by: 'somebody else' }],
    ['POST', `/v1/sessions/${'s'.repeat(300)}/close`, undefined],
    ['POST', '/v1/missions/not-a-uuid', { phase: 'SUSPENDED' }],
    ['POST', '/v1/missions/0b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c', { phase: 'DONE' }],
    ['POST', '/v1/objects/0b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c', {}],
    ['POST', '/v1/outcomes', { action_id: 'x', status: 'reverted', ref: 'r' }],
    ['POST', '/v1/evidence/erase', { operator: 'acme', day: '2026-02-31' }],
  ])('%s %s %j is a 400 problem and changes nothing', async (method, path, body) => {
    const before = plane.gate.data.journal.head().seq
    const answered = await plane.ask(method, path, body === undefined ? {} : { body })
    expect([answered.status, answered.type]).toEqual([400, 'application/problem+json'])
    expect(plane.gate.data.journal.head().seq).toBe(before)
  })

  it('refuses a body over the limit', async () => {
    const body = { capsule_ids: ['0'.repeat(64)], reason: 'x'.repeat(70_000) }
    const answered = await plane.ask('POST', '/v1/open-items/close', { body })
    expect([answered.status, answered.json().code]).toEqual([413, 'too_large'])
  })
})

async function until(test: () => Promise<boolean>): Promise<boolean> {
  while (!(await test())) await new Promise((resolve) => setImmediate(resolve))
  return true
}
