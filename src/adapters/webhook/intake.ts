import type { Line } from '../../core/journal/vocabulary.js'
import type { Clock } from '../../ports.js'
import { bodyOf, deliveryId } from './body.js'
import { derive, NOTHING } from './derive.js'
import type { Delivery, Endpoint, WebhookEvent } from './model.js'
import type { Store } from './store.js'

export type IntakeOptions = {
  readonly origin: string
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly clock: Pick<Clock, 'now'>
  /** The URL of a page of the admin plane; null where nobody can reach it. */
  readonly link: (page: string) => string | null
}

/** Lines that are no events are noted in lots; a crash reads so many again. */
const NOTE_EVERY = 1_000

/**
 * Journal lines become deliveries: recorded first, one record per line, then handed on. A line of a type
 * that is not known here (null) only moves the cursor.
 */
export function createIntake(
  { origin, endpoints, clock, link }: IntakeOptions,
  store: Store,
  handOn: (delivery: Delivery) => void,
): (seq: number, line: Line | null) => void {
  let unnoted = 0

  const wants = ({ name, events }: Endpoint, { type }: WebhookEvent, seq: number): boolean =>
    events.includes(type) && seq > (store.state.endpoints.get(name)?.from ?? seq)

  const deliveryOf = (event: WebhookEvent, seq: number, endpoint: string): Delivery => ({
    id: deliveryId(origin, seq, event.type, endpoint),
    endpoint,
    seq,
    type: event.type,
    at: event.at,
    approval: event.approval,
    deadline: event.deadline,
    body: bodyOf(event, link),
    tries: 0,
    next: clock.now(),
    why: null,
  })

  return (seq, line) => {
    if (seq <= store.state.cursor) return
    const { events, change } = line === null ? NOTHING : derive(line, store.state)
    const deliveries = events.flatMap((event) =>
      [...endpoints.values()]
        .filter((endpoint) => wants(endpoint, event, seq))
        .map(({ name }) => deliveryOf(event, seq, name)),
    )
    if (deliveries.length === 0 && change === null) {
      unnoted += 1
      store.passed(seq)
      if (unnoted < NOTE_EVERY) return
    }
    unnoted = 0
    store.write({ t: 'line', seq, change, deliveries })
    for (const delivery of deliveries) handOn(delivery)
  }
}
