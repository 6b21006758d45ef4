import { type ReceiptFields, receiptFields, receiptOf } from '../capseal/receipt.js'
import type { Hashing } from '../crypto/crypto.js'
import type { CapSealAction } from './to-receipt.js'

/** Lines of an `actions.jsonl`, each over the receipt of the one before it. */
export function createReceiptChain(fields: ReceiptFields, crypto: Hashing) {
  let parent: { readonly id: string; readonly hash: string } | null = null
  return {
    /** The line, without its end. */
    add(action: CapSealAction): string {
      const placed = {
        ...action,
        parent_action_id: parent?.id ?? null,
        parent_receipt_hash: parent?.hash ?? null,
      }
      const receipt = receiptOf(JSON.stringify(placed), fields, crypto)
      if (!receipt.ok) throw new TypeError(`an action has no receipt: ${receipt.code}`)
      parent = { id: action.action_id, hash: receipt.receipt_hash }
      const values: { readonly [name: string]: unknown } = placed
      const canonical_fields = Object.fromEntries(
        receiptFields(fields).map((name) => [name, values[name] ?? null]),
      )
      return JSON.stringify({ ...placed, receipt_hash: receipt.receipt_hash, canonical_fields })
    },
  }
}
