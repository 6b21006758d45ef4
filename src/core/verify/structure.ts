import { isHex64 } from '../bytes/hex.js'
import { FORMAT_VERSION } from '../capsule/model.js'
import type { NumberFault } from '../json/canonical.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { type Findings, type Profile, show } from './finding.js'

/** Check 1 of seed §6: required members present and typed, no number without a reproducible digest. */

export const REQUIRED = [
  'spec_version',
  'format_version',
  'capsule_id',
  'action_id',
  'action_type',
  'operator',
  'developer',
  'timestamp',
] as const
const BLOCKS = ['effect', 'assurance', 'disposition', 'chain'] as const
/** Members that later checks read as text. */
const REGISTERED: readonly (readonly [block: string, members: readonly string[]])[] = [
  ['effect', ['status', 'type', 'irreversibility_class', 'effect_attestation']],
  ['disposition', ['verdict_class']],
]

export function checkStructure(
  capsule: JsonObject,
  faults: readonly NumberFault[],
  findings: Findings,
  profile: Profile,
): void {
  for (const name of REQUIRED) {
    const value = capsule.get(name)
    if (value === undefined || value === null)
      findings.error(1, 'missing_required_field', `${name} is ${show(value)}`)
    else if (typeof value !== 'string')
      findings.error(1, 'field_not_string', `${name} is ${show(value)}`)
  }
  checkIdentityForms(capsule, findings)
  for (const name of BLOCKS) {
    if (capsule.has(name) && !isObject(capsule.get(name)))
      findings.error(1, 'block_not_object', `${name} is ${show(capsule.get(name))}`)
  }
  if (capsule.has('constraints') && !isArray(capsule.get('constraints')))
    findings.error(1, 'constraints_not_array', `constraints is ${show(capsule.get('constraints'))}`)
  for (const kind of ['float', 'unsafe_integer'] as const) {
    for (const fault of faults)
      if (fault.kind === kind) findings.error(1, `${kind}_in_digest_field`, fault.path)
  }
  const disposition = block(capsule, 'disposition')
  if (disposition !== null) checkDisposition(disposition, findings, profile)
  checkRegistered(capsule, findings, profile)
}

/** Any text is informational at worst (seed §12); an array or object is no registry value at all. */
function checkRegistered(capsule: JsonObject, findings: Findings, profile: Profile): void {
  for (const [name, members] of REGISTERED) {
    const from = block(capsule, name)
    if (from === null) continue
    for (const member of members) {
      const value = from.get(member)
      if (absent(value) || typeof value === 'string') continue
      if (profile === 'strict' || isArray(value) || isObject(value))
        findings.error(1, 'field_not_string', `${name}.${member} is ${show(value)}`)
    }
  }
}

function checkIdentityForms(capsule: JsonObject, findings: Findings): void {
  const [id, type, version] = [
    capsule.get('capsule_id'),
    capsule.get('action_type'),
    capsule.get('format_version'),
  ]
  if (typeof id === 'string' && !isHex64(id))
    findings.error(1, 'capsule_id_malformed', `capsule_id is ${show(id)}`)
  if (typeof type === 'string' && type !== 'fyi' && type !== 'decide')
    findings.error(1, 'action_type_invalid', `action_type is ${show(type)}`)
  if (typeof version === 'string' && version !== FORMAT_VERSION)
    findings.error(1, 'unsupported_format_version', `format_version is ${show(version)}`)
}

/** Seed §5.4. The approver is a closed enum; the decision is registry-governed, so any text will do. */
function checkDisposition(disposition: JsonObject, findings: Findings, profile: Profile): void {
  const approver = disposition.get('approver')
  if (absent(approver)) findings.error(1, 'missing_required_field', 'disposition.approver')
  else if (approver !== 'human' && approver !== 'policy')
    findings.error(1, 'approver_invalid', `disposition.approver is ${show(approver)}`)
  const decision = disposition.get('decision')
  if (absent(decision)) findings.error(1, 'missing_required_field', 'disposition.decision')
  else if (typeof decision !== 'string')
    findings.error(1, 'field_not_string', `disposition.decision is ${show(decision)}`)
  const human = disposition.get('human_disposed')
  if (typeof human !== 'boolean')
    findings.error(1, 'field_not_bool', `disposition.human_disposed is ${show(human)}`)
  // Seed §6 keeps this outside its enumeration: it warns, and fails only where we hold our own ledger.
  if (human === true && approver !== 'human')
    findings.add(
      null,
      profile === 'strict' ? 'error' : 'warning',
      'dishonest_human_disposed',
      `human_disposed is true and approver is ${show(approver)}`,
    )
}

/** The profile's text makes no difference between an absent member and null. */
export const absent = (value: JsonValue | undefined): value is null | undefined =>
  value === undefined || value === null

export function block(capsule: JsonObject, name: string): JsonObject | null {
  const value = capsule.get(name)
  return isObject(value) ? value : null
}
