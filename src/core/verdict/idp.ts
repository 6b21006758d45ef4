import type { Code } from './table.js'

/**
 * The registered codes of seed intent-declaration-primitive-01 (§6.2, §11), by row. A row that is not here has a URN
 * of ours. `REJECT`: what was sent is no declaration that could be committed (§5.2 a–f); `DENY`: it was answered.
 */
const REJECT = {
  intent_missing: 'IDP_MISSING',
  intent_malformed: 'IDP_MALFORMED',
  // The text has no code for step 5.2(f): the declaration does not have the step it must have.
  intent_step_stale: 'IDP_MALFORMED',
  intent_duplicate: 'IDP_DUPLICATE',
  intent_object_mismatch: 'IDP_SO_MISMATCH',
  intent_mandate_mismatch: 'IDP_MANDATE_MISMATCH',
  intent_thin_refused: 'IDP_THIN_NOT_ACCEPTED',
  mandate_missing: null,
  mandate_invalid: null,
  intent_session_mismatch: null,
} as const satisfies { readonly [C in Code]?: string | null }
const DENY = {
  policy_denied: 'POLICY_DENY',
  mandate_scope: 'MANDATE_SCOPE',
  object_state_invalid: 'SO_STATE_INVALID',
  session_pending: 'HEM_PENDING',
  mandate_revoked: 'MANDATE_REVOKED',
  cross_principal: 'CROSS_PRINCIPAL_UNRESOLVED',
  mission_invalid: 'MISSION_INVALID',
  intent_mission_mismatch: 'IDP_MISSION_REF_MISMATCH',
} as const satisfies { readonly [C in Code]?: string }

export const isReject = (code: string): boolean => Object.hasOwn(REJECT, code)

/** The registered code, else the row's own URN. */
export function idpCode(code: string, urn: string): string {
  const registered: { readonly [code: string]: string | null } = { ...REJECT, ...DENY }
  return registered[code] ?? urn
}
