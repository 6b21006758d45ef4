import { beforeAll, describe, expect, it } from '@jest/globals'
import { SignJWT } from 'jose'
import { createMandates, type MandateIssuer } from '../../../src/adapters/identity/mandate.js'
import { createSpentProofs } from '../../../src/adapters/identity/spent-proofs.js'
import type { Caller, Proof } from '../../../src/core/call/call.js'
import {
  ath,
  type Claims,
  claims,
  issuerWith,
  type Key,
  makeKey,
  SENDER,
  START,
  showing,
  signMandate,
  signProof,
  signText,
} from '../../support/mandates.js'

const CERTIFICATE = ath('a certificate')
let key: Key
let held: Key
let other: Key
let token: string
beforeAll(async () => {
  key = await makeKey('k1')
  held = await makeKey('own')
  other = await makeKey('own')
  token = await boundTo({ jkt: held.thumbprint })
})
const boundTo = (cnf: unknown, more: Claims = {}) => signMandate(key, claims({ cnf, ...more }))
const mandates = (more: Partial<MandateIssuer> = {}, now: () => number = () => START) =>
  createMandates({ issuers: [issuerWith([key], more)], clock: { now } })
const shown = (dpop: string | null, more: Partial<Proof> = {}): Caller => showing({ dpop, ...more })
const invalid = (why: string) => ({ kind: 'invalid', why })
const valid = expect.objectContaining({ kind: 'valid' })

/** The mandate bound to `held`, with a proof that differs from a good one in this. */
const proven = async (said: Claims = {}, header: Claims = {}, at: Partial<Proof> = {}) =>
  mandates().read(token, shown(await signProof(held, token, said, header), at))

