import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import { canonicalOf, jsonDigest } from '../../core/json/build.js'
import type { Parts } from '../context.js'
import { writeCapsule } from '../write-capsule.js'

export type PassedThrough = {
  readonly method: string
  readonly target: string
  readonly status: number
  readonly upstream: string
}

/**
 * A request on a route that the operator exempted: informational, its effect dispatched and claimed, never
 * confirmed. The target is recorded only in the request digest, salted so that it cannot be guessed.
 */
export async function recordPassThrough(
  passed: PassedThrough,
  parts: Parts,
): Promise<{ actionId: string; capsuleId: string }> {
  const { crypto, journal } = parts
  const { operator, policy, mode } = parts.world()
  const actionId = parts.ids.actionId()
  const salt = parts.tenant.passThroughSalt(canonicalOf({ ...passed }))
  const capsule = await writeCapsule(
    {
      identity: {
        action_id: actionId,
        action_type: 'fyi',
        operator,
        developer: 'anonymous',
        timestamp: journal.timestamp(),
      },
      verdict: {
        kind: 'ran',
        by: { kind: 'policy' },
        effect: {
          type: 'dev.capsulegate.pass_through',
          irreversibility_class: 'two_way',
          request_digest: jsonDigest({ ...passed, salt }, crypto),
          request_octets: { alg: 'sha-256', digest: hex(crypto.sha256(utf8(''))), length: 0 },
        },
        observation: { kind: 'claimed', ok: true },
        verdict_class: 'executed',
      },
      constraints: [],
      extensions: {
        'dev.capsulegate.policy_digest': policy.digest,
        'dev.capsulegate.mode': mode,
        'dev.capsulegate.decision_id': actionId,
      },
    },
    { evidence: null },
    parts,
  )
  return { actionId, capsuleId: capsule.capsule_id }
}
