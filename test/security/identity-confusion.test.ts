import { createPublicKey } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose'
import type { JwtIssuer } from '../../src/adapters/identity/jwt.js'
import { createGate } from '../../src/app/create-gate.js'
import { loadConfig } from '../../src/config/load.js'
import {
  ask,
  get,
  OTHER_TOKEN,
  parseAnswer,
  type RawAnswer,
  rawClientOn,
  type Stand,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { type Authority, type Issued, makeAuthority } from '../support/authority.js'
import { AUTHORITY, LOCALHOST } from '../support/certificates.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** Credentials that look like somebody else's, on a live listener. */
let upstream: RawUpstream
beforeAll(async () => {
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
})
afterAll(() => upstream.close())

const bare = get('/files/a').replace(/authorization: .*\r\n/, '')
const as = (token: string): string => get('/files/a').replace(TOKEN, token)

describe('a client certificate', () => {
  let good: Authority
  let evil: Authority
  let stand: Stand
  const SUBJECTS = new Map([
    ['O=Acme,CN=bot', 'bot'],
    ['O=Acme,CN=büro', 'other'],
  ])
  beforeAll(async () => {
    good = makeAuthority('clients')
    evil = makeAuthority('clients')
    stand = await startStand({
      upstream: upstream.origin,
      tls: { ...LOCALHOST, clientCa: good.cert },
      certificates: SUBJECTS,
    })
  })
  afterAll(async () => {
    await stand.close()
    good.close()
    evil.close()
  })

  async function over(client: Issued | null, request: string): Promise<RawAnswer> {
    const socket = connect({
      port: stand.port,
      host: '127.0.0.1',
      ca: AUTHORITY,
      checkServerIdentity: () => undefined,
      ...client,
    })
    const raw = rawClientOn(socket)
    raw.send(request)
    return parseAnswer(await raw.closed())
  }
  const developer = async (): Promise<string | undefined> =>
    (await stand.capsules()).at(-1)?.developer

  it('of the configured authority, with the configured subject, is the agent; also beyond ASCII', async () => {
    expect((await over(good.issue('/O=Acme/CN=bot'), bare)).status).toBe(200)
    expect(await developer()).toBe('bot/1')
    expect((await over(good.issue('/O=Acme/CN=büro'), bare)).status).toBe(200)
    expect(await developer()).toBe('other/1')
  })

  it.each([
    ['of another authority that has the same name', () => evil.issue('/O=Acme/CN=bot')],
    ['that is expired', () => good.issue('/O=Acme/CN=bot', { days: -1 })],
  ])('%s ends the connection, whatever token comes with it', async (_, make) => {
    const dropped = stand.proxy.stats().dropped
    const answer = await over(make(), get('/files/a'))
    expect(answer.status).toBe(0)
    expect(stand.proxy.stats().dropped).toBe(dropped + 1)
  })

  it.each([
    ['a comma inside the CN', '/CN=bot,O=Acme'],
    ['the whole subject inside the CN', '/CN=O=Acme,CN=bot'],
    ['the whole subject inside the O', '/O=Acme,CN=bot'],
    ['another order of the same parts', '/CN=bot/O=Acme'],
    ['an attribute before', '/C=DE/O=Acme/CN=bot'],
    ['an attribute after', '/O=Acme/CN=bot/OU=x'],
    ['two CNs', '/O=Acme/CN=evil/CN=bot'],
    ['other letters of the same look', '/O=Acme/CN=bоt'],
    ['a combining letter for a composed one', '/O=Acme/CN=bu\u0308ro'],
    ['a blank behind', '/O=Acme/CN=bot '],
    ['capital letters', '/O=Acme/CN=BOT'],
    ['a line end inside the O', '/O=Acme\nCN=bot'],
    ['a plus that joins two in one part', '/O=Acme+CN=bot'],
    ['a backslash', '/O=Acme\\\\,CN=bot'],
  ])('whose subject has %s is nobody', async (_, subject) => {
    const issued = good.issue(subject, { args: subject.includes('+') ? ['-multivalue-rdn'] : [] })
    expect((await over(issued, bare)).status).toBe(401)
    expect(await developer()).toBe('anonymous')
  })

  it('beside the token of another agent is nobody, in both directions', async () => {
    expect((await over(good.issue('/O=Acme/CN=bot'), as(OTHER_TOKEN))).status).toBe(401)
    expect((await over(good.issue('/O=Acme/CN=büro'), as(TOKEN))).status).toBe(401)
    expect((await over(good.issue('/O=Acme/CN=bot'), as(TOKEN))).status).toBe(200)
  })

  it('does not outweigh a token that fails', async () => {
    expect((await over(good.issue('/O=Acme/CN=bot'), as('wrong'))).status).toBe(401)
    const basic = get('/files/a').replace(`Bearer ${TOKEN}`, 'Basic Ym90OmJvdA==')
    expect((await over(good.issue('/O=Acme/CN=bot'), basic)).status).toBe(401)
  })
})

type Pair = {
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  readonly jwk: JWK
  readonly pem: string
}
async function pair(alg: string, kid: string): Promise<Pair> {
  const made = await generateKeyPair(alg, { extractable: true })
  return {
    privateKey: made.privateKey,
    jwk: { ...(await exportJWK(made.publicKey)), kid, alg },
    pem: await exportSPKI(made.publicKey),
  }
}
const now = (): number => Math.floor(Date.now() / 1000)
const claims = (more: object = {}): Record<string, unknown> => ({
  iss: 'https://one.test',
  aud: 'gate',
  sub: 'bot',
  exp: now() + 600,
  ...more,
})
const sign = (by: Pair, payload: object, header: object = {}): Promise<string> =>
  new SignJWT(payload as Record<string, unknown>)
    .setProtectedHeader({ alg: by.jwk.alg ?? '', kid: by.jwk.kid ?? '', ...header })
    .sign(by.privateKey)

describe('a JWT', () => {
  let one: Pair
  let two: Pair
  let stranger: Pair
  let stand: Stand
  const THREE_PARTS = 'opaque.token.three'
  const issuer = (name: string, keys: readonly JWK[]): JwtIssuer => ({
    issuer: name,
    audience: 'gate',
    jwks: { kind: 'static', set: { keys: [...keys] } },
    agentClaim: 'sub',
    rolesClaim: 'roles',
    developerClaim: null,
  })
  beforeAll(async () => {
    // Both issuers call their key the same.
    one = await pair('RS256', 'same')
    two = await pair('RS256', 'same')
    stranger = await pair('RS256', 'same')
    stand = await startStand({
      upstream: upstream.origin,
      limits: { maxRefusals: 1_000 },
      issuers: [issuer('https://one.test', [one.jwk]), issuer('https://two.test', [two.jwk])],
      tokens: new Map([[THREE_PARTS, 'bot']]),
    })
  })
  afterAll(() => stand.close())
  const status = async (token: string): Promise<number> => (await ask(stand.port, as(token))).status

  it('of either issuer names its agent', async () => {
    expect(await status(await sign(one, claims()))).toBe(200)
    expect(await status(await sign(two, claims({ iss: 'https://two.test' })))).toBe(200)
  })

  const ATTACKS: readonly (readonly [string, () => Promise<string> | string])[] = [
    ['alg none', () => new UnsecuredJWT(claims()).encode()],
    [
      'alg none with the signature of another token left on',
      async () =>
        `${new UnsecuredJWT(claims()).encode()}${(await sign(one, claims())).split('.')[2]}`,
    ],
    [
      'HS256 with the public key as the secret',
      () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: 'HS256', kid: 'same' })
          .sign(Buffer.from(one.pem)),
    ],
    [
      'HS256 with the DER of the public key as the secret',
      () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: 'HS256', kid: 'same' })
          .sign(createPublicKey(one.pem).export({ type: 'spki', format: 'der' })),
    ],
    ['a key of nobody under a known kid', () => sign(stranger, claims())],
    ['a kid that is not there', () => sign(one, claims(), { kid: 'other' })],
    ['a kid that is a path', () => sign(stranger, claims(), { kid: '../../../../dev/null' })],
    ['its own key in jwk', () => sign(stranger, claims(), { jwk: stranger.jwk })],
    ['its own key by jku', () => sign(stranger, claims(), { jku: 'http://127.0.0.1:9/jwks' })],
    ['its own certificate by x5u', () => sign(stranger, claims(), { x5u: 'http://127.0.0.1:9/' })],
    ['the other issuer’s signature under the same kid', () => sign(two, claims())],
    ['an issuer list', () => sign(two, claims({ iss: ['https://one.test', 'https://two.test'] }))],
    ['another audience', () => sign(one, claims({ aud: 'gate2' }))],
    ['no audience', () => sign(one, claims({ aud: undefined }))],
    ['expired', () => sign(one, claims({ exp: now() - 60 }))],
    ['an expiry that is text', () => sign(one, { ...claims(), exp: String(now() + 600) })],
    ['not yet valid', () => sign(one, claims({ nbf: now() + 600 }))],
    ['no expiry', () => sign(one, claims({ exp: undefined }))],
    ['an agent that is a list', () => sign(one, claims({ sub: ['bot'] }))],
    [
      'a critical header nobody knows',
      () => sign(one, claims(), { crit: ['x'], x: 1 }).catch(() => 'a.b.c'),
    ],
    [
      'a payload in the place of another',
      async () => {
        const [head, , signature] = (await sign(one, claims({ sub: 'other' }))).split('.')
        return [head, Buffer.from(JSON.stringify(claims())).toString('base64url'), signature].join(
          '.',
        )
      },
    ],
    // With an issuer configured three parts are a JWT, and never looked up as an opaque token.
    ['a configured opaque token of three parts', () => THREE_PARTS],
  ]
  it.each(ATTACKS)('%s is nobody', async (_, make) => {
    const before = upstream.requests.length
    expect(await status(await make())).toBe(401)
    expect(upstream.requests).toHaveLength(before)
    expect((await stand.capsules()).at(-1)?.developer).toBe('anonymous')
  })
})

