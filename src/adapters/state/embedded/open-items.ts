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
  readonly deadline?: { readonly ttl_seconds: number; readonly on_expiry: string }
}

export type OpenItems = ReturnType<typeof createOpenItems>

/** The predicate and nothing else: an open class opens, whatever supersedes the capsule closes it. */
export function createOpenItems() {
  const items = new Map<string, OpenItem>()
  return {
    fold(capsule: Capsule, seq: number): void {
      if (capsule.chain?.relation === 'supersedes') items.delete(capsule.chain.parent_capsule_id)
      const { verdict_class, expiry_policy } = capsule.disposition
      if (!(OPEN_CLASSES as readonly string[]).includes(verdict_class)) return
      const deadline = capsule['dev.capsulegate.deadline'] ?? expiry_policy
      const request = capsule.effect?.request_digest
      items.set(capsule.capsule_id, {
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
      })
    },
    /** In ledger order, which is the order they were opened in. */
    list: (): OpenItem[] => [...items.values()],
    load(dump: readonly OpenItem[]): void {
      items.clear()
      for (const item of dump) items.set(item.capsule_id, item)
    },
  }
}
