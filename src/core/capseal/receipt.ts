import { hex } from '../bytes/hex.js'
import { utf8 } from '../bytes/text.js'
import type { Input, No } from '../cps/canonical.js'
import type { Hashing } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { dumps, NoPythonNumber, quoteAscii } from '../python/dumps.js'

/** What a receipt is over, in the order of the text (CapSeal, receipt hash computation). */
const TWELVE = [
  'action_id',
  'action_type',
  'instruction_hash',
  'input_hash',
  'output_hash',
  'parent_action_id',
  'parent_receipt_hash',
  'gate_score',
  'gate_decision',
  'success',
  'duration_ms',
  'timestamp',
] as const
/** CapSeal's code hashes one more; its text calls that code the source of truth. */
const THIRTEEN = [...TWELVE, 'policy_verdict'] as const
export type ReceiptFields = 12 | 13
export const receiptFields = (fields: ReceiptFields): readonly string[] =>
  fields === 12 ? TWELVE : THIRTEEN

/** Those that a record may leave out. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'parent_action_id',
  'parent_receipt_hash',
  'gate_score',
  'gate_decision',
  'policy_verdict',
])

export type Receipt = {
  readonly ok: true
  readonly canonical: string
  readonly receipt_hash: string
}

/** `json.dumps` escapes all but ASCII, so that halves of surrogate pairs pass. */
const READING = { loneSurrogates: true, maxDepth: 1000 } as const

/** The receipt of one action: the canonical text of its fields, and SHA-256 of it. */
export function receiptOf(json: Input, fields: ReceiptFields, crypto: Hashing): Receipt | No {
  const parsed = parse(json, READING)
  if (!parsed.ok) return { ok: false, code: parsed.code }
  return isObject(parsed.value)
    ? receiptOfAction(parsed.value, fields, crypto)
    : { ok: false, code: 'not_an_object' }
}

export function receiptOfAction(
  action: JsonObject,
  fields: ReceiptFields,
  crypto: Hashing,
): Receipt | No {
  const chosen = new Map<string, JsonValue>()
  for (const name of receiptFields(fields)) {
    const value = action.get(name)
    if (value === undefined && !OPTIONAL.has(name)) return { ok: false, code: `missing_${name}` }
    chosen.set(name, value ?? null)
  }
  const canonical = asciiText(chosen)
  if (canonical === null) return { ok: false, code: 'number_without_form' }
  return { ok: true, canonical, receipt_hash: hex(crypto.sha256(utf8(canonical))) }
}

/** Of inputs and outputs: SHA-256 of a text's UTF-8, or of the canonical text of any other value. */
export function payloadHash(
  json: Input,
  crypto: Hashing,
): { readonly ok: true; readonly sha256: string } | No {
  const parsed = parse(json, READING)
  if (!parsed.ok) return { ok: false, code: parsed.code }
  const { value } = parsed
  if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
    return { ok: false, code: 'lone_surrogate' }
  }
  const text = typeof value === 'string' ? value : asciiText(value)
  return text === null
    ? { ok: false, code: 'number_without_form' }
    : { ok: true, sha256: hex(crypto.sha256(utf8(text))) }
}

function asciiText(value: JsonValue): string | null {
  try {
    return dumps(value, { quote: quoteAscii })
  } catch (error) {
    if (error instanceof NoPythonNumber) return null
    throw error
  }
}
