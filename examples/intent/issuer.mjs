/** A mandate issuer as small as one can be: who acts for whom, on which object, in which actions. */
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const kid = 'mandates-1'

/** What the gate checks signatures with: `jwks_file` of gate.yaml. */
export const jwks = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' }],
}

// #region mandate
export function mandateFor(agent, booking, sessionId) {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'https://mandates.example',
    aud: 'urn:example:booking-gate',
    sub: agent,
    jti: randomUUID(),
    exp: now + 600,
    session_id: sessionId,
    so_id: objectId('booking', booking),
    cedar_actions: ['ReadBooking', 'ProcessPayment', 'CloseBooking'],
    human_principal_id: 'alice@example.org',
  }
  return { jwt: signed(claims), jti: claims.jti, soId: claims.so_id }
}
// #endregion mandate

function signed(claims) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${part({ alg: 'EdDSA', kid })}.${part(claims)}`
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}

// #region object
/** The id of an object with a name (docs/manifest.md, "The id of an object"): UUIDv8 of RFC 9562, B.2. */
export function objectId(type, name) {
  const namespace = Buffer.from('8d2972ab65174b02be5140b4b3fa8dc2', 'hex')
  const octets = createHash('sha256')
    .update(namespace)
    .update(`${type}\n${name}`)
    .digest()
    .subarray(0, 16)
  octets[6] = (octets[6] & 0x0f) | 0x80
  octets[8] = (octets[8] & 0x3f) | 0x80
  return octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
// #endregion object
