import type { Deadline } from '../approval/deadline.js'
import type { Capsule } from './model.js'
import { OPEN_CLASSES, type VerdictClass } from './registries.js'

/** One open item of seed §5.4.4, with what a list of them shows. */
export type OpenItem = {
  readonly capsule_id: string
  readonly action_id: string
  readonly decision_id: string
  readonly operator: string
  readonly developer: string
  readonly verdict_class: VerdictClass
  readonly timestamp: string
  readonly seq: number
  readonly request_digest?: string
  readonly deadline?: Deadline
}

/** What is open by the capsule's own class; null for any other. */
export function itemOf(capsule: Capsule, seq: number): OpenItem | null {
  const { verdict_class, expiry_policy } = capsule.disposition
  if (!(OPEN_CLASSES as readonly string[]).includes(verdict_class)) return null
  const deadline = capsule['dev.capsulegate.deadline'] ?? expiry_policy
  const request = capsule.effect?.request_digest
  return {
    capsule_id: capsule.capsule_id,
    action_id: capsule.action_id,
    decision_id: capsule['dev.capsulegate.decision_id'] ?? capsule.action_id,
    operator: capsule.operator,
    developer: capsule.developer,
    verdict_class,
    timestamp: capsule.timestamp,
    seq,
    ...(request === undefined ? {} : { request_digest: request }),
    ...(deadline === undefined ? {} : { deadline }),
  }
}