describe('a key set that is rotated while the gate runs', () => {
  it('takes the new key and no longer the old one; a damaged file leaves no key', async () => {
    const home = mkdtempSync(join(tmpdir(), 'gate-jwks-'))
    const file = join(home, 'jwks.json')
    const replace = (text: string): void => {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
    }
    const [old, fresh] = [await pair('ES256', 'a'), await pair('ES256', 'b')]
    replace(JSON.stringify({ keys: [old.jwk] }))
    writeFileSync(
      join(home, 'gate.yaml'),
      'identity: {jwt: [{issuer: "https://one.test", audience: gate, jwks_file: jwks.json}]}\n',
    )
    const loaded = loadConfig(join(home, 'gate.yaml'), {})
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const reports: string[] = []
    const gate = await createGate(loaded.config, {
      judged: 'by_nothing',
      recorder: { in: 'this_thread' },
      report: ({ event }) => reports.push(event),
    })
    const kind = async (by: Pair): Promise<string> => {
      const bearer = await sign(by, claims())
      return (
        await gate.identity.identify({ bearer, certificate: null, asserted: null, source: '' })
      ).kind
    }
    try {
      expect([await kind(old), await kind(fresh)]).toEqual(['known', 'unknown'])
      replace(JSON.stringify({ keys: [fresh.jwk] }))
      // The file is looked at once a second at most.
      while ((await kind(fresh)) !== 'known');
      expect(await kind(old)).toBe('unknown')
      replace('{"keys": [')
      while ((await kind(fresh)) !== 'unknown');
      expect(reports).toContain('jwks_unreadable')
    } finally {
      await gate.close()
      rmSync(home, { recursive: true })
    }
  })
})
