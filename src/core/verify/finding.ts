import type { AttestationMode, EffectMode, LedgerMode } from '../capsule/model.js'
import { JsonNumber, type JsonValue } from '../json/value.js'

export type Severity = 'error' | 'warning' | 'info'
export type Finding = {
  /** The number of the check in seed §6; null for what stands beside that enumeration. */
  readonly check: number | null
  readonly severity: Severity
  readonly code: string
  readonly detail?: string
}
export type Derived = {
  readonly effect_mode: EffectMode
  readonly attestation_mode: AttestationMode
  readonly ledger_mode: LedgerMode
}
export type Class1Result = {
  readonly ok: boolean
  readonly findings: readonly Finding[]
  /** Null when there was no object to derive from. */
  readonly derived: Derived | null
  readonly capsule_id_recomputed: string | null
  /** What this verification did not look at; never empty (promise 9). */
  readonly not_checked: readonly string[]
}
export type Profile = 'strict' | 'compat'

const finding = (
  check: Finding['check'],
  severity: Severity,
  code: string,
  detail: string | undefined,
): Finding => (detail === undefined ? { check, severity, code } : { check, severity, code, detail })

const MAX_FINDINGS = 256

/** Collects in the order of the checks. Bounded, so that a hostile record cannot buy memory. */
export class Findings {
  readonly list: Finding[] = []
  failed = false

  add(check: number | null, severity: Severity, code: string, detail?: string): void {
    if (severity === 'error') this.failed = true
    if (this.list.length > MAX_FINDINGS) return
    if (this.list.length === MAX_FINDINGS)
      this.list.push({ check: null, severity: 'info', code: 'findings_truncated' })
    else this.list.push(finding(check, severity, code, detail))
  }
  error(check: number | null, code: string, detail?: string): void {
    this.add(check, 'error', code, detail)
  }
  /** An error beside the enumeration of seed §6, like the next. */
  fault(code: string, detail?: string): void {
    this.add(null, 'error', code, detail)
  }
  warn(code: string, detail?: string): void {
    this.add(null, 'warning', code, detail)
  }
  info(check: number | null, code: string, detail?: string): void {
    this.add(check, 'info', code, detail)
  }
}

/** A failure before there was a capsule to look at: one error, nothing derived. */
export const refused = (check: number | null, code: string, detail?: string): Class1Result => ({
  ok: false,
  findings: [finding(check, 'error', code, detail)],
  derived: null,
  capsule_id_recomputed: null,
  not_checked: ['everything_else'],
})

/** A value as a finding may quote it: short, and of a length the input cannot choose. */
export function show(value: JsonValue | undefined): string {
  if (value === undefined) return 'absent'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(clip(value))
  if (value instanceof JsonNumber) return clip(value.token)
  return Array.isArray(value) ? 'an array' : 'an object'
}
export const clip = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 80)}…`)
