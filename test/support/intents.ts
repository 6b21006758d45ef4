import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { utf8 } from '../../src/core/bytes/text.js'
import type { HttpCall } from '../../src/core/call/call.js'
import type { Declared } from '../../src/core/intent/model.js'
import { objectIdOf } from '../../src/core/intent/object-id.js'
import { httpCall } from './manifests.js'
import { TOKEN } from './rig.js'

/** Mandates and declarations as tests bring them: an issuer with a key of its own, whole declarations, faults by name. */
const ROOT = join(import.meta.dirname, '..', '..')
export const BOOKING = readFileSync(join(ROOT, 'manifests/booking.yaml'), 'utf8')
export const BOOKING_POLICIES = readFileSync(join(ROOT, 'policies/intent.cedar'), 'utf8')

export const ISSUER = 'https://mandates.example'
export const AUDIENCE = 'urn:capsule-gate:test'
export const AGENT = 'support-bot'
export const MISSION = '0b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c'
const KID = 'mandates-1'

export type Claims = { readonly [name: string]: unknown }

/** A key pair of an issuer, and mandates signed with it. */
export function mandateIssuer(issuer = ISSUER) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: KID, alg: 'EdDSA', use: 'sig' }
  return {
    jwks: { keys: [jwk] },
    /** As `identity.mandates` of a gate's options. */
    options: {
      issuers: [
        {
          issuer,
          audience: AUDIENCE,
          jwks: { kind: 'static' as const, set: { keys: [jwk] } },
          agentClaim: 'sub',
          algorithms: ['EdDSA' as const],
          requireProof: false,
        },
      ],
      agents: new Map(),
    },
    mandate: (claims: Claims): string => jwtOf({ iss: issuer, ...claims }, privateKey),
  }
}

function jwtOf(claims: Claims, key: KeyObject): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'EdDSA', kid: KID })}.${part(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}

/** The object id of a booking, as manifests/booking.yaml names its objects. */
export const bookingId = (booking: string): string =>
  objectIdOf(
    { type: 'booking', id: '{booking}' },
    new Map([['booking', { type: 'string', value: booking }]]),
    nodeCrypto,
  ) ?? ''

const seconds = (at: number): number => Math.floor(at / 1000)

/** One agent's session under one mandate, whose steps count up by themselves. */
export type Steps = ReturnType<typeof stepsOf>
export function stepsOf(
  issuer: ReturnType<typeof mandateIssuer>,
  {
    agent = AGENT,
    booking = 'b-1',
    sessionId = randomUUID(),
    claims = {},
    now = Date.now,
  }: {
    readonly agent?: string
    readonly booking?: string
    readonly sessionId?: string
    readonly claims?: Claims
    readonly now?: () => number
  } = {},
) {
  const jti = randomUUID()
  const soId = bookingId(booking)
  const mandate = issuer.mandate({
    aud: AUDIENCE,
    sub: agent,
    jti,
    iat: seconds(now()),
    exp: seconds(now()) + 3600,
    session_id: sessionId,
    so_id: soId,
    so_type: 'booking',
    cedar_actions: ['ReadBooking', 'ProcessPayment', 'CloseBooking', 'AdvanceMissionStage'],
    human_principal_id: 'alice@example.org',
    ...claims,
  })
  let step = 0
  const standard = (action: string, more: Claims = {}): Claims => ({
    idp_id: randomUUID(),
    session_id: sessionId,
    so_id: soId,
    mandate_id: jti,
    step_sequence: ++step,
    requested_action: action,
    declared_goal: { goal_id: randomUUID(), description: 'settle the booking' },
    reasoning_basis: {
      type: 'INSTRUCTION',
      description: `the customer asked for it under mandate ${jti}`,
    },
    confidence_level: 0.9,
    hem_urgency: 'NONE',
    timestamp: new Date(now()).toISOString(),
    ...more,
  })
  return {
    jti,
    soId,
    sessionId,
    booking,
    mandate,
    standard,
    thin: (action: string, more: Claims = {}): Claims => {
      const { declared_goal, reasoning_basis, confidence_level, hem_urgency, ...rest } =
        standard(action)
      return { ...rest, profile: 'IDP_THIN', ...more }
    },
    /** The step that the next declaration has. */
    next: (): number => step + 1,
  }
}

export const carried = (intent: Claims | null, mandate: string | null): Declared => ({
  kind: 'carried',
  intent: intent === null ? null : utf8(JSON.stringify(intent)),
  mandate,
})

const PATHS = {
  ReadBooking: ['GET', ''],
  ProcessPayment: ['POST', '/payments'],
  CloseBooking: ['POST', '/close'],
  AdvanceMissionStage: ['POST', '/stage'],
} as const
export type BookingAction = keyof typeof PATHS
const BODIES: { readonly [A in BookingAction]: object | undefined } = {
  ReadBooking: undefined,
  ProcessPayment: { amount: '10.00', currency: 'EUR' },
  CloseBooking: undefined,
  AdvanceMissionStage: { stage: 'next' },
}

/** A call of a booking's tool as the support bot sends it, with what it declares. */
export function bookingCall(
  action: BookingAction,
  booking: string,
  declared: Declared | null,
  more: Omit<Partial<HttpCall>, 'body'> & { readonly body?: object } = {},
): HttpCall {
  const [method, rest] = PATHS[action]
  const { body = BODIES[action], ...others } = more
  return httpCall(method, `/v1/bookings/${booking}${rest}`, body, {
    caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
    ...(declared === null ? {} : { declared }),
    ...others,
  })
}
