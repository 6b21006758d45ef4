import type { Delivery } from './model.js'

/** Attempts at once, per endpoint and in all. */
export const PER_ENDPOINT = 4
const IN_ALL = 32

type EndpointQueue = {
  /** Ids that are due; those about an approval are sent before the others. */
  readonly approvals: Set<string>
  readonly others: Set<string>
  size: number
  busy: number
}

/**
 * What may be sent now. Deliveries about one approval to one endpoint form a lane, of which only the
 * first is sent, so that they arrive in order.
 */
export function createQueue() {
  const known = new Map<string, Delivery>()
  const lanes = new Map<string, Set<string>>()
  const endpoints = new Map<string, EndpointQueue>()
  const waiting = new Set<string>()
  const busy = new Set<string>()
  let due = Number.POSITIVE_INFINITY

  const laneOf = ({ endpoint, approval, id }: Delivery): string => `${endpoint} ${approval ?? id}`
  function queueOf(endpoint: string): EndpointQueue {
    const queue = endpoints.get(endpoint)
    if (queue !== undefined) return queue
    const created = { approvals: new Set<string>(), others: new Set<string>(), size: 0, busy: 0 }
    endpoints.set(endpoint, created)
    return created
  }
  function wait({ id, next }: Delivery): void {
    waiting.add(id)
    due = Math.min(due, next)
  }
  function release({ endpoint, id }: Delivery): void {
    if (busy.delete(id)) queueOf(endpoint).busy -= 1
  }

  /** Walks through all that wait, so only when one of them may be due. */
  function promote(now: number): void {
    if (now < due) return
    due = Number.POSITIVE_INFINITY
    for (const id of waiting) {
      const delivery = known.get(id)
      if (delivery !== undefined && delivery.next > now) {
        due = Math.min(due, delivery.next)
        continue
      }
      waiting.delete(id)
      if (delivery === undefined) continue
      const { approvals, others } = queueOf(delivery.endpoint)
      const ready = delivery.approval === null ? others : approvals
      ready.add(id)
    }
  }

  return {
    /** Deliveries to that endpoint, those under way included. */
    size: (endpoint: string): number => endpoints.get(endpoint)?.size ?? 0,
    add(delivery: Delivery): void {
      known.set(delivery.id, delivery)
      queueOf(delivery.endpoint).size += 1
      const lane = laneOf(delivery)
      const ids = lanes.get(lane) ?? new Set()
      lanes.set(lane, ids.add(delivery.id))
      if (ids.size === 1) wait(delivery)
    },
    /** Takes what may start now, as far as the limits allow. */
    start(now: number): readonly Delivery[] {
      promote(now)
      const started: Delivery[] = []
      for (const queue of endpoints.values()) {
        for (const ready of [queue.approvals, queue.others]) {
          for (const id of ready) {
            if (queue.busy >= PER_ENDPOINT || busy.size >= IN_ALL) break
            ready.delete(id)
            const delivery = known.get(id)
            if (delivery === undefined) continue
            busy.add(id)
            queue.busy += 1
            started.push(delivery)
          }
        }
      }
      return started
    },
    /** The attempt is over; the delivery stays first of its lane, with its new time. */
    again(delivery: Delivery): void {
      release(delivery)
      known.set(delivery.id, delivery)
      wait(delivery)
    },
    /** Under way or not. */
    remove(delivery: Delivery): void {
      const { id } = delivery
      release(delivery)
      const queue = queueOf(delivery.endpoint)
      queue.size -= 1
      for (const ids of [queue.approvals, queue.others, waiting]) ids.delete(id)
      known.delete(id)
      const lane = laneOf(delivery)
      const ids = lanes.get(lane)
      const [first] = ids ?? []
      ids?.delete(id)
      if (ids?.size === 0) lanes.delete(lane)
      const [next] = ids ?? []
      const following = known.get(next ?? '')
      if (first === id && following !== undefined) wait(following)
    },
    /** When the next one that waits is due; Infinity without any. */
    nextDue: (): number => due,
  }
}
