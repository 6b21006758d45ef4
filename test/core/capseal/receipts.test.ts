import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { payloadHash, receiptOf, verifyReceipts } from '../../../src/capseal.js'

const HASH = 'ab'.repeat(32)
const action = (index: number, parent: { id: string; hash: string } | null) => ({
  action_id: `act_${index}`,
  action_type: 'tool_call',
  instruction_hash: '',
  input_hash: HASH,
  output_hash: HASH,
  parent_action_id: parent?.id ?? null,
  parent_receipt_hash: parent?.hash ?? null,
  gate_score: null,
  gate_decision: 'pass',
  policy_verdict: 'POLICY_ENFORCED',
  success: true,
  duration_ms: 0,
  timestamp: '2026-11-19T12:00:00Z',
})
function chain(length: number, fields: 12 | 13) {
  const lines: Record<string, unknown>[] = []
  let parent: { id: string; hash: string } | null = null
  for (let n = 0; n < length; n++) {
    const made = action(n, parent)
    const receipt = receiptOf(JSON.stringify(made), fields)
    if (!receipt.ok) throw new Error(receipt.code)
    lines.push({
      ...made,
      receipt_hash: receipt.receipt_hash,
      canonical_fields: JSON.parse(receipt.canonical),
    })
    parent = { id: made.action_id, hash: receipt.receipt_hash }
  }
  return lines
}
const text = (lines: readonly object[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('')
const found = (lines: readonly object[]): string[] =>
  verifyReceipts(text(lines)).findings.map(({ code, index, field }) => `${code} ${index} ${field}`)

describe('a receipt', () => {
  it('is SHA-256 of the sorted fields, of twelve or of thirteen', () => {
    const json = JSON.stringify(action(0, null))
    const twelve = receiptOf(json, 12)
    const thirteen = receiptOf(json, 13)
    if (!twelve.ok || !thirteen.ok) throw new Error('no receipt')
    expect(twelve.canonical).not.toContain('policy_verdict')
    expect(thirteen.canonical).toContain('"policy_verdict":"POLICY_ENFORCED"')
    expect(twelve.receipt_hash).toBe(createHash('sha256').update(twelve.canonical).digest('hex'))
    expect(twelve.receipt_hash).not.toBe(thirteen.receipt_hash)
  })

  it('is written in ASCII, where halves of pairs pass, and numbers keep their form', () => {
    const json = JSON.stringify({ ...action(0, null), gate_score: 1 }).replace('act_0', 'é\\ud800')
    const receipt = receiptOf(json.replace('"gate_score":1', '"gate_score":1.0'), 12)
    expect(receipt).toMatchObject({
      ok: true,
      canonical: expect.stringContaining('"gate_score":1.0'),
    })
    expect(receipt).toMatchObject({ canonical: expect.stringContaining('"\\u00e9\\ud800"') })
    expect(receiptOf('[]', 12)).toEqual({ ok: false, code: 'not_an_object' })
    expect(receiptOf('{}', 13)).toEqual({ ok: false, code: 'missing_action_id' })
  })

  it('has hashes of payloads: of a text its UTF-8, of all else the canonical text', () => {
    const sha = (of: string): string => createHash('sha256').update(of).digest('hex')
    expect(payloadHash('"é"')).toEqual({ ok: true, sha256: sha('é') })
    expect(payloadHash('{"b": 1.0, "a": "é"}')).toEqual({
      ok: true,
      sha256: sha('{"a":"\\u00e9","b":1.0}'),
    })
    expect(payloadHash('"\\ud800"')).toEqual({ ok: false, code: 'lone_surrogate' })
  })
})

describe.each([12, 13] as const)('a chain of receipts over %i fields', (fields) => {
  const lines = chain(4, fields)

  it('verifies, and says over which fields it is', () => {
    expect(verifyReceipts(text(lines))).toMatchObject({ ok: true, length: 4, fields, findings: [] })
  })

  // What CapSeal's own verifier answered with VERIFIED (notes §2.4).
  it.each(['gate_decision', 'output_hash', 'success', 'timestamp', 'duration_ms', 'input_hash'])(
    'is red where %s was rewritten, with or without its copy',
    (field) => {
      const to = {
        gate_decision: 'skip',
        output_hash: 'cd'.repeat(32),
        input_hash: 'cd'.repeat(32),
        success: false,
        timestamp: 'x',
        duration_ms: 9,
      }[field]
      const rewritten = lines.map((line, n) => (n === 2 ? { ...line, [field]: to } : line))
      expect(found(rewritten)).toContain('receipt_mismatch 2 receipt_hash')
      const both = lines.map((line, n) =>
        n === 2
          ? {
              ...line,
              [field]: to,
              canonical_fields: { ...(line.canonical_fields as object), [field]: to },
            }
          : line,
      )
      expect(found(both)).toContain('receipt_mismatch 2 receipt_hash')
    },
  )

  it('is red where a parent was rewritten, one is missing, or stands elsewhere', () => {
    const parent = lines.map((line, n) => (n === 1 ? { ...line, parent_receipt_hash: HASH } : line))
    expect(found(parent)).toEqual(
      expect.arrayContaining([
        'receipt_mismatch 1 receipt_hash',
        'parent_mismatch 1 parent_receipt_hash',
      ]),
    )
    expect(found([lines[0], lines[2], lines[3]] as object[])[0]).toContain('parent_mismatch 1')
    expect(found(lines.slice(1))[0]).toContain('parent_mismatch 0')
    expect(found([lines[0], lines[0]] as object[])).toContain('action_id_repeated 1 action_id')
  })

  it('is red where only the copy of the fields was rewritten', () => {
    const copy = lines.map((line, n) =>
      n === 0
        ? { ...line, canonical_fields: { ...(line.canonical_fields as object), success: false } }
        : line,
    )
    expect(found(copy)).toEqual(['canonical_fields_mismatch 0 canonical_fields.success'])
  })

  it('never throws, and finds nothing whole in nothing', () => {
    expect(verifyReceipts('')).toMatchObject({ ok: false, length: 0 })
    expect(verifyReceipts('null\n{}\n{"a":')).toMatchObject({ ok: false, length: 3 })
  })
})
