import { utf8 } from '../../core/bytes/text.js'
import { olderDigests } from '../../core/call/digest.js'
import type { Observation } from '../../core/capsule/observation.js'
import { parse } from '../../core/json/parse.js'
import { toPlain } from '../../core/json/value.js'
import type { HeldResponse } from '../../ports/dispatch.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { KeyState } from '../../ports/state.js'
import type { Constrained, Known, Parts } from '../context.js'
import { withoutPending } from '../govern/constrain.js'
import { type Refused, type Replayed, refuse } from '../govern/exit.js'

/**
 * The same key and the same request, already completed: the recorded response again, an event and no
 * capsule (DESIGN §3), if policy lets it. Any other holder of the key is refused at `reserve`, where
 * the claim is atomic.
 */
export async function replayOf(
  known: Constrained,
  keyHash: string,
  parts: Parts,
): Promise<Replayed | Refused | null> {
  const held = await parts.state.keyState(known.world.operator, known.agent.agent, keyHash)
  if (held === null || held.state !== 'completed') return null
  if (!isSameRequest(held, known, parts)) {
    return refuse(withoutPending(known), 'idempotency_mismatch')
  }
  const found = await parts.evidence.byAction(held.actionId)
  const response = found.state === 'present' ? storedResponse(found.value) : null
  if (response === null) {
    return refuse(
      withoutPending(known),
      'idempotency_in_flight',
      { observed: 'response_not_kept' },
      { held_by: held.actionId },
    )
  }
  const { actionId, capsuleId } = held
  return { exit: 'replayed', known, original: { actionId, capsuleId }, response }
}

/** A key claimed before an upgrade holds the older digest of its request. */
export const isSameRequest = (
  { requestDigest }: KeyState,
  known: Constrained,
  parts: Parts,
): boolean =>
  requestDigest === known.requestDigest ||
  olderDigests(known, parts).some((older) => older.requestDigest === requestDigest)

/** The response among an action's evidence, where it was kept. */
export function storedResponse(evidence: readonly EvidencePart[]): HeldResponse | null {
  const head = evidence.find((part) => part.kind === 'response' && part.name === 'head')
  const body = evidence.find((part) => part.kind === 'response' && part.name === 'body')
  if (head?.bytes === undefined || body?.bytes === undefined) return null
  const parsed = parse(head.bytes)
  if (!parsed.ok) return null
  const { status, headers } = toPlain(parsed.value) as Pick<HeldResponse, 'status' | 'headers'>
  return { status, headers, body: body.bytes }
}

/** Kept where the manifest captures, where an Idempotency-Key may ask for it again, or a grant ran it unasked. */
export function responsePart(
  known: Known,
  observation: Observation,
  held: HeldResponse | null,
  sha256: (bytes: Uint8Array) => string,
): readonly EvidencePart[] {
  if (observation.kind !== 'complete' || held === null) return []
  const collected = known.grant != null && known.rule?.hitl?.on_approval === 'dispatch'
  if (known.rule?.capture !== 'full' && known.keyHash == null && !collected) return []
  const head = utf8(JSON.stringify({ status: held.status, headers: held.headers }))
  return [
    { digest: sha256(head), kind: 'response', name: 'head', bytes: head },
    { digest: sha256(held.body), kind: 'response', name: 'body', bytes: held.body },
  ]
}
