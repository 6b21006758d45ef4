/** Entry `capsule-gate/capseal`: receipts of CapSeal 0.4.0, made and verified without Node. Nothing throws on any input. */
import {
  payloadHash as hashPayload,
  type Receipt,
  type ReceiptFields,
  receiptOf as receipt,
} from './core/capseal/receipt.js'
import { createReceipts, type ReceiptsResult } from './core/capseal/verify.js'
import type { Input, No } from './core/cps/canonical.js'
import type { Hashing } from './core/crypto/crypto.js'
import { nobleCrypto } from './core/crypto/noble.js'

export type { Receipt, ReceiptFields } from './core/capseal/receipt.js'
export type { ReceiptFinding, ReceiptsResult } from './core/capseal/verify.js'
export type { Input, No } from './core/cps/canonical.js'

type WithCrypto = { readonly crypto?: Hashing }
const engine = ({ crypto = nobleCrypto }: WithCrypto = {}): Hashing => crypto

/** The receipt of an action: over the 12 fields of CapSeal's text, or the 13 of its code. */
export const receiptOf = (json: Input, fields: ReceiptFields, options?: WithCrypto): Receipt | No =>
  receipt(json, fields, engine(options))

/** `input_hash` and `output_hash` of a value. */
export const payloadHash = (
  json: Input,
  options?: WithCrypto,
): { readonly ok: true; readonly sha256: string } | No => hashPayload(json, engine(options))

/** The lines of an `actions.jsonl`, as one text or one by one. */
export function verifyReceipts(
  lines: string | Iterable<Input>,
  options?: WithCrypto,
): ReceiptsResult {
  const receipts = createReceipts(engine(options))
  const each = typeof lines === 'string' ? lines.split('\n') : lines
  for (const line of each) receipts.line(line)
  return receipts.end()
}
