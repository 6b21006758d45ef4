import { CODES, type IntentCode, isRegistered } from '../intent/codes.js'
import type { Code } from './table.js'

/** What a row means to an agent that declares its intent. A row that is not here is a DENY with a URN of ours. */
const CODE_OF = {
  intent_missing: 'IDP_MISSING',
  intent_malformed: 'IDP_MALFORMED',
  // The text has no code for step 5.2(f): the declaration does not have the step it must have.
  intent_step_stale: 'IDP_MALFORMED',
  intent_duplicate: 'IDP_DUPLICATE',
  intent_object_mismatch: 'IDP_SO_MISMATCH',
  intent_mandate_mismatch: 'IDP_MANDATE_MISMATCH',
  intent_session_mismatch: 'IDP_SESSION_MISMATCH',
  intent_thin_refused: 'IDP_THIN_NOT_ACCEPTED',
  intent_mission_mismatch: 'IDP_MISSION_REF_MISMATCH',
  mandate_missing: 'MANDATE_MISSING',
  mandate_invalid: 'MANDATE_INVALID',
  mandate_revoked: 'MANDATE_REVOKED',
  mandate_scope: 'MANDATE_SCOPE',
  mission_invalid: 'MISSION_INVALID',
  object_state_invalid: 'SO_STATE_INVALID',
  session_pending: 'HEM_PENDING',
  cross_principal: 'CROSS_PRINCIPAL_UNRESOLVED',
  policy_denied: 'POLICY_DENY',
} as const satisfies { readonly [C in Code]?: IntentCode }
const codeOf: { readonly [row: string]: IntentCode | undefined } = CODE_OF

const meantBy = (row: string): IntentCode | undefined =>
  Object.hasOwn(CODE_OF, row) ? codeOf[row] : undefined

export function isReject(row: string): boolean {
  const code = meantBy(row)
  return code !== undefined && CODES[code].answer === 'REJECT'
}

/** The registered code, else the row's own URN: codes of ours are in no registry. */
export function idpCode(row: string, urn: string): string {
  const code = meantBy(row)
  return code !== undefined && isRegistered(code) ? code : urn
}
