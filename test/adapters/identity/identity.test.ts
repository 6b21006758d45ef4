import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT, UnsecuredJWT } from 'jose'
import { createIdentity, type IdentityOptions } from '../../../src/adapters/identity/identity.js'
import type { JwtIssuer } from '../../../src/adapters/identity/jwt.js'
import {
  createToken,
  hashToken,
  readTokens,
  revokeTokens,
  tokensFile,
} from '../../../src/adapters/identity/tokens.js'
import { watchTokens } from '../../../src/adapters/identity/watch-tokens.js'
import type { Caller } from '../../../src/core/call/call.js'

const NOBODY: Caller = { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' }
const agent = (name: string) => ({ agent: name, roles: ['r'], developer: `${name}/1` })
const BASE: IdentityOptions = {
  tokens: () => new Map([[hashToken('secret'), agent('bot')]]),
  issuers: [],
  certificates: new Map([
    ['CN=bot', agent('bot')],
    ['CN=other', agent('other')],
  ]),
  anonymous: false,
}
const identify = (caller: Partial<Caller>, options: Partial<IdentityOptions> = {}) =>
  createIdentity({ ...BASE, ...options }).identify({ ...NOBODY, ...caller })

describe('who is calling', () => {
  it('is known by the hash of a token or the subject of a certificate, and by nothing near them', () => {
    expect(identify({ bearer: 'secret' })).toMatchObject({ kind: 'known', agent: 'bot' })
    expect(identify({ certificate: 'CN=bot' })).toMatchObject({ kind: 'known', agent: 'bot' })
    expect(identify({})).toEqual({ kind: 'unknown', why: 'no_credential' })
    fc.assert(
      fc.property(
        fc.string().filter((text) => text !== 'secret' && text !== 'CN=bot' && text !== 'CN=other'),
        (text) => {
          expect(identify({ bearer: text })).toMatchObject({ kind: 'unknown' })
          expect(identify({ certificate: text })).toMatchObject({ kind: 'unknown' })
          expect(identify({ bearer: hashToken('secret') })).toMatchObject({ kind: 'unknown' })
        },
      ),
    )
  })

  it('never falls back from a credential that fails, not even to anonymity', () => {
    expect(identify({}, { anonymous: true })).toMatchObject({ agent: 'anonymous' })
    expect(identify({ bearer: 'wrong' }, { anonymous: true })).toMatchObject({ kind: 'unknown' })
    expect(identify({ bearer: '' }, { anonymous: true })).toMatchObject({ kind: 'unknown' })
    expect(identify({ bearer: 'wrong', certificate: 'CN=bot' })).toMatchObject({ kind: 'unknown' })
    expect(identify({ certificate: 'CN=x' }, { anonymous: true })).toMatchObject({
      kind: 'unknown',
    })
  })

  it('must be the same by both credentials where certificates name agents', () => {
    expect(identify({ bearer: 'secret', certificate: 'CN=bot' })).toMatchObject({ agent: 'bot' })
    expect(identify({ bearer: 'secret', certificate: 'CN=other' })).toEqual({
      kind: 'unknown',
      why: 'credentials_disagree',
    })
    expect(identify({ bearer: 'secret', certificate: 'CN=nobody' })).toMatchObject({
      kind: 'unknown',
    })
    expect(
      identify({ bearer: 'secret', certificate: 'CN=mesh' }, { certificates: new Map() }),
    ).toMatchObject({ agent: 'bot' })
  })
})

describe('a JWT', () => {
  let issuer: JwtIssuer
  type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  let key: PrivateKey
  let foreign: PrivateKey
  const sign = (claims: Record<string, unknown>, by = key, header: object = {}): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid: 'k', ...header }).sign(by)
  const soon = (): number => Math.floor(Date.now() / 1000) + 600
  const good = (): Record<string, unknown> => ({
    iss: 'https://idp.test',
    aud: 'gate',
    sub: 'jwt-bot',
    exp: soon(),
    roles: ['a', 7, 'b'],
  })
  beforeAll(async () => {
    const pair = await generateKeyPair('EdDSA', { extractable: true })
    key = pair.privateKey
    foreign = (await generateKeyPair('EdDSA')).privateKey
    const set: JSONWebKeySet = {
      keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'EdDSA' }],
    }
    issuer = {
      issuer: 'https://idp.test',
      audience: 'gate',
      jwks: { kind: 'static', set },
      agentClaim: 'sub',
      rolesClaim: 'roles',
      developerClaim: 'dev',
    }
  })
  const check = (token: string) => identify({ bearer: token }, { issuers: [issuer] })

  it('names the agent by its claim; roles that are no strings are dropped', async () => {
    expect(await check(await sign({ ...good(), dev: 'acme/2' }))).toEqual({
      kind: 'known',
      agent: 'jwt-bot',
      roles: ['a', 'b'],
      developer: 'acme/2',
      by: [{ kind: 'jwt', issuer: 'https://idp.test' }],
    })
  })

  it('is nobody when expired, for others, unsigned, forged, without agent or without end', async () => {
    const tampered = (await sign(good())).replace(
      /\.[^.]+\./,
      `.${Buffer.from(JSON.stringify({ ...good(), sub: 'root' })).toString('base64url')}.`,
    )
    const tokens = [
      await sign({ ...good(), exp: soon() - 3600 }),
      await sign({ ...good(), nbf: soon() }),
      await sign({ ...good(), aud: 'other' }),
      await sign({ ...good(), iss: 'https://evil.test' }),
      await sign({ ...good(), sub: '' }),
      await sign({ ...good(), sub: 7 }),
      await sign((({ exp: _, ...rest }) => rest)(good() as { exp: number })),
      await sign(good(), foreign),
      await new SignJWT(good()).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.alloc(32, 1)),
      new UnsecuredJWT(good()).encode(),
      tampered,
      `${await sign(good())}x`,
      'a.b.c',
      `a.${'b'.repeat(20_000)}.c`,
    ]
    for (const token of tokens) expect((await check(token)).kind).toBe('unknown')
  })

  it('of three parts is only a JWT when an issuer is configured', () => {
    const tokens = () => new Map([[hashToken('a.b.c'), agent('dotted')]])
    expect(identify({ bearer: 'a.b.c' }, { tokens })).toMatchObject({ agent: 'dotted' })
  })

  it('must agree with a certificate too', async () => {
    const token = await sign(good())
    const both = identify({ bearer: token, certificate: 'CN=bot' }, { issuers: [issuer] })
    expect(await both).toMatchObject({ kind: 'unknown', why: 'credentials_disagree' })
  })
})

