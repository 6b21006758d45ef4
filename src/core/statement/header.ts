import type { Cbor, CborKey, CborMap } from '../bytes/cbor.js'
import { encodeCbor } from '../bytes/cbor-encode.js'

/** The protected header of a statement: seed §3.1, DESIGN §5. */
export type StatementType = 'agent_action' | 'outcome'

export const CONTENT_TYPES: Readonly<Record<StatementType, string>> = {
  agent_action: 'application/agent-action-capsule+json',
  outcome: 'application/agent-action-capsule-outcome+json',
}

export const LABEL = { alg: 1, crit: 2, contentType: 3, kid: 4, claims: 15 } as const
const CLAIM = {
  iss: 1,
  sub: 2,
  statementType: 'capsule_statement_type',
  actionType: 'capsule_action_type',
  decisionId: 'capsule_decision_id',
} as const
const CAPSULE_CLAIMS: readonly string[] = [CLAIM.statementType, CLAIM.actionType, CLAIM.decisionId]

export type HeaderInput = {
  readonly alg: number
  readonly kid: Uint8Array
  readonly statement: StatementType
  readonly iss: string
  readonly sub: string
  readonly actionType: string
  readonly decisionId: string
}

/** Deterministic encoding puts the labels in the order 1, 3, 4, 15. */
export function encodeHeader(input: HeaderInput): Uint8Array<ArrayBuffer> {
  const claims: CborMap = new Map<CborKey, Cbor>([
    [CLAIM.iss, input.iss],
    [CLAIM.sub, input.sub],
    [CLAIM.statementType, input.statement],
    [CLAIM.actionType, input.actionType],
    [CLAIM.decisionId, input.decisionId],
  ])
  return encodeCbor(
    new Map<CborKey, Cbor>([
      [LABEL.alg, input.alg],
      [LABEL.contentType, CONTENT_TYPES[input.statement]],
      [LABEL.kid, input.kid],
      [LABEL.claims, claims],
    ]),
  )
}

/**
 * The seed gives no escaping. Whatever a URN's NSS cannot hold is percent-encoded, and `:` in the
 * operator too, so that no two (operator, action) pairs share a subject.
 */
export const subjectUrn = (operator: string, actionId: string): string =>
  `urn:agent-action-capsule:${encode(operator).replaceAll(':', '%3A')}:${encode(actionId)}`

const PCHAR_AND_SLASH = /%(?:3A|40|2F|24|26|2B|2C|3B|3D)/g
const encode = (text: string): string =>
  encodeURIComponent(text).replace(PCHAR_AND_SLASH, (escaped) => decodeURIComponent(escaped))

export type HeaderFinding = {
  readonly severity: 'error' | 'info'
  readonly code:
    | 'content_type'
    | 'claims_missing'
    | 'iss_missing'
    | 'sub_missing'
    | 'statement_type'
    | 'action_type'
    | 'decision_id'
    | 'claim_unknown'
    | 'content_type_mismatch'
  readonly detail: string
}
export type StatementHeader = {
  readonly contentType: string | null
  readonly iss: string | null
  readonly sub: string | null
  readonly statement: StatementType | null
  readonly actionType: string | null
  readonly decisionId: string | null
}

/** What the profile says about the header alone; comparing it with the payload is verify/statement's. */
export function readHeader(header: CborMap): {
  readonly header: StatementHeader
  readonly findings: readonly HeaderFinding[]
} {
  const findings: HeaderFinding[] = []
  const error = (code: HeaderFinding['code'], detail: string): null => {
    findings.push({ severity: 'error', code, detail })
    return null
  }
  const given = header.get(LABEL.claims)
  const claims: CborMap = given instanceof Map ? given : new Map()
  if (!(given instanceof Map)) error('claims_missing', 'no CWT claims under label 15')

  const contentType = header.get(LABEL.contentType)
  if (typeof contentType !== 'string') error('content_type', 'label 3 is no text string')
  const type = claims.get(CLAIM.statementType)
  const statement = type === 'agent_action' || type === 'outcome' ? type : null
  if (statement === null) error('statement_type', `${CLAIM.statementType} is ${show(type)}`)
  else if (typeof contentType === 'string' && contentType !== CONTENT_TYPES[statement]) {
    error('content_type_mismatch', `${contentType} on a statement of type ${statement}`)
  }
  const required = (label: CborKey, code: HeaderFinding['code'], name: string): string | null => {
    const value = claims.get(label)
    if (typeof value === 'string' && value !== '') return value
    return error(code, `${name} is ${show(value)}`)
  }
  // Recommended, so absent is fine; present must be text.
  const optional = (label: string, code: HeaderFinding['code']): string | null => {
    const value = claims.get(label)
    if (value === undefined || typeof value === 'string') return value ?? null
    return error(code, `${label} is ${show(value)}`)
  }
  const read: StatementHeader = {
    contentType: typeof contentType === 'string' ? contentType : null,
    iss: required(CLAIM.iss, 'iss_missing', 'iss'),
    sub: required(CLAIM.sub, 'sub_missing', 'sub'),
    statement,
    actionType: optional(CLAIM.actionType, 'action_type'),
    decisionId: optional(CLAIM.decisionId, 'decision_id'),
  }
  for (const label of claims.keys()) {
    // The set is closed for producers; a verifier only mentions an unknown one (seed §3.1, §4).
    if (
      typeof label === 'string' &&
      label.startsWith('capsule_') &&
      !CAPSULE_CLAIMS.includes(label)
    ) {
      findings.push({ severity: 'info', code: 'claim_unknown', detail: label })
    }
  }
  return { header: read, findings }
}

const show = (value: Cbor | undefined): string =>
  value === undefined ? 'absent' : typeof value === 'string' ? JSON.stringify(value) : 'not text'
