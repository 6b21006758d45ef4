import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { Mode } from '../../../core/capsule/model.js'
import { type Finding, type FindingCode, fault, type Location } from '../findings.js'

export type Annotated = {
  readonly id: string
  readonly hem: boolean
  readonly mode: Mode
  /** The operator's own words, for the private record. */
  readonly reason: string | null
}
export type Annotations =
  | { readonly ok: true; readonly value: Annotated }
  | { readonly ok: false; readonly findings: readonly Finding[] }

const KNOWN: ReadonlySet<string> = new Set(['id', 'hem', 'mode', 'reason'])
const ID = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/

/**
 * Cedar ignores annotations, so a misspelt one would silently drop the human or the trial it asks for:
 * only the known ones are read, and each strictly.
 */
export function readAnnotations(policy: PolicyJson, location: Location): Annotations {
  // Cedar gives a valueless annotation as null, whatever its types say.
  const given: Readonly<Record<string, string | null>> = policy.annotations ?? {}
  const findings: Finding[] = []
  const refuse = (code: FindingCode, message: string): void => {
    findings.push(fault(code, location, message))
  }
  for (const name of Object.keys(given)) {
    if (!KNOWN.has(name)) refuse('annotation_unknown', `@${name} is not known`)
  }
  const { id, hem, mode, reason } = given
  if (id === undefined || id === null || id === '') refuse('id_missing', 'a policy without @id')
  else if (!ID.test(id)) refuse('id_form', `@id(${JSON.stringify(id)}) is not an id`)
  if (hem !== undefined && hem !== 'required') refuse('hem_value', '@hem has one value')
  if (mode !== undefined && mode !== 'observe' && mode !== 'enforce') {
    refuse('mode_value', '@mode is "observe" or "enforce"')
  }
  if (reason !== undefined && (reason === null || reason.trim() === '')) {
    refuse('reason_empty', '@reason says nothing')
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
