import type { SignedHead } from '../../core/journal/head.js'
import { type JournalLine, type Line, readLine } from '../../core/journal/vocabulary.js'
import { type CourierOptions, createCourier } from './courier.js'
import { readOutbox } from './file.js'
import { createIntake, type IntakeOptions } from './intake.js'
import type { Context, Delivery, Endpoint } from './model.js'
import { type Order, placedOrders, takeOrder } from './orders.js'
import { emptyState } from './state.js'
import { openStore, type Store } from './store.js'

export type OutboxOptions = Omit<CourierOptions & IntakeOptions, 'endpoints'> & {
  readonly folder: string
  readonly endpoints: readonly Endpoint[]
  /** Where the journal stands and what it has said: the start of an outbox that is new. */
  readonly present: () => Promise<{ readonly cursor: number; readonly context: Context }>
  /** Journal lines with seq ≥ from, up to the head of this moment. */
  readonly lines: (from: number) => AsyncIterable<JournalLine>
  readonly subscribe: (listener: (line: Line) => void) => () => void
}

export type EndpointStats = {
  readonly name: string
  /** Since when. */
  readonly disabled: string | null
  readonly pending: number
  readonly dead: number
}
export type Outbox = {
  stats(): readonly EndpointStats[]
  /** The newest head, when others are to be told of it. */
  head(head: SignedHead): void
  close(): Promise<void>
}

const ORDERS_MS = 5_000

/**
 * Journal lines out to endpoints, at least once. The journal is the truth: the outbox remembers up to
 * which line it has read, what is still to be sent, and reads on from there after any crash.
 */
export async function startOutbox(options: OutboxOptions): Promise<Outbox> {
  const { folder, timer, tell } = options
  const endpoints = new Map(options.endpoints.map((endpoint) => [endpoint.name, endpoint]))
  const now = await options.present()
  const store = openStore(folder, readOutbox(folder) ?? emptyState(now.cursor, now.context), tell)
  const courier = createCourier({ ...options, endpoints }, store)
  const intake = createIntake({ ...options, endpoints }, store, courier.accept)
  const { state } = store

  let incoming: Line[] = []
  let live = false
  function drain(): void {
    const lines = incoming
    incoming = []
    for (const line of lines) intake.line(line.seq, line)
    courier.pump()
  }
  const unsubscribe = options.subscribe((line) => {
    incoming.push(line)
    // Off the path of whoever wrote the line: it is durable, so nothing is lost by waiting.
    if (live && incoming.length === 1) setImmediate(drain)
  })

  meet(endpoints, now.cursor, store)
  for (const delivery of [...state.pending.values()]) courier.accept(delivery)
  try {
    for await (const raw of options.lines(state.cursor + 1)) intake.line(raw.seq, readLine(raw))
  } catch (error) {
    // Archived meanwhile: what happened there is told by nobody, and that is said.
    tell({ kind: 'unread', why: `from line ${state.cursor + 1}: ${String(error)}` })
    const { cursor, context } = now
    const gone = [...state.approvals.keys()].map((id) => [id, null] as const)
    const approvals = Object.fromEntries([...gone, ...context.approvals])
    const change = { approvals, judges: context.judges }
    store.write({ t: 'line', seq: cursor, change, deliveries: [] })
  }
  live = true
  drain()

  function replay(id: string): string | null {
    const letter = state.dead.get(id)
    if (letter === undefined) return 'is no dead letter'
    const { endpoint } = letter
    if (!endpoints.has(endpoint)) return `is for ${endpoint}, which is not in gate.yaml`
    if (state.endpoints.get(endpoint)?.disabled != null) {
      return `is for ${endpoint}, which is disabled`
    }
    store.write({ t: 'replay', id, next: options.clock.now() })
    courier.accept(state.pending.get(id) as Delivery)
    return null
  }
  function carryOut(order: Order): readonly string[] {
    if (order.kind === 'replay') {
      return order.ids.flatMap((id) => {
        const refused = replay(id)
        return refused === null ? [] : [`${id} ${refused}`]
      })
    }
    const known = state.endpoints.get(order.endpoint)
    if (known === undefined) return [`there is no endpoint ${order.endpoint}`]
    store.write({ t: 'endpoint', name: order.endpoint, state: { ...known, disabled: null } })
    tell({ kind: 'enabled', endpoint: order.endpoint })
    return []
  }
  let lookAgain: () => void = () => undefined
  function lookForOrders(): void {
    try {
      for (const placed of placedOrders(folder)) {
        const { order, file } = placed
        const refused = order === null ? [`${file} is no order`] : carryOut(order)
        for (const why of refused) tell({ kind: 'order_refused', why })
        takeOrder(folder, placed)
      }
    } catch (error) {
      tell({ kind: 'unread', why: `orders: ${String(error)}` })
    }
    courier.pump()
    lookAgain = timer.after(ORDERS_MS, lookForOrders)
  }
  lookForOrders()

  return {
    stats: () =>
      [...state.endpoints].map(([name, { disabled }]) => ({
        name,
        disabled,
        pending: courier.waiting(name),
        dead: [...state.dead.values()].filter(({ endpoint }) => endpoint === name).length,
      })),
    head(head) {
      drain()
      intake.head(head)
      courier.pump()
    },
    async close() {
      unsubscribe()
      lookAgain()
      await courier.stop()
      for (const line of incoming) intake.line(line.seq, line)
      store.close()
    },
  }
}

/** New ones begin here; those that are gone from gate.yaml are forgotten; another URL is another chance. */
function meet(
  endpoints: ReadonlyMap<string, Endpoint>,
  head: number,
  { state, write }: Store,
): void {
  for (const name of [...state.endpoints.keys()]) {
    if (!endpoints.has(name)) write({ t: 'endpoint', name, state: null })
  }
  for (const { name, url } of endpoints.values()) {
    const known = state.endpoints.get(name)
    if (known?.url === url) continue
    const from = known?.from ?? head
    write({ t: 'endpoint', name, state: { url, from, disabled: null } })
  }
}
