import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { Mode } from '../../../core/capsule/model.js'
import { type Finding, fault, type Place } from '../findings.js'

export type Annotated = {
  readonly id: string
  readonly hem: boolean
  readonly mode: Mode
  readonly reason: string | null
}
export type Annotations =
  | { readonly ok: true; readonly value: Annotated }
  | { readonly ok: false; readonly findings: readonly Finding[] }

const KNOWN = ['id', 'hem', 'mode', 'reason'] as const
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/**
 * Cedar ignores annotations, so a misspelt one would silently drop the human or the trial it asks for:
 * only the known ones are read, and each strictly.
 */
export function readAnnotations(policy: PolicyJson, place: Place): Annotations {
  // Cedar gives a valueless annotation as null, whatever its types say.
  const given: Readonly<Record<string, string | null>> = policy.annotations ?? {}
  const findings: Finding[] = []
  for (const name of Object.keys(given)) {
    if (!KNOWN.some((known) => known === name)) {
      findings.push(
        fault(
          'annotation_unknown',
          place,
          `@${name} is not known`,
          `use ${KNOWN.map((known) => `@${known}`).join(', ')}, or a comment`,
        ),
      )
    }
  }
  const { id, hem, mode, reason } = given
  if (id === undefined || id === null || id === '') {
    const help = 'begin it with @id("a-name"): records and answers name policies by it'
    findings.push(fault('id_missing', place, 'a policy without @id', help))
  } else if (!ID.test(id)) {
    const help = 'at most 128 letters, digits and . _ : / -, beginning with a letter or digit'
    findings.push(fault('id_form', place, `@id(${JSON.stringify(id)}) is not an id`, help))
  }
  if (hem !== undefined && hem !== 'required') {
    findings.push(fault('hem_value', place, '@hem has one value', 'write @hem("required")'))
  }
  if (mode !== undefined && mode !== 'observe' && mode !== 'enforce') {
    const help = 'write @mode("observe"), or leave it out to enforce'
    findings.push(fault('mode_value', place, '@mode is "observe" or "enforce"', help))
  }
  if (reason !== undefined && (reason === null || reason.trim() === '')) {
    const help = 'say in a sentence why the policy refuses, or leave @reason out'
    findings.push(fault('reason_empty', place, '@reason says nothing', help))
  }
  if (findings.length > 0 || typeof id !== 'string') return { ok: false, findings }
  return {
    ok: true,
    value: {
      id,
      hem: hem === 'required',
      mode: mode === 'observe' ? 'observe' : 'enforce',
      reason: reason ?? null,
    },
  }
}
