import type { Delivery } from './model.js'

/** So many attempts at once: to one endpoint, and in all. */
export const PER_ENDPOINT = 4
const IN_ALL = 32

/**
 * What may be sent now. Deliveries about one approval to one endpoint form a lane, of which only the
 * first moves; what is about an approval goes before the rest.
 */
export type Queue = {
  add(delivery: Delivery): void
  /** Takes what may start now, as far as the limits allow. */
  start(now: number): readonly Delivery[]
  /** The attempt is over; it stays first of its lane, with its new time. */
  again(delivery: Delivery): void
  /** It leaves, under way or not. */
  remove(delivery: Delivery): void
  /** Nothing that waits is due before; Infinity without any. */
  nextDue(): number
}

type Line = { readonly approvals: Set<string>; readonly others: Set<string>; busy: number }

export function createQueue(): Queue {
  const known = new Map<string, Delivery>()
  const lanes = new Map<string, Set<string>>()
  const lines = new Map<string, Line>()
  const waiting = new Set<string>()
  const busy = new Set<string>()
  let due = Number.POSITIVE_INFINITY

  const laneOf = ({ endpoint, approval, id }: Delivery): string => `${endpoint} ${approval ?? id}`
  function lineOf(endpoint: string): Line {
    const line = lines.get(endpoint) ?? { approvals: new Set(), others: new Set(), busy: 0 }
    lines.set(endpoint, line)
    return line
  }
  function wait({ id, next }: Delivery): void {
    waiting.add(id)
    due = Math.min(due, next)
  }
  function release({ endpoint, id }: Delivery): void {
    if (busy.delete(id)) lineOf(endpoint).busy -= 1
  }

  /** Looks through all that wait, only when one of them may be due. */
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
      const { approvals, others } = lineOf(delivery.endpoint)
      const ready = delivery.approval === null ? others : approvals
      ready.add(id)
    }
  }

  return {
    add(delivery) {
      known.set(delivery.id, delivery)
      const lane = laneOf(delivery)
      const ids = lanes.get(lane) ?? new Set()
      lanes.set(lane, ids.add(delivery.id))
      if (ids.size === 1) wait(delivery)
    },
    start(now) {
      promote(now)
      const started: Delivery[] = []
      for (const line of lines.values()) {
        for (const ready of [line.approvals, line.others]) {
          for (const id of ready) {
            if (line.busy >= PER_ENDPOINT || busy.size >= IN_ALL) break
            ready.delete(id)
            const delivery = known.get(id)
            if (delivery === undefined) continue
            busy.add(id)
            line.busy += 1
            started.push(delivery)
          }
        }
      }
      return started
    },
    again(delivery) {
      release(delivery)
      known.set(delivery.id, delivery)
      wait(delivery)
    },
    remove(delivery) {
      const { id } = delivery
      release(delivery)
      const { approvals, others } = lineOf(delivery.endpoint)
      for (const ids of [approvals, others, waiting]) ids.delete(id)
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
    nextDue: () => due,
  }
}
