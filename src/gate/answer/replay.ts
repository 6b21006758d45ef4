import { utf8 } from '../../core/bytes/text.js'
import { olderDigests } from '../../core/call/digest.js'
import type { Observation } from '../../core/capsule/observation.js'
import { parse } from '../../core/json/parse.js'
import { toPlain } from '../../core/json/value.js'
import type { HeldResponse } from '../../ports/dispatch.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { KeyState } from '../../ports/state.js'
import type { Constrained, Parts, Reserved } from '../context.js'
import { bytesPart } from '../evidence/parts.js'
import { type Refused, type Replayed, refuse } from '../govern/exit.js'

/**
 * The recorded response to the same request under the same key, where that is completed: an event and no
 * capsule (DESIGN §3). Any other holder of the key is refused at `reserve`, where the reservation is atomic.
 */
export async function replayOf(
  known: Constrained,
  keyHash: string,
  parts: Parts,
): Promise<Replayed | Refused | null> {
  const held = await parts.state.keyState(known.world.operator, known.agent.agent, keyHash)
  if (held === null || held.state !== 'completed') return null
  if (!isSameRequest(held, known, parts)) return refuse(known, 'idempotency_mismatch')
  const { actionId, capsuleId } = held
  const response = await keptResponse(actionId, parts)
  if (response === null) {
    const reason = { observed: 'response_not_kept' }
    return refuse(known, 'idempotency_in_flight', reason, { held_by: actionId })
  }
  return { exit: 'replayed', known, original: { actionId, capsuleId }, response }
}

/** A key reserved before an upgrade holds an older digest of its request. */
export const isSameRequest = (
  { requestDigest }: KeyState,
  known: Constrained,
  parts: Parts,
): boolean =>
  requestDigest === known.requestDigest ||
  olderDigests(known, parts).some((older) => older.requestDigest === requestDigest)

/** The response to an action, where it was kept. */
export async function keptResponse(
  actionId: string,
  { evidence }: Pick<Parts, 'evidence'>,
): Promise<HeldResponse | null> {
  const found = await evidence.byAction(actionId)
  return found.state === 'present' ? responseIn(found.value) : null
}

export function responseIn(evidence: readonly EvidencePart[]): HeldResponse | null {
  const bytes = (of: 'head' | 'body'): Uint8Array | undefined =>
    evidence.find(({ kind, name }) => kind === 'response' && name === of)?.bytes
  const [head, body] = [bytes('head'), bytes('body')]
  const parsed = head === undefined ? null : parse(head)
  if (parsed?.ok !== true || body === undefined) return null
  const { status, headers } = toPlain(parsed.value) as Pick<HeldResponse, 'status' | 'headers'>
  return { status, headers, body }
}

/** Kept where the manifest captures, for an Idempotency-Key, and where the gate itself sends an approved call. */
export function responseParts(
  { rule, keyHash, grant }: Pick<Reserved, 'rule' | 'keyHash' | 'grant'>,
  observation: Observation,
  held: HeldResponse | null,
  parts: Pick<Parts, 'crypto'>,
): readonly EvidencePart[] {
  if (observation.kind !== 'complete' || held === null) return []
  const collected = grant !== null && rule.hitl?.on_approval === 'dispatch'
  if (rule.capture !== 'full' && keyHash === null && !collected) return []
  const { status, headers, body } = held
  const head = utf8(JSON.stringify({ status, headers }))
  return [bytesPart('response', 'head', head, parts), bytesPart('response', 'body', body, parts)]
}
