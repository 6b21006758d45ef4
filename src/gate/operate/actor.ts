import type { Plain } from '../../core/json/value.js'
import type { Parts } from '../context.js'
import { saltedPart } from '../evidence/parts.js'

/**
 * Records of who used the gate's controls are encrypted under the gate's own name, so that erasing an
 * operator's day does not erase who erased it. They are erased with this name's day.
 */
const GATE_RECORDS = 'dev.capsulegate'

export type Acting = Pick<Parts, 'journal' | 'evidence' | 'signer' | 'ids' | 'crypto' | 'tenant'>

/** Keeps the name in evidence, durable before this resolves; returns a pseudonym for the line (promise 8). */
export async function recordActor(
  name: string,
  did: { readonly [name: string]: Plain },
  parts: Acting,
): Promise<{ readonly actor: string; readonly evidence_digest: string }> {
  const part = saltedPart('actor', 'name', { ...did, name }, parts)
  const at = parts.journal.timestamp()
  const actionId = parts.ids.actionId()
  // Urgent: a halt must not fail because the disk is nearly full.
  await parts.evidence.put(
    { actionId, operator: GATE_RECORDS, subject: null, at, parts: [part] },
    { urgent: true },
  )
  return { actor: parts.tenant.voter(name), evidence_digest: part.digest }
}
