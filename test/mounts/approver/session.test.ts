import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hashToken } from '../../../src/adapters/identity/tokens.js'
import { createSessions } from '../../../src/mounts/approver/session.js'
import { STYLE } from '../../../src/mounts/approver/style.js'
import type { Principal } from '../../../src/ports/admin.js'
import { detail, type Plane, startPlane, waiting } from './harness.js'

describe('sessions', () => {
  const ids = { random: (n: number) => new Uint8Array(randomBytes(n)) }
  const person: Principal = { name: 'ada', role: 'approver', groups: [], machine: false }
  function rig() {
    let now = 0
    const tokens = new Map<string, Principal | null>([[hashToken('t'), person]])
    const held = { hash: hashToken, held: () => tokens }
    const sessions = createSessions(held, { monotonic: () => now }, ids)
    const opened = sessions.open('t', false)
    if (opened === null) throw new Error('not opened')
    return {
      tokens,
      sessions,
      ...opened,
      pathId: opened.session.pathId,
      pass: (ms: number) => {
        now += ms
      },
    }
  }

  it('opens for a person with an approver token only', () => {
    const { sessions, tokens } = rig()
    tokens.set(hashToken('robot'), { ...person, machine: true })
    tokens.set(hashToken('boss'), { ...person, role: 'operator' })
    tokens.set(hashToken('agent'), null)
    for (const token of ['robot', 'boss', 'agent', '', 'unknown']) {
      expect(sessions.open(token, false)).toBeNull()
    }
  })

  it('needs path and secret together', () => {
    const { sessions, pathId, secret } = rig()
    const other = sessions.open('t', false)
    expect(sessions.find(pathId, secret)).not.toBeNull()
    expect(sessions.find(pathId, null)).toBeNull()
    expect(sessions.find(pathId, other?.secret ?? '')).toBeNull()
    expect(sessions.find(other?.session.pathId ?? '', secret)).toBeNull()
  })

  it('changes the secret every five minutes; the old one works a moment longer, for what is under way', () => {
    const { sessions, pathId, secret, pass } = rig()
    pass(5 * 60_000)
    const renewed = sessions.find(pathId, secret)?.renewed ?? ''
    expect(renewed).toMatch(/^[\w-]{43}$/)
    expect(sessions.find(pathId, secret)).toMatchObject({ renewed: null })
    expect(sessions.find(pathId, renewed)).toMatchObject({ renewed: null })
    pass(10_000)
    expect(sessions.find(pathId, secret)).toBeNull()
    expect(sessions.find(pathId, renewed)).not.toBeNull()
  })

  it('ends an hour after sign-in, however often it was used', () => {
    const { sessions, pathId, secret, pass } = rig()
    let current = secret
    for (let minute = 1; minute < 60; minute++) {
      pass(60_000)
      current = sessions.find(pathId, current)?.renewed ?? current
    }
    expect(sessions.find(pathId, current)).not.toBeNull()
    pass(60_000)
    expect(sessions.find(pathId, current)).toBeNull()
  })

  it('ends with its token, and follows what the token became', () => {
    const { sessions, pathId, secret, tokens } = rig()
    tokens.set(hashToken('t'), { ...person, groups: ['finance'] })
    expect(sessions.find(pathId, secret)?.session.principal.groups).toEqual(['finance'])
    tokens.delete(hashToken('t'))
    expect(sessions.find(pathId, secret)).toBeNull()
    tokens.set(hashToken('t'), person)
    expect(sessions.find(pathId, secret)).toBeNull()
  })

  it('keeps sixteen a token at most: the oldest goes', () => {
    const { sessions, pathId, secret } = rig()
    for (let i = 0; i < 15; i++) sessions.open('t', false)
    expect(sessions.find(pathId, secret)).not.toBeNull()
    sessions.open('t', false)
    expect(sessions.find(pathId, secret)).toBeNull()
  })
})

