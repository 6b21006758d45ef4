import type { Plain } from '../../core/json/value.js'
import type { Parts } from '../context.js'
import { saltedPart } from '../govern/dispatch.js'

/**
 * Records of who used the gate's controls are sealed under the gate's own name, so that erasing an operator's
 * day does not take with it who erased it. They go when this name's day is erased.
 */
export const GATE_RECORDS = 'dev.capsulegate'

type Acting = Pick<Parts, 'journal' | 'evidence' | 'ids' | 'crypto' | 'tenant'>

/** Who did it: the name in evidence, durable before this resolves; a pseudonym for the line (promise 8). */
export async function recordActor(
  name: string,
  did: { readonly [name: string]: Plain },
  parts: Acting,
): Promise<{ readonly actor: string; readonly evidence_digest: string }> {
  const part = saltedPart('actor', 'name', { ...did, name }, parts)
  const at = parts.journal.timestamp()
  const record = {
    actionId: parts.ids.actionId(),
    operator: GATE_RECORDS,
    subject: null,
    at,
    parts: [part],
  }
  // Urgent: a halt must not fail because the disk is nearly full.
  await parts.evidence.put(record, { urgent: true })
  return { actor: parts.tenant.voter(name), evidence_digest: part.digest }
}