describe('a mandate that is bound to a key', () => {
  it('is accepted with a proof of it alone', async () => {
    expect(await proven()).toEqual(valid)
    expect(await mandates().read(token, SENDER)).toEqual(invalid('proof_missing'))
    expect(await mandates().read(token, shown(null))).toEqual(invalid('proof_missing'))
    const stolen = await signProof(other, token)
    expect(await mandates().read(token, shown(stolen))).toEqual(invalid('proof_key_other'))
  })

  it.each(['ES256', 'ES384', 'RS256', 'PS256', 'Ed25519'])('may be so by %s', async (alg) => {
    const own = await makeKey('own', alg)
    const bound = await boundTo({ jkt: own.thumbprint })
    expect(await mandates().read(bound, shown(await signProof(own, bound)))).toEqual(valid)
  })

  it('takes a proof for this request, this mandate and this moment alone', async () => {
    const second = START / 1000
    const good: [Claims, Partial<Proof>?][] = [
      [{ iat: second - 60 }],
      [{ iat: second + 60 }],
      [{ htu: 'http://gate.test/v1/refunds' }],
      [{ htu: 'https://GATE.test:443/v1/refunds?a=b#c' }],
      [{}, { host: 'gate.test:443' }],
      [{ htu: 'https://gate.test:8443/v1/refunds' }, { host: 'gate.test:8443' }],
      [{ htu: 'https://gate.test' }, { path: '/' }],
    ]
    for (const [said, at] of good) expect(await proven(said, {}, at)).toEqual(valid)
    const bad: [string, Claims, Partial<Proof>?][] = [
      ['iat', { iat: second - 60.001 }],
      ['iat', { iat: second + 60.001 }],
      ['iat', { iat: '1' }],
      ['iat', { iat: undefined }],
      ['ath', { ath: ath('another mandate') }],
      ['ath', { ath: undefined }],
      ['htm', { htm: 'GET' }],
      ['htm', { htm: 'post' }],
      ['htm', {}, { method: 'PUT' }],
      ['htu', { htu: undefined }],
      ['htu', { htu: '/v1/refunds' }],
      ['htu', { htu: 'https://evil.test/v1/refunds' }],
      ['htu', { htu: 'https://gate.test@evil.test/v1/refunds' }],
      ['htu', { htu: 'https://u@gate.test/v1/refunds' }],
      ['htu', { htu: 'https://gate.test:80/v1/refunds' }],
      ['htu', { htu: 'https://gate.test:444/v1/refunds' }],
      ['htu', { htu: 'https://gate.test/v1/refunds/' }],
      ['htu', { htu: 'https://gate.test/v1/x/../refunds' }],
      ['htu', { htu: 'https://gate.test/v1/Refunds' }],
      ['htu', { htu: 'ftp://gate.test/v1/refunds' }],
      ['htu', {}, { path: '/v1/payments' }],
      ['htu', {}, { host: '' }],
      ['jti', { jti: undefined }],
      ['jti', { jti: '' }],
      ['jti', { jti: 7 }],
      ['jti', { jti: 'x'.repeat(257) }],
    ]
    for (const [why, said, at] of bad) {
      expect(await proven(said, {}, at)).toEqual(invalid(`proof_${why}`))
    }
  })

  it('takes no proof that is of another type, symmetric, or shows its private key', async () => {
    expect(await proven({}, { typ: 'JWT' })).toEqual(invalid('proof_typ'))
    expect(await proven({}, { typ: undefined })).toEqual(invalid('proof_typ'))
    const { kid: _, use: _use, ...jwk } = held.jwk
    expect(await proven({}, { jwk: undefined })).toEqual(invalid('proof_key'))
    for (const wrong of [{ d: 'AA' }, { k: 'AA' }, { kty: 'oct' }, { x: 7 }]) {
      expect(await proven({}, { jwk: { ...jwk, ...wrong } })).toEqual(invalid('proof_key'))
    }
    // jose answers an unknown curve with another thumbprint, or with none.
    const curve = await proven({}, { jwk: { ...jwk, crv: 'X25519' } })
    expect(curve).toEqual(invalid('proof_key_other'))
    const secret = Buffer.alloc(32, 1)
    const oct = { kty: 'oct', k: secret.toString('base64url') }
    const symmetric = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256', typ: 'dpop+jwt', jwk: oct })
      .sign(secret)
    expect(await mandates().read(token, shown(symmetric))).toEqual(invalid('proof_alg'))
  })

  it('takes no proof that another key signed, nor one that is malformed', async () => {
    const { kid: _, use: _use, alg: _alg, ...jwk } = held.jwk
    const forged = await signProof({ ...other, jwk: held.jwk }, token)
    expect(await mandates().read(token, shown(forged))).toEqual(invalid('proof_signature'))
    const header = JSON.stringify({ alg: 'EdDSA', typ: 'dpop+jwt', jwk })
    const strange = [
      ['malformed', 'x'],
      ['malformed', ''],
      ['malformed', `${await signProof(held, token)}.x`],
      ['malformed', await signText(held, header, '{"jti":"a","jti":"b"}')],
      ['crit', await signText(held, header.replace('{', '{"crit":["b64"],"b64":false,'), '{}')],
      ['too_long', 'x'.repeat(8_193)],
    ] as const
    for (const [why, dpop] of strange) {
      expect(await mandates().read(token, shown(dpop))).toEqual(invalid(`proof_${why}`))
    }
  })

  it('takes a proof once, however many ask at once; the same call may be asked twice', async () => {
    let now = START
    const { read } = mandates({}, () => now)
    const dpop = await signProof(held, token, { iat: START / 1000 + 60 })
    const first = shown(dpop)
    const answers = await Promise.all(
      [first, shown(dpop), shown(dpop)].map((by) => read(token, by)),
    )
    expect(answers.filter(({ kind }) => kind === 'valid')).toHaveLength(1)
    expect(answers.filter(({ kind }) => kind === 'invalid')).toHaveLength(2)
    const winner = [first][answers.findIndex(({ kind }) => kind === 'valid')]
    if (winner !== undefined) expect(await read(token, winner)).toEqual(valid)
    for (now = START; now <= START + 120_000; now += 10_000) {
      expect(await read(token, shown(dpop))).toEqual(invalid('proof_replayed'))
    }
    expect(await read(token, shown(dpop))).toEqual(invalid('proof_iat'))
  })

  it('is not opened to a second mandate by the proof of a first, though one call carries both', async () => {
    const { read } = mandates()
    const second = await boundTo({ jkt: held.thumbprint }, { jti: 'mandate-2' })
    const by = shown(await signProof(held, token))
    expect(await read(token, by)).toEqual(valid)
    expect(await read(second, by)).toEqual(invalid('proof_ath'))
  })

  it('has its proof looked at where its signature is remembered', async () => {
    const { read } = mandates()
    expect(await read(token, shown(await signProof(held, token)))).toEqual(valid)
    expect(await read(token, SENDER)).toEqual(invalid('proof_missing'))
    expect(await read(token, shown(await signProof(other, token)))).toEqual(
      invalid('proof_key_other'),
    )
  })
})

