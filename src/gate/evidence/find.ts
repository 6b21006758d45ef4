import { isHex64 } from '../../core/bytes/hex.js'
import type { Evidence, EvidencePart, Found } from '../../ports/evidence.js'

/** The parts of an action's records, or the one part that a line names by its digest. */
export async function findEvidence(
  id: string,
  evidence: Pick<Evidence, 'byAction' | 'byDigest'>,
): Promise<Found<readonly EvidencePart[]>> {
  if (!isHex64(id)) return evidence.byAction(id)
  const found = await evidence.byDigest(id)
  return found.state === 'present' ? { state: 'present', value: [found.value] } : found
}