describe('forms over HTTP', () => {
  let plane: Plane
  let inside: string
  let cookie: string
  beforeAll(async () => {
    plane = await startPlane({ limits: { refusalsPerMinute: 20, requestsPerMinute: 100_000 } })
    const answered = await login(plane.tokens.approver)
    inside = answered.headers.get('location') ?? ''
    cookie = (answered.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  })
  afterAll(() => plane.close())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${plane.url}${path}`, { headers, redirect: 'manual' })
  const post = (
    path: string,
    fields: Record<string, string> | [string, string][],
    headers: Record<string, string> = {},
  ) =>
    fetch(`${plane.url}${path}`, {
      method: 'POST',
      headers,
      body: new URLSearchParams(fields),
      redirect: 'manual',
    })
  const field = (text: string, name: string): string =>
    new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
  async function login(token: string, more: Record<string, string> = {}) {
    const csrf = field(await (await get('/approvals')).text(), 'csrf')
    return post('/login', { csrf, token, ...more })
  }
  async function form() {
    const item = await waiting(plane, randomBytes(4).toString('hex'))
    const path = `${inside}/${item.approval_id}`
    const text = await (await get(path, { cookie })).text()
    const fields = {
      csrf: field(text, 'csrf'),
      digest: field(text, 'digest'),
      on: field(text, 'on'),
      decision: 'deny',
      reason: 'no',
    }
    return { item, path: `${path}/decision`, fields }
  }
  const open = async (id: string) => (await detail(plane, id)).state === 'pending'

  it('decides with cookie, path and token of the form', async () => {
    const { item, path, fields } = await form()
    expect((await post(path, fields, { cookie })).status).toBe(303)
    expect(await open(item.approval_id)).toBe(false)
  })

  it.each<[string, (f: Awaited<ReturnType<typeof form>>) => Promise<Response>, number]>([
    ['no cookie', ({ path, fields }) => post(path, fields), 401],
    [
      'a made-up cookie',
      ({ path, fields }) => post(path, fields, { cookie: `gate_session=${'A'.repeat(43)}` }),
      401,
    ],
    [
      'another path',
      ({ path, fields }) => post(path.replace(inside, '/approvals/in/x'), fields, { cookie }),
      401,
    ],
    [
      'no token of the form',
      ({ path, fields }) => post(path, { ...fields, csrf: '' }, { cookie }),
      403,
    ],
    [
      "the sign-in form's token",
      async ({ path, fields }) =>
        post(
          path,
          { ...fields, csrf: field(await (await get('/approvals')).text(), 'csrf') },
          { cookie },
        ),
      403,
    ],
    [
      'its token twice',
      ({ path, fields }) =>
        post(path, [...Object.entries(fields), ['csrf', fields.csrf]], { cookie }),
      403,
    ],
    [
      'another origin',
      ({ path, fields }) => post(path, fields, { cookie, origin: 'http://127.0.0.1:1' }),
      403,
    ],
    [
      'an origin that is hidden',
      ({ path, fields }) => post(path, fields, { cookie, origin: 'null' }),
      403,
    ],
    [
      'another port of this host',
      ({ path, fields }) => post(path, fields, { cookie, 'sec-fetch-site': 'same-site' }),
      403,
    ],
    [
      'an agent token beside nothing',
      ({ path, fields }) => post(path, fields, { authorization: `Bearer ${plane.tokens.agent}` }),
      401,
    ],
    [
      'another digest',
      ({ path, fields }) => post(path, { ...fields, digest: '0'.repeat(64) }, { cookie }),
      409,
    ],
    ['no reason', ({ path, fields }) => post(path, { ...fields, reason: ' ' }, { cookie }), 400],
    ['no decision', ({ path, fields }) => post(path, { ...fields, decision: '' }, { cookie }), 400],
    [
      'too much of it',
      ({ path, fields }) => post(path, { ...fields, reason: 'x'.repeat(20_000) }, { cookie }),
      413,
    ],
  ])('decides nothing with %s', async (_, send, status) => {
    const made = await form()
    expect((await send(made)).status).toBe(status)
    expect(await open(made.item.approval_id)).toBe(true)
  })

  it('goes nowhere but to its own pages after signing in', async () => {
    for (const item of [
      '//evil.example',
      'https://evil.example',
      '../../v1/keys',
      'x\r\nset-cookie: a=b',
    ]) {
      const answered = await login(plane.tokens.approver, { item })
      expect([answered.status, answered.headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/^\/approvals\/in\/[\w-]{43}$/),
      ])
    }
  })

  it('counts failed sign-ins by address and still lets an approver in', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 25; i++) statuses.push((await login('wrong')).status)
    expect(statuses.at(-1)).toBe(429)
    expect((await login(plane.tokens.approver)).status).toBe(303)
  })

  it('sends pages that may load nothing and be framed by nobody', async () => {
    const answered = await get(inside, { cookie })
    const policy = answered.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(answered.headers.get('x-frame-options')).toBe('DENY')
    expect(answered.headers.get('referrer-policy')).toBe('same-origin')
    expect(answered.headers.get('cache-control')).toBe('no-store')
    expect(Buffer.byteLength(STYLE)).toBeLessThan(10_000)
  })

  it('opens no API route to a cookie', async () => {
    expect((await get('/v1/approvals', { cookie })).status).toBe(401)
  })
})
