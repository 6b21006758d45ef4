import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { SignedHead } from '../../core/journal/head.js'
import type { Line } from '../../core/journal/vocabulary.js'
import type { Clock } from '../../ports/clock.js'
import { nodeCrypto } from '../crypto-node.js'
import { derive, headEvent, NOTHING } from './events.js'
import type { ContextChange, Delivery, Endpoint, WebhookEvent } from './model.js'
import type { Store } from './store.js'

export type IntakeOptions = {
  readonly origin: string
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly clock: Pick<Clock, 'now'>
  /** The URL of a page of the admin plane; null where it has none. */
  readonly link: (page: string) => string | null
}

/** Lines that are no events are recorded once per this many; a crash reads at most these again. */
const RECORD_EVERY = 1_000
/** Standard Webhooks 1.0: `{type, timestamp, data}`, below 20 kB. */
export const MAX_BODY = 20_000

export const bodyOf = (event: WebhookEvent, link: (page: string) => string | null): string =>
  JSON.stringify({
    type: event.type,
    timestamp: event.at,
    data: { ...event.data, link: event.page === null ? null : link(event.page) },
  })

/** Computed from the event alone, so that a receiver recognizes a repetition, also one after a crash. */
export const deliveryId = (origin: string, seq: number, type: string, endpoint: string): string =>
  `msg_${hex(nodeCrypto.sha256(utf8(JSON.stringify([origin, seq, type, endpoint])))).slice(0, 32)}`

/** Journal lines and heads become deliveries, which are recorded before they are sent. */
export function createIntake(
  { origin, endpoints, clock, link }: IntakeOptions,
  store: Store,
  send: (delivery: Delivery) => void,
) {
  let unrecorded = 0

  const deliveriesOf = (events: readonly WebhookEvent[], seq: number): readonly Delivery[] =>
    events.flatMap((event) =>
      [...endpoints.values()]
        .filter(
          ({ name, events: wanted }) =>
            wanted.includes(event.type) && seq > (store.state.endpoints.get(name)?.from ?? seq),
        )
        .map(({ name }) => ({
          id: deliveryId(origin, seq, event.type, name),
          endpoint: name,
          seq,
          type: event.type,
          at: event.at,
          approval: event.approval,
          deadline: event.deadline,
          body: bodyOf(event, link),
          tries: 0,
          next: clock.now(),
          why: null,
        })),
    )
  function record(
    seq: number,
    change: ContextChange | null,
    deliveries: readonly Delivery[],
  ): void {
    unrecorded = 0
    store.write({ t: 'line', seq, change, deliveries })
    for (const delivery of deliveries) send(delivery)
  }

  return {
    /** A line of a type that is not known here (null) only moves the cursor. */
    line(seq: number, line: Line | null): void {
      if (seq <= store.state.cursor) return
      const { events, change } = line === null ? NOTHING : derive(line, store.state)
      const deliveries = deliveriesOf(events, seq)
      if (deliveries.length === 0 && change === null && ++unrecorded < RECORD_EVERY) {
        store.skip(seq)
      } else record(seq, change, deliveries)
    },
    /** A head to be published; every line that it covers MUST have been taken before. */
    head(head: SignedHead): void {
      const own = head.upto + 1
      const deliveries = deliveriesOf([headEvent(head)], own)
      if (deliveries.length > 0) record(Math.max(own, store.state.cursor), null, deliveries)
    },
  }
}
