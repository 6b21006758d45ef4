import { utf8 } from '../bytes/text.js'
import { isUtcTimestamp } from '../capsule/timestamp.js'
import { isPathName } from '../http/path-name.js'
import { parseSourced } from '../json/parse.js'
import { membersOf } from '../json/spans.js'
import { isArray, isObject, type JsonValue } from '../json/value.js'
import { roundedDown } from './confidence.js'
import {
  FieldFault,
  type Fields,
  flagField,
  isGiven,
  numberField,
  objectField,
  textField,
  uuidField,
  uuidsField,
  wordField,
} from './fields.js'
import { type Intent, MOST_INTENT_BYTES } from './model.js'
import { piiMarkers } from './pii.js'
import { readReasoning } from './reasoning.js'
import { isUuidV4 } from './uuid.js'

/** `reject`: marks of personal data make it malformed; `flag`: they are listed in `Intent.pii`; `off`: not looked for. */
export type PiiMode = 'reject' | 'flag' | 'off'
export type IntentRead =
  | { readonly ok: true; readonly intent: Intent }
  | {
      readonly ok: false
      /** `declared_goal.description`; `intent` where it is the declaration as a whole. */
      readonly field: string
      /** Says what is wrong and never what stood there. */
      readonly detail: string
    }

const WHOLE = 'intent'
const MOST_TEXT = 256
const MOST_GOAL = 500
const MOST_REFS = 64
const MOST_METADATA_BYTES = 4096
const MOST_METADATA_DEPTH = 16
/** A second with nine digits behind it, and some to spare. */
const MOST_TIMESTAMP = 40
/** What a thin declaration has to leave out (§7). `hem_urgency` it may have: an agent can always ask for a human. */
const NOT_THIN = ['declared_goal', 'reasoning_basis', 'confidence_level', 'mission_ref'] as const
const URGENCIES = ['NONE', 'RECOMMENDED', 'REQUIRED'] as const

/**
 * Reads a declaration strictly (seed intent-declaration-primitive-01 §4.1, §5.2 b, §7). Members that §4.1 does
 * not name are ignored: the record keeps the octets. Never throws.
 */
export function readIntent(octets: Uint8Array, options: { readonly pii: PiiMode }): IntentRead {
  const parsed = parseSourced(octets, { maxBytes: MOST_INTENT_BYTES })
  if (!parsed.ok) return unread(WHOLE, `is not strict JSON: ${parsed.code} at ${parsed.at}`)
  if (!isObject(parsed.value)) return unread(WHOLE, 'is not an object')
  try {
    const fields = { of: parsed.value, path: '' }
    checkMetadata(fields, parsed.text)
    return { ok: true, intent: checked(fields, options.pii) }
  } catch (error) {
    if (error instanceof FieldFault) return unread(error.field, error.detail)
    throw error
  }
}

const unread = (field: string, detail: string): IntentRead => ({ ok: false, field, detail })

function checked(fields: Fields, mode: PiiMode): Intent {
  const profile = profileOf(fields)
  const common = {
    idpId: uuidField(fields, 'idp_id', 'a UUID of version 4', isUuidV4),
    sessionId: sessionOf(fields),
    soId: uuidField(fields, 'so_id'),
    mandateId: textField(fields, 'mandate_id', MOST_TEXT),
    step: stepOf(fields),
    requestedAction: textField(fields, 'requested_action', MOST_TEXT),
    profile,
    contextRefs: isGiven(fields, 'context_refs')
      ? uuidsField(fields, 'context_refs', MOST_REFS)
      : [],
    auditAccessible: isGiven(fields, 'audit_accessible')
      ? flagField(fields, 'audit_accessible')
      : true,
    timestamp: timestampOf(fields),
  }
  if (profile === 'IDP_THIN') return { ...common, ...thin(fields) }
  const missionRef = isGiven(fields, 'mission_ref') ? uuidField(fields, 'mission_ref') : null
  const goal = goalOf(objectField(fields, 'declared_goal'))
  const basis = objectField(fields, 'reasoning_basis')
  const reasoning = readReasoning(basis, { ...common, missionRef, goalId: goal.id })
  return {
    ...common,
    missionRef,
    goal,
    reasoning,
    confidence: confidenceOf(fields),
    hemUrgency: wordField(fields, 'hem_urgency', URGENCIES),
    pii: piiOf(mode, goal.description, reasoning.description),
  }
}

