import { createHash, randomUUID } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from 'jose'
import type { MandateIssuer } from '../../src/adapters/identity/mandate.js'
import type { Caller, Proof } from '../../src/core/call/call.js'

/** 2026-01-01T00:00:00Z, where the clocks of these tests stand. */
export const START = 1_767_225_600_000
export const ISSUER = 'https://mandates.test'
export const OBJECT = '0192d3a4-5b6c-7d8e-9f01-23456789abcd'

export type Key = {
  readonly alg: string
  readonly kid: string
  readonly privateKey: CryptoKey
  /** As it stands in a key set. */
  readonly jwk: JWK
  readonly thumbprint: string
}

export async function makeKey(kid: string, alg = 'EdDSA'): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const thumbprint = await calculateJwkThumbprint(jwk)
  return { alg, kid, privateKey, jwk: { ...jwk, kid, alg, use: 'sig' }, thumbprint }
}

export const issuerWith = (keys: readonly Key[], more: Partial<MandateIssuer> = {}) => ({
  issuer: ISSUER,
  audience: 'gate',
  jwks: { kind: 'static', set: { keys: keys.map(({ jwk }) => jwk) } } as const,
  agentClaim: 'sub',
  algorithms: ['EdDSA'] as const,
  requireProof: false,
  ...more,
})

export type Claims = { readonly [name: string]: unknown }

/** The smallest mandate that is accepted. */
export const claims = (more: Claims = {}): Claims => ({
  iss: ISSUER,
  aud: 'gate',
  sub: 'support-bot',
  jti: 'mandate-1',
  exp: START / 1000 + 600,
  so_id: OBJECT,
  cedar_actions: ['RefundOrder'],
  ...more,
})
export const without = (name: string): Claims => {
  const { [name]: _, ...rest } = claims()
  return rest
}

export const signMandate = (key: Key, said: Claims = claims(), header: Claims = {}) =>
  new SignJWT(said)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey)

/** A signature over exactly this text of header and payload, which no library would write so. */
export async function signText(key: Key, header: string, payload: string): Promise<string> {
  const input = [header, payload].map((text) => Buffer.from(text).toString('base64url')).join('.')
  const signature = await crypto.subtle.sign('Ed25519', key.privateKey, Buffer.from(input))
  return `${input}.${Buffer.from(signature).toString('base64url')}`
}

export const SENDER: Caller = { bearer: null, certificate: null, asserted: null, source: '' }
const AT = { method: 'POST', host: 'gate.test', path: '/v1/refunds' }
export const showing = (proof: Partial<Proof>): Caller => ({
  ...SENDER,
  proof: { dpop: null, certificate: null, ...AT, ...proof },
})

export const ath = (token: string): string => createHash('sha256').update(token).digest('base64url')

/** A DPoP proof of this key for the request of `showing`. */
export const signProof = (key: Key, token: string, said: Claims = {}, header: Claims = {}) => {
  const { kid: _kid, alg: _alg, use: _use, ...jwk } = key.jwk
  return new SignJWT({
    htm: 'POST',
    htu: 'https://gate.test/v1/refunds',
    iat: START / 1000,
    ath: ath(token),
    jti: randomUUID(),
    ...said,
  })
    .setProtectedHeader({ alg: key.alg, typ: 'dpop+jwt', jwk, ...header })
    .sign(key.privateKey)
}
