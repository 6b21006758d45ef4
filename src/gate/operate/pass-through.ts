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
 * A request on a route the operator took out of the promises: informational, effect dispatched and
 * claimed, never confirmed. The target goes into the request digest only, salted so that it cannot be guessed.
 */
export async function recordPassThrough(
  passed: PassedThrough,
  parts: Parts,
): Promise<{ actionId: string; capsuleId: string }> {
  const { crypto, journal } = parts
  const world = parts.world()
  const actionId = parts.ids.actionId()
  const salt = parts.tenant.passThroughSalt(canonicalOf({ ...passed }))
  const empty = { alg: 'sha-256', digest: hex(crypto.sha256(utf8(''))), length: 0 } as const
  const capsule = await writeCapsule(
    {
      what: {
        kind: 'verdict',
        input: {
          identity: {
            action_id: actionId,
            action_type: 'fyi',
            operator: world.operator,
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
              request_octets: empty,
            },
            observation: { kind: 'claimed', ok: true },
            verdict_class: 'executed',
          },
          constraints: [],
          extensions: {
            'dev.capsulegate.policy_digest': world.policy.digest,
            'dev.capsulegate.mode': world.mode,
            'dev.capsulegate.decision_id': actionId,
          },
        },
      },
      evidence: null,
    },
    parts,
  )
  return { actionId, capsuleId: capsule.capsule_id }
}