describe('a mandate that is bound to a client certificate', () => {
  it('is accepted from its holder alone', async () => {
    const bound = await boundTo({ 'x5t#S256': CERTIFICATE })
    const { read } = mandates()
    expect(await read(bound, showing({ certificate: CERTIFICATE }))).toEqual(valid)
    expect(await read(bound, SENDER)).toEqual(invalid('proof_missing'))
    expect(await read(bound, showing({}))).toEqual(invalid('certificate_missing'))
    const another = showing({ certificate: ath('another') })
    expect(await read(bound, another)).toEqual(invalid('certificate_other'))
  })

  it('and to a key needs both', async () => {
    const both = await boundTo({ 'x5t#S256': CERTIFICATE, jkt: held.thumbprint })
    const read = async (certificate: string | null, dpop: boolean) =>
      mandates().read(
        both,
        showing({ certificate, dpop: dpop ? await signProof(held, both) : null }),
      )
    expect(await read(CERTIFICATE, true)).toEqual(valid)
    expect(await read(CERTIFICATE, false)).toEqual(invalid('proof_missing'))
    expect(await read(null, true)).toEqual(invalid('certificate_missing'))
  })
})

describe('what a mandate is bound to', () => {
  it('must be something that can be shown here', async () => {
    const read = async (cnf: unknown) => mandates().read(await boundTo(cnf), SENDER)
    for (const cnf of [{}, { jwk: {} }, { kid: 'a' }, { 'x5t#S512': CERTIFICATE }]) {
      expect(await read(cnf)).toEqual(invalid('cnf_unsupported'))
    }
    const odd = [
      null,
      'a',
      [],
      { jkt: null },
      { jkt: 'short' },
      { jkt: held.thumbprint, 'x5t#S256': 1 },
    ]
    for (const cnf of odd) expect(await read(cnf)).toEqual(invalid('cnf_malformed'))
  })

  it('may be demanded of an issuer', async () => {
    const strict = mandates({ requireProof: true })
    expect(await strict.read(await signMandate(key), SENDER)).toEqual(invalid('cnf_missing'))
    expect(await strict.read(token, shown(await signProof(held, token)))).toEqual(valid)
  })
})

describe('proofs that were accepted', () => {
  it('are kept for two minutes at least, and forgotten after four', () => {
    for (let age = 0; age <= 120_000; age += 7_919) {
      const spend = createSpentProofs()
      spend('k', 'earlier', START - age)
      expect(spend('k', 'a', START)).toBe('first')
      for (let later = 0; later <= 120_000; later += 11_003) {
        expect(spend('k', 'a', START + later)).toBe('replayed')
      }
    }
    const spend = createSpentProofs()
    expect([spend('k', 'a', 0), spend('k', 'a', 240_000)]).toEqual(['first', 'first'])
    expect([spend('k', 'b', 240_000), spend('l', 'b', 240_000)]).toEqual(['first', 'first'])
  })

  it('of one key have their share of the room, and leave it to others when it is used up', () => {
    const spend = createSpentProofs()
    for (let n = 0; n < 32_768; n++) spend('greedy', String(n), START)
    expect(spend('greedy', 'one more', START)).toBe('no_room')
    expect(spend('greedy', '0', START)).toBe('replayed')
    expect(spend('other', 'a', START)).toBe('first')
    expect(spend('greedy', 'one more', START + 120_000)).toBe('first')
  })
})
