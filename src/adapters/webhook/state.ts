import type {
  ApprovalSeen,
  Context,
  ContextChange,
  Delivery,
  FailedDelivery,
  JudgesSeen,
} from './model.js'

/** What is kept of an endpoint besides its configuration. */
export type EndpointState = {
  readonly url: string
  /** It gets events of lines after this one: a new endpoint gets no history. */
  readonly from: number
  /** It answered 410: nothing is sent until an operator enables it or gives it another URL. */
  readonly disabled: string | null
}

/** One line of the outbox file. Applied in order they give the state; any prefix of them is a state. */
export type OutboxRecord =
  | {
      readonly t: 'state'
      readonly v: 1
      readonly cursor: number
      readonly judges: JudgesSeen | null
      readonly approvals: readonly (readonly [string, ApprovalSeen])[]
      readonly endpoints: readonly (readonly [string, EndpointState])[]
      readonly pending: readonly Delivery[]
      readonly dead: readonly FailedDelivery[]
    }
  /** A journal line's events: all of them or none. */
  | {
      readonly t: 'line'
      readonly seq: number
      readonly change: ContextChange | null
      readonly deliveries: readonly Delivery[]
    }
  | ({ readonly t: 'retry' } & Pick<FailedDelivery, 'id' | 'tries' | 'next' | 'why'>)
  | { readonly t: 'done'; readonly id: string }
  | ({ readonly t: 'dead' } & Pick<FailedDelivery, 'id' | 'why' | 'since'>)
  | ({ readonly t: 'replay' } & Pick<Delivery, 'id' | 'next'>)
  /** Null: no longer in gate.yaml. */
  | { readonly t: 'endpoint'; readonly name: string; readonly state: EndpointState | null }

export type OutboxState = {
  cursor: number
  judges: JudgesSeen | null
  readonly approvals: Map<string, ApprovalSeen>
  readonly endpoints: Map<string, EndpointState>
  /** In the order they came. */
  readonly pending: Map<string, Delivery>
  readonly dead: Map<string, FailedDelivery>
}

/** Beyond it the oldest failed deliveries are dropped, which is reported. */
export const MAX_DEAD = 20_000

export const emptyState = (cursor: number, context: Context): OutboxState => ({
  cursor,
  judges: context.judges,
  approvals: new Map(context.approvals),
  endpoints: new Map(),
  pending: new Map(),
  dead: new Map(),
})

export const dump = (state: OutboxState): OutboxRecord => ({
  t: 'state',
  v: 1,
  cursor: state.cursor,
  judges: state.judges,
  approvals: [...state.approvals],
  endpoints: [...state.endpoints],
  pending: [...state.pending.values()],
  dead: [...state.dead.values()],
})

export function apply(state: OutboxState, record: OutboxRecord): void {
  switch (record.t) {
    case 'state':
      state.cursor = record.cursor
      state.judges = record.judges
      refill(state.approvals, record.approvals)
      refill(state.endpoints, record.endpoints)
      refill(state.pending, record.pending.map(byId))
      refill(state.dead, record.dead.map(byId))
      return
    case 'line':
      state.cursor = record.seq
      change(state, record.change)
      for (const delivery of record.deliveries) state.pending.set(delivery.id, delivery)
      return
    case 'retry': {
      const { id, tries, next, why } = record
      const delivery = state.pending.get(id)
      if (delivery !== undefined) state.pending.set(id, { ...delivery, tries, next, why })
      return
    }
    case 'done':
      state.pending.delete(record.id)
      return
    case 'dead': {
      const { id, why, since } = record
      const delivery = state.pending.get(id)
      if (delivery === undefined) return
      state.pending.delete(id)
      state.dead.set(id, { ...delivery, why, since })
      const [oldest] = state.dead.keys()
      if (state.dead.size > MAX_DEAD && oldest !== undefined) state.dead.delete(oldest)
      return
    }
    case 'replay': {
      const failed = state.dead.get(record.id)
      if (failed === undefined) return
      const { since, ...delivery } = failed
      state.dead.delete(record.id)
      // An operator who replays it knows that it is late.
      const again = { tries: 0, next: record.next, deadline: null }
      state.pending.set(record.id, { ...delivery, ...again })
      return
    }
    case 'endpoint':
      if (record.state === null) state.endpoints.delete(record.name)
      else state.endpoints.set(record.name, record.state)
  }
}

const byId = <T extends { readonly id: string }>(item: T): [string, T] => [item.id, item]

function refill<T>(map: Map<string, T>, entries: readonly (readonly [string, T])[]): void {
  map.clear()
  for (const [key, value] of entries) map.set(key, value)
}

function change(state: OutboxState, given: ContextChange | null): void {
  if (given?.judges !== undefined) state.judges = given.judges
  for (const [id, seen] of Object.entries(given?.approvals ?? {})) {
    if (seen === null) state.approvals.delete(id)
    else state.approvals.set(id, seen)
  }
}
