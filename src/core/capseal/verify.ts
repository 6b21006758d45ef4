import { isHex64 } from '../bytes/hex.js'
import { fromUtf8 } from '../bytes/text.js'
import type { Input } from '../cps/canonical.js'
import type { Hashing } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { dumps, quoteAscii } from '../python/dumps.js'
import { type ReceiptFields, receiptFields, receiptOfAction } from './receipt.js'

export type ReceiptCode =
  /** The line is no strict JSON object. */
  | 'unreadable'
  /** A field is missing, of another type, or none of its words. */
  | 'invalid'
  /** `receipt_hash` is that of neither twelve nor thirteen of its fields. */
  | 'receipt_mismatch'
  /** It is over other fields than the one before it. */
  | 'fields_differ'
  /** What stands beside the action as `canonical_fields` is not what the action says. */
  | 'canonical_fields_mismatch'
  /** `parent_receipt_hash` or `parent_action_id` is not of the action before it. */
  | 'parent_mismatch'
  | 'action_id_repeated'
export type ReceiptFinding = {
  readonly code: ReceiptCode
  /** From 0. */
  readonly index: number
  readonly field?: string
}
export type ReceiptsResult = {
  readonly ok: boolean
  readonly findings: readonly ReceiptFinding[]
  readonly length: number
  /** Null: there is none, or the first is of neither kind. */
  readonly fields: ReceiptFields | null
  /** Of the last action. */
  readonly head: string | null
  /** Receipts are not signed: a file in which all of them were made again verifies. */
  readonly not_checked: readonly string[]
}

const TYPES = [
  'tool_call',
  'code_gen',
  'code_edit',
  'api_request',
  'decision',
  'observation',
  'file_read',
  'file_write',
  'file_delete',
  'shell_exec',
  'command',
  'browser_action',
  'web_request',
  'action',
  'unknown',
]
const DECISIONS = ['pass', 'skip', 'human_review', 'human_approved', 'skipped']
const VERDICTS = ['PROOF_ONLY', 'POLICY_ENFORCED', 'FULLY_VERIFIED']

/**
 * Receipts line by line (CapSeal, chain integrity verification). Each hash is computed from what the action says, not
 * from the copy of its fields beside it, and each parent is compared with the action that stands before it.
 */
export function createReceipts(crypto: Hashing) {
  const findings: ReceiptFinding[] = []
  const ids = new Set<string>()
  let index = 0
  let fields: ReceiptFields | null = null
  let before: { readonly id: JsonValue; readonly hash: string | null } | null = null

  function fault(code: ReceiptCode, field?: string): void {
    if (findings.length < MOST_FINDINGS)
      findings.push(field === undefined ? { code, index } : { code, index, field })
  }

  function hashOf(action: JsonObject): string | null {
    const stored = action.get('receipt_hash')
    for (const each of [13, 12] as const) {
      const receipt = receiptOfAction(action, each, crypto)
      if (!receipt.ok || receipt.receipt_hash !== stored) continue
      if (fields !== null && fields !== each) fault('fields_differ', 'receipt_hash')
      fields ??= each
      return receipt.receipt_hash
    }
    fault('receipt_mismatch', 'receipt_hash')
    return isHex64(stored) ? stored : null
  }

  function checkParent(action: JsonObject): void {
    const [id, hash] = [action.get('parent_action_id'), action.get('parent_receipt_hash')]
    if ((hash ?? null) !== (before?.hash ?? null)) fault('parent_mismatch', 'parent_receipt_hash')
    if ((id ?? null) !== (before?.id ?? null)) fault('parent_mismatch', 'parent_action_id')
  }

  function add(action: JsonObject): void {
    for (const field of faultyFields(action)) fault('invalid', field)
    const id = action.get('action_id') ?? null
    if (typeof id === 'string') {
      if (ids.has(id)) fault('action_id_repeated', 'action_id')
      ids.add(id)
    }
    const hash = hashOf(action)
    checkCopy(action)
    checkParent(action)
    before = { id, hash }
  }

  function checkCopy(action: JsonObject): void {
    const copy = action.get('canonical_fields')
    if (copy === undefined) return
    if (!isObject(copy)) {
      fault('canonical_fields_mismatch', 'canonical_fields')
      return
    }
    for (const name of receiptFields(13)) {
      if (name === 'policy_verdict' && fields === 12 && !copy.has(name)) continue
      if (textOf(copy.get(name)) !== textOf(action.get(name)))
        fault('canonical_fields_mismatch', `canonical_fields.${name}`)
    }
  }

  return {
    /** One line; blank ones are passed over. */
    line(input: Input): void {
      const text = typeof input === 'string' ? input : fromUtf8(input)
      if (text?.trim() === '') return
      const parsed = parse(input, { loneSurrogates: true, maxDepth: 1000 })
      if (parsed.ok && isObject(parsed.value)) add(parsed.value)
      else {
        fault('unreadable')
        before = { id: null, hash: null }
      }
      index++
    },
    end: (): ReceiptsResult => ({
      ok: findings.length === 0 && index > 0,
      findings,
      length: index,
      fields,
      head: before?.hash ?? null,
      not_checked: ['signature', 'truth_of_content', 'metadata', 'completeness'],
    }),
  }
}

const MOST_FINDINGS = 1000

const textOf = (value: JsonValue | undefined): string => {
  try {
    return dumps(value ?? null, { quote: quoteAscii })
  } catch {
    return ''
  }
}

/** CapSeal, AgentAction schema. */
function faultyFields(action: JsonObject): string[] {
  const text = (name: string): boolean => typeof action.get(name) === 'string'
  const word = (name: string, words: readonly string[]): boolean => {
    const value = action.get(name) ?? null
    return value === null || (typeof value === 'string' && words.includes(value))
  }
  const checks: readonly (readonly [string, boolean])[] = [
    ['action_id', text('action_id')],
    ['action_type', TYPES.includes(String(action.get('action_type')))],
    ['instruction_hash', isHashOrNone(action.get('instruction_hash'))],
    ['input_hash', isHashOrNone(action.get('input_hash'))],
    ['output_hash', isHashOrNone(action.get('output_hash'))],
    ['gate_decision', word('gate_decision', DECISIONS)],
    ['policy_verdict', word('policy_verdict', VERDICTS)],
    ['success', typeof action.get('success') === 'boolean'],
    ['timestamp', text('timestamp')],
  ]
  return checks.flatMap(([name, isGood]) => (isGood ? [] : [name]))
}

/** An empty text stands for a hash that is not known. */
const isHashOrNone = (value: JsonValue | undefined): boolean => value === '' || isHex64(value)
