import { parseSourced } from '../json/parse.js'
import { membersOf } from '../json/spans.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'

/** What a runtime says of an act after it: its own word, which the gate can neither check nor confirm. */
export type RuntimeReport = {
  readonly ok: boolean
  /** The JSON text of `claimed` as it was written; null where it claims nothing more. */
  readonly claimed: string | null
}
export type ReportRead =
  | { readonly ok: true; readonly report: RuntimeReport }
  | { readonly ok: false; readonly fault: string }

const isText = (value: JsonValue): boolean => typeof value === 'string'
/** The members of `claimed`, closed: what cannot be kept under a name of its own is told to be put into `result`. */
const CLAIMED: { readonly [name: string]: (value: JsonValue) => boolean } = {
  result: () => true,
  diff: isText,
  stdout: isText,
  stderr: isText,
  usage: isObject,
  model: isText,
  parent_action: isText,
}

const refused = (fault: string): ReportRead => ({ ok: false, fault })

/** `{"ok": BOOLEAN, "claimed"?: {…}}`, closed. */
export function readReport(octets: Uint8Array): ReportRead {
  const parsed = parseSourced(octets)
  if (!parsed.ok) return refused(`not strict UTF-8 JSON (${parsed.code})`)
  const { value, text } = parsed
  if (!isObject(value)) return refused('not an object')
  const [unknown] = [...value.keys()].filter((name) => name !== 'ok' && name !== 'claimed')
  if (unknown !== undefined) return refused(`unknown member ${shown(unknown)}`)
  const ok = value.get('ok')
  if (typeof ok !== 'boolean') return refused('ok: true or false')
  const claimed = value.get('claimed')
  if (claimed === undefined) return { ok: true, report: { ok, claimed: null } }
  if (!isObject(claimed)) return refused('claimed: an object')
  const fault = faultIn(claimed)
  if (fault !== null) return refused(fault)
  const given = membersOf(text).find(({ name }) => name === 'claimed')
  return { ok: true, report: { ok, claimed: given?.value ?? null } }
}

function faultIn(claimed: JsonObject): string | null {
  for (const [name, value] of claimed) {
    if (!Object.hasOwn(CLAIMED, name)) return `unknown member claimed.${shown(name)}`
    if (CLAIMED[name]?.(value) !== true) {
      return `claimed.${name}: ${name === 'usage' ? 'an object' : 'a string'}`
    }
  }
  return null
}

/** Names come from outside, and the fault goes back to its sender. */
const shown = (name: string): string => JSON.stringify(name.slice(0, 64))