function thin(fields: Fields) {
  for (const name of NOT_THIN) {
    if (isGiven(fields, name)) throw new FieldFault(name, 'has no place in an IDP_THIN declaration')
  }
  const given = isGiven(fields, 'hem_urgency')
  return {
    missionRef: null,
    goal: null,
    reasoning: null,
    confidence: null,
    hemUrgency: given ? wordField(fields, 'hem_urgency', URGENCIES) : ('NONE' as const),
    pii: [],
  }
}

/** Operators name it in paths. */
function sessionOf(fields: Fields): string {
  const id = textField(fields, 'session_id', MOST_TEXT)
  if (!isPathName(id)) throw new FieldFault('session_id', 'is a step of a path, and names nothing')
  return id
}

/** Absent for standard ones (§7), so that there is one way to write each. */
const profileOf = (fields: Fields): Intent['profile'] =>
  isGiven(fields, 'profile') ? wordField(fields, 'profile', ['IDP_THIN']) : 'IDP_STANDARD'

function stepOf(fields: Fields): number {
  const token = numberField(fields, 'step_sequence')
  const step = Number(token)
  if (!/^[1-9][0-9]{0,15}$/.test(token) || !Number.isSafeInteger(step)) {
    throw new FieldFault('step_sequence', 'is not a whole number from 1 to 2^53 - 1, in digits')
  }
  return step
}

function timestampOf(fields: Fields): string {
  const text = textField(fields, 'timestamp', MOST_TIMESTAMP)
  if (!isUtcTimestamp(text)) {
    throw new FieldFault(
      'timestamp',
      'is not an ISO 8601 time in UTC, such as 2026-07-01T12:00:00Z',
    )
  }
  return text
}

function confidenceOf(fields: Fields): string {
  const confidence = roundedDown(numberField(fields, 'confidence_level'))
  if (confidence === null) throw new FieldFault('confidence_level', 'is not within 0.0 to 1.0')
  return confidence
}

const goalOf = (goal: Fields): NonNullable<Intent['goal']> => ({
  id: uuidField(goal, 'goal_id', 'a UUID of version 4', isUuidV4),
  description: textField(goal, 'description', MOST_GOAL),
})

function piiOf(mode: PiiMode, goal: string, reasoning: string): Intent['pii'] {
  if (mode === 'off') return []
  const found = [
    ...piiMarkers(goal).map((marker) => ({ field: 'declared_goal.description', marker })),
    ...piiMarkers(reasoning).map((marker) => ({ field: 'reasoning_basis.description', marker })),
  ]
  const [first] = found
  if (first !== undefined && mode === 'reject') {
    throw new FieldFault(first.field, `holds a mark of personal data: ${first.marker}`)
  }
  return found
}

/** Recorded without interpretation (§4.2), so only its size is looked at. */
function checkMetadata(fields: Fields, text: string): void {
  if (!isGiven(fields, 'metadata')) return
  const metadata = objectField(fields, 'metadata').of
  const written = membersOf(text).find(({ name }) => name === 'metadata')?.value ?? ''
  if (utf8(written).length > MOST_METADATA_BYTES) {
    throw new FieldFault('metadata', `is longer than ${MOST_METADATA_BYTES} octets`)
  }
  if (depthOf(metadata) > MOST_METADATA_DEPTH) {
    throw new FieldFault('metadata', `is nested deeper than ${MOST_METADATA_DEPTH} levels`)
  }
}

/** The parser has bounded it already. */
function depthOf(value: JsonValue): number {
  if (!isArray(value) && !isObject(value)) return 0
  const parts = isArray(value) ? value : [...value.values()]
  return 1 + parts.reduce((most: number, part) => Math.max(most, depthOf(part)), 0)
}
