import type { Deadline } from '../../../core/approval/deadline.js'
import type { Capsule } from '../../../core/capsule/model.js'
import { OPEN_CLASSES, type VerdictClass } from '../../../core/capsule/registries.js'

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

/** Where blocked items stand that are not in memory any more: between these lines, closed ones among them. */
export type OlderBlocked = { readonly first: number; readonly last: number }

/** Anyone can have calls blocked: so many of them are kept in memory, the newest. */
export const KEEP_BLOCKED = 10_000

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

/** The predicate and nothing else: an open class opens, whatever supersedes the capsule closes it. */
export function createOpenItems() {
  const awaiting = new Map<string, OpenItem>()
  const blocked = new Map<string, OpenItem>()
  let older: OlderBlocked | null = null

  function put(item: OpenItem): void {
    if (item.verdict_class !== 'blocked') {
      awaiting.set(item.capsule_id, item)
      return
    }
    blocked.set(item.capsule_id, item)
    if (blocked.size <= KEEP_BLOCKED) return
    for (const [id, { seq }] of blocked) {
      blocked.delete(id)
      older = { first: older?.first ?? seq, last: seq }
      return
    }
  }

  return {
    fold(capsule: Capsule, seq: number): void {
      if (capsule.chain?.relation === 'supersedes') {
        const { parent_capsule_id: parent } = capsule.chain
        if (!awaiting.delete(parent)) blocked.delete(parent)
      }
      const item = itemOf(capsule, seq)
      if (item !== null) put(item)
    },
    get: (capsuleId: string): OpenItem | null =>
      awaiting.get(capsuleId) ?? blocked.get(capsuleId) ?? null,
    awaiting: (): OpenItem[] => [...awaiting.values()],
    blocked: (): OpenItem[] => [...blocked.values()],
    older: (): OlderBlocked | null => older,
    /** In ledger order. */
    all: (): OpenItem[] =>
      [...awaiting.values(), ...blocked.values()].sort((a, b) => a.seq - b.seq),
    load(items: readonly OpenItem[], before: OlderBlocked | null): void {
      awaiting.clear()
      blocked.clear()
      older = before
      for (const item of items) put(item)
    },
  }
}