describe('tokens of our own', () => {
  const made: string[] = []
  const folder = (): string => {
    made.push(mkdtempSync(join(tmpdir(), 'tokens-')))
    return made.at(-1) as string
  }
  afterAll(() => {
    for (const dir of made) rmSync(dir, { recursive: true, force: true })
  })
  const now = new Date('2026-01-01T00:00:00Z')

  it('are kept as hashes in a file only the owner reads; revoking takes all of a name', () => {
    const dir = join(folder(), 'not', 'there', 'yet')
    const one = createToken(dir, { role: 'agent', name: 'bot', groups: [], now })
    const two = createToken(dir, { role: 'agent', name: 'bot', groups: [], now })
    createToken(dir, { role: 'viewer', name: 'eve', groups: [], now })
    expect(one.token).not.toBe(two.token)
    expect(readFileSync(tokensFile(dir), 'utf8')).not.toContain(one.token)
    expect(statSync(tokensFile(dir)).mode & 0o777).toBe(0o600)
    expect(revokeTokens(dir, 'bot')).toBe(2)
    expect(revokeTokens(dir, 'bot')).toBe(0)
    expect(readTokens(dir).map(({ name }) => name)).toEqual(['eve'])
  })

  it('refuse a second writer and leave the list as it was', () => {
    const dir = folder()
    createToken(dir, { role: 'agent', name: 'bot', groups: [], now })
    writeFileSync(`${tokensFile(dir)}.tmp`, '')
    expect(() => revokeTokens(dir, 'bot')).toThrow('another change is under way')
    expect(readTokens(dir)).toHaveLength(1)
  })

  it.each([
    ['no JSON', 'x'],
    ['no list', '{"tokens":{}}'],
    ['null', '{"tokens":[null]}'],
    ['a short hash', '{"tokens":[{"sha256":"ab","role":"agent","name":"a","groups":[]}]}'],
    [
      'an unknown role',
      `{"tokens":[{"sha256":"${'a'.repeat(64)}","role":"root","name":"a","groups":[]}]}`,
    ],
  ])('in a damaged file (%s) are an error, and change nothing', (_, text) => {
    const dir = folder()
    writeFileSync(tokensFile(dir), text)
    expect(() => readTokens(dir)).toThrow()
    expect(() => createToken(dir, { role: 'agent', name: 'b', groups: [], now })).toThrow()
    expect(readFileSync(tokensFile(dir), 'utf8')).toBe(text)
  })

  it('work on the data plane for agents only; damage leaves nobody known', () => {
    const dir = folder()
    mkdirSync(dir, { recursive: true })
    const { token } = createToken(dir, { role: 'agent', name: 'bot', groups: ['g'], now })
    const admin = createToken(dir, { role: 'operator', name: 'root', groups: [], now })
    const known = watchTokens(dir, () => {})()
    expect(known.get(hashToken(token))).toEqual({ agent: 'bot', roles: ['g'], developer: 'bot' })
    expect(known.has(hashToken(admin.token))).toBe(false)
    writeFileSync(tokensFile(dir), 'damaged')
    const failures: unknown[] = []
    expect(watchTokens(dir, (error) => failures.push(error))().size).toBe(0)
    expect(failures).toHaveLength(1)
  })
})
