/**
 * What the tenant's secret is used for (DESIGN §5). Each use has a key of its own, HKDF-SHA256 of the secret
 * with the use's name: a value that one use discloses tells nothing about any other use.
 */
export const TENANT_USES = {
  voter: 'who voted, granted, halted, resumed, accepted a tool or erased, as a line names them',
  subject: 'whose evidence was erased, as a line names them',
  principal: 'the human principal of a mandate, as a line names them',
  reason: 'the salt of a reason',
  'call-identity': 'which call a refusal is about, however it is spelt',
  source: 'the network address of refused connections',
  'pass-through': 'the salt of the request digest on a route that is not judged',
  'request-octets': 'the octets of a request, where the tool says digest_salt: tenant',
  request: 'the salt of the request digest, where the tool says digest_salt: tenant',
  'response-octets': 'the octets of a response, where the tool says digest_salt: tenant',
  'budget-scope': 'whose budget a call counts in',
  amounts: 'the amounts that a call takes from budgets, encrypted in its line',
  bounds: 'the bounds of a standing grant, encrypted in its line',
  snapshot: 'the amounts in budgets, encrypted in a snapshot',
} as const

export type TenantUse = keyof typeof TENANT_USES

/** HKDF's `info`. */
export const infoOf = (use: TenantUse): string => `capsule-gate/tenant/v1/${use}`
