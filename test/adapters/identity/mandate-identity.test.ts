import { beforeAll, describe, expect, it } from '@jest/globals'
import { createIdentity, type IdentityOptions } from '../../../src/adapters/identity/identity.js'
import type { JwtIssuer } from '../../../src/adapters/identity/jwt.js'
import { createMandates, type MandateIssuer } from '../../../src/adapters/identity/mandate.js'
import { hashToken } from '../../../src/adapters/identity/tokens.js'
import type { Agent } from '../../../src/core/call/agent.js'
import type { Caller } from '../../../src/core/call/call.js'
import type { Identified, Mandates } from '../../../src/ports/identity.js'
import { identityContract } from '../../contract/identity.js'
import {
  claims,
  ISSUER,
  issuerWith,
  type Key,
  makeKey,
  SENDER,
  START,
  showing,
  signMandate,
  signProof,
} from '../../support/mandates.js'

const SECOND = 'https://second.test'
const RECORD = { agent: 'known-bot', roles: ['support'], developer: 'acme/known-bot@1' }
let key: Key
let second: Key
beforeAll(async () => {
  key = await makeKey('k1')
  second = await makeKey('k1')
})

function rig(more: Partial<IdentityOptions> = {}, mandates?: Mandates) {
  const issuers: MandateIssuer[] = [issuerWith([key]), issuerWith([second], { issuer: SECOND })]
  const agents = new Map([['known-bot', RECORD]])
  const options: IdentityOptions = {
    tokens: () => new Map([[hashToken('a.b.c'), { ...RECORD, agent: 'dotted' }]]),
    issuers: [],
    certificates: new Map(),
    anonymous: true,
    mandates: { issuers, agents },
    ...more,
  }
  const clock = { now: () => START }
  const identity = createIdentity(options, mandates ?? createMandates({ issuers, clock }))
  return { identity, issuers, agents }
}
const bearing = (bearer: string, more: Partial<Caller> = {}): Caller => ({
  ...SENDER,
  bearer,
  ...more,
})
async function known(found: Identified | Promise<Identified>): Promise<Agent> {
  const agent = await found
  if (agent.kind === 'unknown') throw new Error(agent.why)
  return agent
}

identityContract('mandates', async () => {
  const { identity, issuers } = rig({ anonymous: false })
  return {
    identity,
    callers: [
      bearing(await signMandate(key)),
      bearing(await signMandate(second, claims({ iss: SECOND, sub: 'other-bot' }))),
    ],
    revoke: () => issuers.shift(),
  }
})

describe('a bearer token that is a mandate', () => {
  it('identifies its agent; roles and developer are those of gate.yaml, where it names the agent', async () => {
    const { identity } = rig()
    const by = [{ kind: 'mandate', issuer: ISSUER }]
    const mandate = {
      id: 'mandate-1',
      issuer: ISSUER,
      expiresAt: '2026-01-01T00:10:00.000Z',
    }
    expect(await identity.identify(bearing(await signMandate(key)))).toEqual({
      mandate,
      kind: 'known',
      agent: 'support-bot',
      roles: [],
      developer: 'support-bot',
      by,
    })
    const named = await signMandate(key, claims({ sub: 'known-bot', roles: ['root'] }))
    expect(await identity.identify(bearing(named))).toEqual({
      kind: 'known',
      ...RECORD,
      by,
      mandate,
    })
  })

  it('that fails is nobody, and nothing else is tried', async () => {
    const { identity } = rig({ certificates: new Map([['CN=bot', RECORD]]) })
    const expired = await signMandate(key, claims({ exp: 1 }))
    const forged = await signMandate(second)
    const bound = await signMandate(key, claims({ cnf: { jkt: second.thumbprint } }))
    const all = [
      [expired, 'mandate_expired'],
      [forged, 'mandate_signature'],
      [bound, 'mandate_proof_missing'],
    ] as const
    for (const [bearer, why] of all) {
      const caller = bearing(bearer, { certificate: 'CN=bot' })
      expect(await identity.identify(caller)).toEqual({ kind: 'unknown', why })
    }
    const undecided: Mandates = {
      isOne: () => true,
      read: async () => ({ kind: 'unavailable', why: 'keys_unavailable' }),
      isStillGood: () => true,
    }
    expect(await rig({}, undecided).identity.identify(bearing('x'))).toEqual({
      kind: 'unknown',
      why: 'mandate_unavailable',
    })
  })

  it('may be read again by what judges the same call, though its proof counts once', async () => {
    const issuers = [issuerWith([key])]
    const mandates = createMandates({ issuers, clock: { now: () => START } })
    const { identity } = rig({}, mandates)
    const token = await signMandate(key, claims({ cnf: { jkt: second.thumbprint } }))
    const dpop = await signProof(second, token)
    const caller = { ...showing({ dpop }), bearer: token }
    expect(await identity.identify(caller)).toMatchObject({ kind: 'known' })
    expect(await mandates.read(token, caller)).toMatchObject({ kind: 'valid' })
    expect(await identity.identify({ ...showing({ dpop }), bearer: token })).toEqual({
      kind: 'unknown',
      why: 'mandate_proof_replayed',
    })
  })

  it('must name the agent of the certificate, where certificates name agents', async () => {
    const { identity } = rig({ certificates: new Map([['CN=bot', RECORD]]) })
    const same = bearing(await signMandate(key, claims({ sub: 'known-bot' })), {
      certificate: 'CN=bot',
    })
    expect(await identity.identify(same)).toMatchObject({ agent: 'known-bot' })
    const other = bearing(await signMandate(key), { certificate: 'CN=bot' })
    expect(await identity.identify(other)).toEqual({ kind: 'unknown', why: 'credentials_disagree' })
  })

  it('leaves other tokens of three parts what they were', async () => {
    expect(await rig().identity.identify(bearing('a.b.c'))).toMatchObject({ agent: 'dotted' })
    const jwt: JwtIssuer = {
      issuer: 'https://idp.test',
      audience: 'gate',
      jwks: { kind: 'static', set: { keys: [key.jwk] } },
      agentClaim: 'sub',
      rolesClaim: 'roles',
      developerClaim: null,
    }
    const { identity } = rig({ issuers: [jwt] })
    const now = Math.floor(Date.now() / 1000)
    const token = await signMandate(key, claims({ iss: 'https://idp.test', exp: now + 60 }))
    expect(await identity.identify(bearing(token))).toMatchObject({
      by: [{ kind: 'jwt', issuer: 'https://idp.test' }],
    })
  })

  it('stops with a role that gate.yaml takes away', async () => {
    const { identity, agents } = rig()
    const agent = await known(
      identity.identify(bearing(await signMandate(key, claims({ sub: 'known-bot' })))),
    )
    expect(identity.isStillKnown(agent)).toBe(true)
    agents.delete('known-bot')
    expect(identity.isStillKnown(agent)).toBe(false)
  })
})
