import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { nodeCrypto } from '../../dist/adapters/crypto-node.js'
import { objectIdOf } from '../../dist/core/intent/object-id.js'
import { manifestOf } from '../judged.mjs'

/** What is declared here: payments from one account, one mandate for each session. */
const ISSUER = 'https://mandates.bench.example'
const AUDIENCE = 'urn:capsule-gate:bench'
export const ACCOUNT = 'account-1'
const HOUR = 3600

/** The same tool with and without a declaration; all else is equal. */
export const manifestFor = (declared) =>
  manifestOf((tool) => `POST /${tool}`, 'connection: pooled', {
    object: 'object: {type: account, id: account, states: [open, closed]}\n',
    args: 'account: string, ',
    pay: declared ? '    intent: required\n' : '',
  })

export const soId = objectIdOf(
  { type: 'account', id: '{account}' },
  new Map([['account', { type: 'string', value: ACCOUNT }]]),
  nodeCrypto,
)

const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** An issuer with a key of its own: what the gate trusts, and mandates signed with it. */
export function mandateIssuer() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const kid = createHash('sha256').update(JSON.stringify(publicKey.export({ format: 'jwk' })))
  const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' }
  const key = { ...jwk, kid: kid.digest('hex').slice(0, 16) }
  return {
    trusted: {
      issuers: [
        {
          issuer: ISSUER,
          audience: AUDIENCE,
          jwks: { kind: 'static', set: { keys: [key] } },
          agentClaim: 'sub',
          algorithms: ['EdDSA'],
          requireProof: false,
        },
      ],
      agents: [],
    },
    /** A session with its mandate, before its first step. */
    session() {
      const [id, mandateId] = [randomUUID(), randomUUID()]
      const now = Math.floor(Date.now() / 1000)
      const signed = `${part({ alg: 'EdDSA', kid: key.kid })}.${part({
        iss: ISSUER,
        aud: AUDIENCE,
        sub: 'bot',
        jti: mandateId,
        iat: now,
        exp: now + HOUR,
        session_id: id,
        so_id: soId,
        so_type: 'account',
        cedar_actions: ['pay'],
        human_principal_id: 'alice@example.org',
      })}`
      const signature = sign(null, Buffer.from(signed), privateKey).toString('base64url')
      return { id, mandateId, mandate: `${signed}.${signature}` }
    },
  }
}

/** A standard declaration, as its header carries it; every one is new. */
export const declaration = ({ id, mandateId }, step) =>
  part({
    idp_id: randomUUID(),
    session_id: id,
    so_id: soId,
    mandate_id: mandateId,
    step_sequence: step,
    requested_action: 'pay',
    declared_goal: { goal_id: randomUUID(), description: 'pay what the customer ordered' },
    reasoning_basis: {
      type: 'INSTRUCTION',
      description: `the customer asked for it under mandate ${mandateId}`,
    },
    confidence_level: 0.93,
    hem_urgency: 'NONE',
    timestamp: new Date().toISOString(),
  })
