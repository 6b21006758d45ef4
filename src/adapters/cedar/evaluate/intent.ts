import type { PolicyIntent, PolicyMandate, PolicyRequest } from '../../../ports/policy.js'
import type { IntentMode } from '../intent-schema.js'
import { isWellFormed } from './values.js'

/** An attribute that the declaration does not have is absent: Cedar knows no null. */
export type CedarIntent = {
  readonly idp?: {
    readonly confidence_level?: { __extn: { fn: string; arg: string } }
    readonly goal_id?: string
    readonly hem_urgency?: string
    readonly mission_ref?: string
    readonly profile: string
    readonly reasoning_basis?: { readonly type: string }
  }
  readonly mandate?: {
    readonly depth: number
    readonly id: string
    readonly issuer: string
    readonly mission_ref?: string
  }
}
type Built =
  | { readonly ok: true; readonly context: CedarIntent }
  | { readonly ok: false; readonly why: string }

/** What a call declares, as policies see it: all of it where the action has it required, nothing where it has none. */
export function cedarIntent(
  mode: IntentMode | undefined,
  { idp, mandate }: Pick<PolicyRequest, 'idp' | 'mandate'>,
): Built {
  if (mode === undefined && (idp !== undefined || mandate !== undefined)) {
    return refuse('an intent or a mandate for an action that has none')
  }
  if (mode === 'required' && (idp === undefined || mandate === undefined)) {
    return refuse('no intent or no mandate for an action that requires both')
  }
  const why =
    (idp === undefined ? null : faultOfIdp(idp)) ??
    (mandate === undefined ? null : faultOfMandate(mandate))
  if (why !== null) return refuse(why)
  return {
    ok: true,
    context: {
      ...(idp === undefined ? {} : { idp: idpOf(idp) }),
      ...(mandate === undefined ? {} : { mandate: mandateOf(mandate) }),
    },
  }
}

const refuse = (why: string): Built => ({ ok: false, why })

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null
const isText = (value: unknown): boolean => typeof value === 'string' && isWellFormed(value)
const isTextOrNull = (value: unknown): boolean => value === null || isText(value)

/** At most four digits behind the point, so that Cedar compares what was declared. */
const CONFIDENCE = /^(?:0(?:\.[0-9]{1,4})?|1(?:\.0{1,4})?)$/

function faultOfIdp(idp: PolicyIntent): string | null {
  if (!isRecord(idp)) return 'idp is not a record'
  const { profile, reasoning_type, confidence_level, hem_urgency, goal_id, mission_ref } = idp
  if (profile !== 'IDP_STANDARD' && profile !== 'IDP_THIN') return 'idp.profile is unknown'
  if (![reasoning_type, hem_urgency, goal_id, mission_ref].every(isTextOrNull)) {
    return 'a member of idp is not well-formed text'
  }
  if (
    confidence_level !== null &&
    (typeof confidence_level !== 'string' || !CONFIDENCE.test(confidence_level))
  ) {
    return 'idp.confidence_level is not a decimal from 0 to 1 with at most 4 fraction digits'
  }
  // A stub that a thin declaration stands in the journal with would satisfy policies (§5.4).
  const more = [reasoning_type, confidence_level, goal_id, mission_ref]
  if (profile === 'IDP_THIN' && more.some((value) => value !== null)) {
    return 'idp has more than a thin declaration has'
  }
  return null
}

function faultOfMandate(mandate: PolicyMandate): string | null {
  if (!isRecord(mandate)) return 'mandate is not a record'
  const { id, issuer, mission_ref, depth } = mandate
  if (!isText(id) || !isText(issuer) || !isTextOrNull(mission_ref)) {
    return 'a member of mandate is not well-formed text'
  }
  return Number.isSafeInteger(depth) && depth >= 0 ? null : 'mandate.depth is not a count'
}

function idpOf(idp: PolicyIntent): CedarIntent['idp'] & object {
  const { profile, reasoning_type, confidence_level, hem_urgency, goal_id, mission_ref } = idp
  return {
    ...(confidence_level === null ? {} : { confidence_level: decimal(confidence_level) }),
    ...(goal_id === null ? {} : { goal_id }),
    ...(hem_urgency === null ? {} : { hem_urgency }),
    ...(mission_ref === null ? {} : { mission_ref }),
    profile,
    ...(reasoning_type === null ? {} : { reasoning_basis: { type: reasoning_type } }),
  }
}

/** Cedar reads no decimal without a point. */
const decimal = (text: string) => ({
  __extn: { fn: 'decimal', arg: text.includes('.') ? text : `${text}.0` },
})

const mandateOf = ({
  id,
  issuer,
  mission_ref,
  depth,
}: PolicyMandate): CedarIntent['mandate'] & object => ({
  depth,
  id,
  issuer,
  ...(mission_ref === null ? {} : { mission_ref }),
})
