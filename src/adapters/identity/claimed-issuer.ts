/** The `iss` of a JWT, unverified: used only to choose which pinned issuer must have signed it. */
export function claimedIssuer(token: string): string | null {
  try {
    const payload: unknown = JSON.parse(
      Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'),
    )
    const issuer = (payload as { iss?: unknown } | null)?.iss
    return typeof issuer === 'string' ? issuer : null
  } catch {
    return null
  }
}
