import type { IssuerConfig, MandateIssuerConfig } from './model.js'
import type { GateFile } from './schema.js'

/** A token of an issuer that is listed twice could be taken for either. */
export function claimedTwice(
  { jwt, mandates }: Pick<GateFile['identity'], 'jwt' | 'mandates'>,
  fault: (pointer: string, message: string, wayOut: string) => void,
): void {
  for (const [index, { issuer }] of mandates.entries()) {
    const at = `/identity/mandates/${index}`
    if (jwt.some((other) => other.issuer === issuer)) {
      const message = `${issuer} is under identity.mandates and under identity.jwt`
      fault(at, message, 'name it under one of the two')
    }
    if (mandates.findIndex((other) => other.issuer === issuer) !== index) {
      fault(at, `${issuer} is under identity.mandates twice`, 'name it once')
    }
  }
}

export function issuerOf(
  given: GateFile['identity']['jwt'][number],
  path: (relative: string) => string,
): IssuerConfig {
  const { issuer, audience, agent_claim, roles_claim } = given
  return {
    issuer,
    audience,
    jwks: keysOf(given, path),
    agent_claim,
    roles_claim,
    developer_claim: given.developer_claim ?? null,
  }
}

export function mandateIssuerOf(
  given: GateFile['identity']['mandates'][number],
  path: (relative: string) => string,
): MandateIssuerConfig {
  const { issuer, audience, agent_claim, algorithms, require_proof } = given
  return { issuer, audience, jwks: keysOf(given, path), agent_claim, algorithms, require_proof }
}

const keysOf = (
  { jwks_file, jwks_url }: Pick<GateFile['identity']['jwt'][number], 'jwks_file' | 'jwks_url'>,
  path: (relative: string) => string,
): IssuerConfig['jwks'] =>
  jwks_url === undefined
    ? { kind: 'file', path: path(jwks_file ?? '') }
    : { kind: 'url', url: jwks_url }
