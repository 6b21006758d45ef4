import type { SignedHead } from '../../core/journal/head.js'
import type { Line } from '../../core/journal/vocabulary.js'
import type { Clock } from '../../ports/clock.js'
import { bodyOf, deliveryId } from './body.js'
import { derive, headEvent, NOTHING } from './derive.js'
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

/** Journal lines and heads become deliveries: recorded first, one record for each, then handed on. */
export type Intake = {
  /** A line of a type that is not known here (null) only moves the cursor. */
  line(seq: number, line: Line | null): void
  /** A head that others are to keep; every line that it covers MUST have been taken before. */
  head(head: SignedHead): void
}

export function createIntake(
  { origin, endpoints, clock, link }: IntakeOptions,
  store: Store,
  handOn: (delivery: Delivery) => void,
): Intake {
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

  const deliveriesOf = (events: readonly WebhookEvent[], seq: number): readonly Delivery[] =>
    events.flatMap((event) =>
      [...endpoints.values()]
        .filter((endpoint) => wants(endpoint, event, seq))
        .map(({ name }) => deliveryOf(event, seq, name)),
    )

  return {
    line(seq, line) {
      if (seq <= store.state.cursor) return
      const { events, change } = line === null ? NOTHING : derive(line, store.state)
      const deliveries = deliveriesOf(events, seq)
      if (deliveries.length === 0 && change === null) {
        unnoted += 1
        store.passed(seq)
        if (unnoted < NOTE_EVERY) return
      }
      unnoted = 0
      store.write({ t: 'line', seq, change, deliveries })
      for (const delivery of deliveries) handOn(delivery)
    },
    head(head) {
      const own = head.upto + 1
      const deliveries = deliveriesOf([headEvent(head)], own)
      if (deliveries.length === 0) return
      const seq = Math.max(own, store.state.cursor)
      store.write({ t: 'line', seq, change: null, deliveries })
      for (const delivery of deliveries) handOn(delivery)
    },
  }
}
