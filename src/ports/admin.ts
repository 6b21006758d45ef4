/** Roles of the admin plane. Agents' tokens work on the data plane alone (DESIGN §7). */
export const ADMIN_ROLES = [
  'viewer',
  'auditor',
  'external_auditor',
  'approver',
  'operator',
] as const
export type AdminRole = (typeof ADMIN_ROLES)[number]

/** A person or program with an admin token. */
export type Principal = {
  readonly name: string
  readonly role: AdminRole
  readonly groups: readonly string[]
  /** A program: never a human in any record (promise 4). */
  readonly machine: boolean
}

export type AdminTokens = {
  /** Tokens are kept and looked up by hash: comparing hashes gives away nothing of the token. */
  hash(token: string): string
  /** Hash → principal; null for an agent's token. A revoked token is gone at the next look. */
  held(): ReadonlyMap<string, Principal | null>
}
