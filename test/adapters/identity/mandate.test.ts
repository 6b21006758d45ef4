import { beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { SignJWT, UnsecuredJWT } from 'jose'
import { createMandates, type MandateIssuer } from '../../../src/adapters/identity/mandate.js'
import { MOST_MANDATE_LENGTH } from '../../../src/core/intent/model.js'
import { draws } from '../../support/draws.js'
import {
  type Claims,
  claims,
  ISSUER,
  issuerWith,
  type Key,
  makeKey,
  OBJECT,
  SENDER,
  START,
  signMandate,
  signText,
  without,
} from '../../support/mandates.js'

let key: Key
let curve: Key
let foreign: Key
const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
beforeAll(async () => {
  key = await makeKey('k1')
  curve = await makeKey('k2', 'ES256')
  foreign = await makeKey('k1')
})

/** Mandates of one issuer, read at this time. */
const mandates = (more: Partial<MandateIssuer> = {}, now: () => number = () => START) =>
  createMandates({ issuers: [issuerWith([key, curve], more)], clock: { now } })
const read = (token: string, more: Partial<MandateIssuer> = {}, now = START) =>
  mandates(more, () => now).read(token, SENDER)
const saying = async (said: Claims, more: Partial<MandateIssuer> = {}) =>
  read(await signMandate(key, said), more)
const invalid = (why: string) => ({ kind: 'invalid', why })

describe('a mandate', () => {
  it('says all that declarations are compared with', async () => {
    expect(await saying(claims())).toEqual({
      kind: 'valid',
      mandate: {
        id: 'mandate-1',
        issuer: ISSUER,
        agent: 'support-bot',
        sessionId: null,
        soId: OBJECT,
        soType: null,
        actions: ['RefundOrder'],
        permittedStates: null,
        missionRef: null,
        principal: null,
        delegation: [],
        expiresAt: '2026-01-01T00:10:00.000Z',
      },
    })
    const chain = [{ sub: 'a', act: { sub: 'b', depth: 2 } }, 'c', null]
    const full = claims({
      session_id: 's',
      so_type: 'booking',
      permitted_states: [],
      mission_ref: UUID,
      human_principal_id: 'jane',
      delegation_chain: chain,
      agent: 'other-bot',
    })
    const found = await saying(full, { agentClaim: 'agent' })
    expect(JSON.parse(JSON.stringify(found))).toMatchObject({
      mandate: {
        agent: 'other-bot',
        sessionId: 's',
        soType: 'booking',
        permittedStates: [],
        missionRef: UUID,
        principal: 'jane',
        delegation: chain,
      },
    })
  })

  it('is read again and again: its jti names it and is no one-time value', async () => {
    const { read } = mandates()
    const token = await signMandate(key)
    for (let i = 0; i < 3; i++) expect(await read(token, SENDER)).toMatchObject({ kind: 'valid' })
  })

  it.each<[string, Claims]>([
    ['jti', without('jti')],
    ['so_id', without('so_id')],
    ['sub', without('sub')],
    ['cedar_actions', without('cedar_actions')],
    ['exp', without('exp')],
  ])('without %s is refused', async (name, said) => {
    expect(await saying(said)).toEqual(invalid(`${name}_missing`))
  })

  const long = 'x'.repeat(257)
  it.each<[string, string, unknown]>([
    ['jti', 'empty', ''],
    ['jti', 'too long', long],
    ['jti', 'a number', 7],
    ['sub', 'empty', ''],
    ['sub', 'null', null],
    ['so_id', 'no UUID', 'booking-1'],
    ['so_id', 'in capitals, which would be a second id', OBJECT.toUpperCase()],
    ['so_id', 'the Nil UUID', '00000000-0000-0000-0000-000000000000'],
    ['so_type', 'null', null],
    ['so_type', 'a list', ['a']],
    ['human_principal_id', 'an object', {}],
    ['cedar_actions', 'no list', 'RefundOrder'],
    ['cedar_actions', 'empty', []],
    ['cedar_actions', 'with a number', ['a', 1]],
    ['cedar_actions', 'with an empty name', ['a', '']],
    ['cedar_actions', 'too long', Array.from({ length: 257 }, (_, n) => `a${n}`)],
    ['permitted_states', 'null', null],
    ['permitted_states', 'with null', ['open', null]],
    ['mission_ref', 'no UUID', 'mission'],
    ['mission_ref', 'null', null],
    ['session_id', 'empty', ''],
    ['sid', 'a number', 1],
    ['delegation_chain', 'no list', {}],
    ['delegation_chain', 'too long', Array.from({ length: 33 }, () => 'a')],
    ['delegation_chain', 'with a float', [0.5]],
    ['delegation_chain', 'with an unsafe integer', [2 ** 60]],
    ['exp', 'text', '2026-01-01'],
    ['exp', 'negative', -1],
    ['exp', 'after the year 9999', 253_402_300_800],
    ['nbf', 'null', null],
  ])('whose %s is %s is refused', async (name, _, value) => {
    expect(await saying(claims({ [name]: value }))).toEqual(invalid(`${name}_malformed`))
  })

  it('may have as much as the limits say, and deep chains only so deep', async () => {
    const most = claims({
      cedar_actions: Array.from({ length: 256 }, (_, n) => `a${n}`),
      delegation_chain: Array.from({ length: 32 }, () => 'a'),
      jti: 'x'.repeat(256),
    })
    expect(await saying(most)).toMatchObject({ kind: 'valid' })
    const deep = (levels: number): unknown => (levels === 0 ? 'a' : [deep(levels - 1)])
    expect(await saying(claims({ delegation_chain: deep(31) }))).toMatchObject({ kind: 'valid' })
    expect(await saying(claims({ delegation_chain: deep(32) }))).toEqual(invalid('malformed'))
  })

  it('names its session by session_id or sid, and by both only where they are one', async () => {
    for (const said of [{ session_id: 's' }, { sid: 's' }, { session_id: 's', sid: 's' }]) {
      expect(await saying(claims(said))).toMatchObject({ mandate: { sessionId: 's' } })
    }
    const two = claims({ session_id: 's', sid: 't' })
    expect(await saying(two)).toEqual(invalid('session_ambiguous'))
  })

  it('is for one audience, maybe among others', async () => {
    expect(await saying(claims({ aud: ['x', 'gate'] }))).toMatchObject({ kind: 'valid' })
    for (const aud of ['x', ['x'], [], ['gate/'], [['gate']], { gate: 1 }, null, undefined]) {
      expect(await saying(claims({ aud }))).toEqual(invalid('audience'))
    }
  })
})

describe('the times of a mandate', () => {
  const at = async (said: Claims, now: number) =>
    read(await signMandate(key, claims(said)), {}, now)
  it('hold to the millisecond of thirty seconds beyond either end', async () => {
    const second = START / 1000
    expect(await at({ exp: second }, START + 29_999)).toMatchObject({ kind: 'valid' })
    expect(await at({ exp: second }, START + 30_000)).toEqual(invalid('expired'))
    expect(await at({ nbf: second }, START - 30_000)).toMatchObject({ kind: 'valid' })
    expect(await at({ nbf: second }, START - 30_001)).toEqual(invalid('not_yet_valid'))
    const half = await at({ exp: second + 0.5 }, START)
    expect(half).toMatchObject({ mandate: { expiresAt: '2026-01-01T00:00:00.500Z' } })
  })

  it('are looked at each time, also where the signature is remembered', async () => {
    let now = START
    const { read } = mandates({}, () => now)
    const token = await signMandate(key, claims({ nbf: START / 1000 }))
    expect(await read(token, SENDER)).toMatchObject({ kind: 'valid' })
    now = START - 31_000
    expect(await read(token, SENDER)).toEqual(invalid('not_yet_valid'))
    now = START + 630_000
    expect(await read(token, SENDER)).toEqual(invalid('expired'))
    now = START
    expect(await read(token, SENDER)).toMatchObject({ kind: 'valid' })
  })

  it('and its issuer say whether it is still good', async () => {
    let now = START
    const issuers: MandateIssuer[] = [issuerWith([key])]
    const { read, isStillGood, isOne } = createMandates({ issuers, clock: { now: () => now } })
    const token = await signMandate(key)
    const found = await read(token, SENDER)
    if (found.kind !== 'valid') throw new Error(found.why)
    now = START + 629_999
    expect(isStillGood(found.mandate)).toBe(true)
    now = START + 630_000
    expect(isStillGood(found.mandate)).toBe(false)
    now = START
    expect([isStillGood(found.mandate), isOne(token)]).toEqual([true, true])
    issuers.pop()
    expect([isStillGood(found.mandate), isOne(token)]).toEqual([false, false])
    expect(await read(token, SENDER)).toEqual(invalid('issuer'))
  })
})

describe('the signature of a mandate', () => {
  it('is EdDSA; ES256 only where the issuer may', async () => {
    const token = await signMandate(curve)
    expect(await read(token)).toEqual(invalid('algorithm'))
    expect(await read(token, { algorithms: ['EdDSA', 'ES256'] })).toMatchObject({ kind: 'valid' })
    expect(await read(await signMandate(key), { algorithms: ['ES256'] })).toEqual(
      invalid('algorithm'),
    )
  })

  it('is never none, and never made with what everybody knows', async () => {
    expect(await read(new UnsecuredJWT(claims()).encode())).toMatchObject({ kind: 'invalid' })
    const none = Buffer.from('{"alg":"none","kid":"k1"}').toString('base64url')
    const [, payload, signature] = (await signMandate(key)).split('.')
    expect(await read(`${none}.${payload}.${signature}`)).toEqual(invalid('algorithm'))
    const shared = [
      JSON.stringify(key.jwk),
      key.jwk.x ?? '',
      Buffer.from(key.jwk.x ?? '', 'base64url'),
    ]
    for (const secret of shared) {
      const forged = await new SignJWT(claims())
        .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
        .sign(Buffer.concat([Buffer.from(secret), Buffer.alloc(32)]))
      expect(await read(forged)).toEqual(invalid('algorithm'))
    }
    const set = { keys: [{ kty: 'oct', k: key.jwk.x ?? '', kid: 'k1' }] }
    const symmetric = { jwks: { kind: 'static', set } } as const
    expect(await read(await signMandate(key), symmetric)).toEqual(invalid('kid_unknown'))
  })

  it('is by the key it names: of this issuer, this kind and this use', async () => {
    expect(await read(await signMandate({ ...key, kid: 'k9' }))).toEqual(invalid('kid_unknown'))
    expect(await read(await signMandate(foreign))).toEqual(invalid('signature'))
    const unnamed = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'EdDSA' })
      .sign(key.privateKey)
    expect(await read(unnamed)).toEqual(invalid('kid_missing'))
    const among = (keys: readonly object[]) =>
      ({ jwks: { kind: 'static', set: { keys: [...keys] } } }) as Partial<MandateIssuer>
    const encrypting = among([{ ...key.jwk, use: 'enc' }])
    expect(await read(await signMandate(key), encrypting)).toEqual(invalid('kid_unknown'))
    const twice = among([key.jwk, foreign.jwk])
    expect(await read(await signMandate(key), twice)).toEqual(invalid('kid_ambiguous'))
    const broken = among([{ ...key.jwk, x: 'AA' }])
    expect(await read(await signMandate(key), broken)).toEqual(invalid('keys_unusable'))
  })

  it('is not taken from another issuer that has a key of the same id', async () => {
    const other = { ...issuerWith([foreign]), issuer: 'https://other.test' }
    const { read, isOne } = createMandates({
      issuers: [issuerWith([key]), other],
      clock: { now: () => START },
    })
    const own = await signMandate(foreign, claims({ iss: 'https://other.test' }))
    expect(await read(own, SENDER)).toMatchObject({ mandate: { issuer: 'https://other.test' } })
    expect(await read(await signMandate(foreign), SENDER)).toEqual(invalid('signature'))
    const swapped = await signMandate(key, claims({ iss: 'https://other.test' }))
    expect(await read(swapped, SENDER)).toEqual(invalid('signature'))
    for (const iss of ['https://mandates.test/', 'HTTPS://mandates.test', '', null, [ISSUER]]) {
      const strange = await signMandate(key, claims({ iss }))
      expect([isOne(strange), await read(strange, SENDER)]).toEqual([false, invalid('issuer')])
    }
  })

  it('knows no extension', async () => {
    const header = (more: string) => `{"alg":"EdDSA","kid":"k1",${more}}`
    const body = JSON.stringify(claims())
    for (const more of [
      '"crit":["b64"],"b64":true',
      '"crit":["x"],"x":1',
      '"crit":[]',
      '"crit":null',
    ]) {
      expect(await read(await signText(key, header(more), body))).toEqual(invalid('crit'))
    }
  })

  it('does not help a token whose members can be read in two ways', async () => {
    const header = '{"alg":"EdDSA","kid":"k1"}'
    const body = JSON.stringify(claims())
    expect(await read(await signText(key, header, body))).toMatchObject({ kind: 'valid' })
    const twice = body.replace('"jti"', '"jti":"mandate-0","jti"')
    const texts: [string, string][] = [
      [header, twice],
      [header.replace('"alg"', '"alg":"none","alg"'), body],
      [header, body.replace('mandate-1', '\\ud800')],
      [header, `${body} x`],
      [header, '[]'],
      ['null', body],
      [header, body.replace('{', `{"a":${'['.repeat(200)}${']'.repeat(200)},`)],
    ]
    for (const [first, second] of texts) {
      expect(await read(await signText(key, first, second))).toEqual(invalid('malformed'))
    }
  })

  it('is not looked for in what is too long', async () => {
    const token = await signMandate(key, claims({ filler: 'x'.repeat(12_000) }))
    expect(token.length).toBeLessThanOrEqual(MOST_MANDATE_LENGTH)
    expect(await read(token)).toMatchObject({ kind: 'valid' })
    const longer = await signMandate(key, claims({ filler: 'x'.repeat(13_000) }))
    expect(longer.length).toBeGreaterThan(MOST_MANDATE_LENGTH)
    expect(await read(longer)).toEqual(invalid('too_long'))
    expect(await read('.'.repeat(1_000_000))).toEqual(invalid('too_long'))
  })

  it('changed in any character is not that of another mandate, nor of the same', async () => {
    const token = await signMandate(key)
    const { read, isOne } = mandates()
    expect(await read(token, SENDER)).toMatchObject({ kind: 'valid' })
    const character = fc.constantFrom(
      ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n',
    )
    const change = fc.record({
      at: fc.nat(token.length),
      gone: fc.nat(2),
      put: fc.string({ unit: character, maxLength: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const changed = changes.reduce(
          (text, { at, gone, put }) => text.slice(0, at) + put + text.slice(at + gone),
          token,
        )
        if (changed === token) return
        expect(await read(changed, SENDER)).toMatchObject({ kind: 'invalid' })
      }),
      { numRuns: draws(20_000, 1_000) },
    )
    for (let last = 0; last < 64; last++) {
      const spelt =
        token.slice(0, -1) +
        'AgQwBhRxCiSyDjTzEkU0FlV1GmW2HnX3IoY4JpZ5Kqa6Lrb7Msc8Ntd9Oue-Pvf_'[last]
      if (spelt !== token) expect(await read(spelt, SENDER)).toMatchObject({ kind: 'invalid' })
    }
    expect(isOne(token)).toBe(true)
  })

  it('never throws at anything', async () => {
    const { read, isOne } = mandates()
    const part = fc.oneof(
      fc.string(),
      fc.json().map((text) => Buffer.from(text).toString('base64url')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 4 }), async (parts) => {
        const token = parts.join('.')
        expect(isOne(token)).toBe(false)
        expect(await read(token, SENDER)).toMatchObject({ kind: 'invalid' })
      }),
      { numRuns: draws(5_000, 500) },
    )
  })
})

describe('remembered signatures', () => {
  it('spare the search for the key, and are so many and no more', async () => {
    let reads = 0
    const set = { keys: [key.jwk] }
    const counting = () => {
      reads++
      return set
    }
    const { read } = createMandates({
      issuers: [issuerWith([key], { jwks: { kind: 'file', read: counting } })],
      clock: { now: () => START },
    })
    const asked = async (token: string): Promise<number> => {
      const before = reads
      expect(await read(token, SENDER)).toMatchObject({ kind: 'valid' })
      return reads - before
    }
    const token = await signMandate(key)
    const searching = await asked(token)
    // Once, to see that the set is still the one.
    expect(await asked(token)).toBe(1)
    expect(searching).toBeGreaterThan(1)
    for (let n = 0; n < 4_095; n++) {
      await read(await signMandate(key, claims({ jti: `other-${n}` })), SENDER)
    }
    expect(await asked(token)).toBe(1)
    await read(await signMandate(key, claims({ jti: 'one more' })), SENDER)
    expect(await asked(token)).toBe(searching)
  })
})
