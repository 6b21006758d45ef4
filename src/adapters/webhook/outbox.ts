import type { SignedHead } from '../../core/journal/head.js'
import { type JournalLine, type Line, readLine } from '../../core/journal/vocabulary.js'
import { createIntake, type IntakeOptions } from './intake.js'
import type { Context, Delivery, Endpoint } from './model.js'
import { type OperatorRequest, readRequest, removeRequest, requestFiles } from './requests.js'
import { createSender, type SenderOptions } from './sender.js'
import { emptyState } from './state.js'
import { openStore, readOutbox, type Store } from './store.js'

export type OutboxOptions = Omit<SenderOptions & IntakeOptions, 'endpoints'> & {
  readonly folder: string
  readonly endpoints: readonly Endpoint[]
  /** The journal's newest line and what its lines established: where a new outbox starts. */
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
export type Outbox = Awaited<ReturnType<typeof startOutbox>>

const REQUESTS_MS = 5_000

/**
 * Journal lines out to endpoints, at least once. The journal is the source: the outbox records up to
 * which line it has read and what is still to be sent, and reads on from there after any crash.
 */
export async function startOutbox(options: OutboxOptions) {
  const { folder, timer, report } = options
  const endpoints = new Map(options.endpoints.map((endpoint) => [endpoint.name, endpoint]))
  const now = await options.present()
  const store = openStore(folder, readOutbox(folder) ?? emptyState(now.cursor, now.context), report)
  const sender = createSender({ ...options, endpoints }, store)
  const intake = createIntake({ ...options, endpoints }, store, sender.accept)
  const { state } = store

  let incoming: Line[] = []
  let live = false
  function drain(): void {
    const lines = incoming
    incoming = []
    for (const line of lines) intake.line(line.seq, line)
    sender.sendDue()
  }
  const unsubscribe = options.subscribe((line) => {
    incoming.push(line)
    // Not while the writer of the line waits: the line is durable, so nothing is lost by doing it later.
    if (live && incoming.length === 1) setImmediate(drain)
  })

  updateEndpoints(endpoints, now.cursor, store)
  for (const delivery of [...state.pending.values()]) sender.accept(delivery)
  try {
    for await (const raw of options.lines(state.cursor + 1)) intake.line(raw.seq, readLine(raw))
  } catch (error) {
    // Those lines were archived meanwhile: their events are never sent, so that is reported.
    report({ kind: 'unread', why: `from line ${state.cursor + 1}: ${String(error)}` })
    const { cursor, context } = now
    const gone = [...state.approvals.keys()].map((id) => [id, null] as const)
    const approvals = Object.fromEntries([...gone, ...context.approvals])
    const change = { approvals, judges: context.judges }
    store.write({ t: 'line', seq: cursor, change, deliveries: [] })
  }
  live = true
  drain()

  /** Why it was refused, or null. */
  function replay(id: string): string | null {
    const endpoint = state.dead.get(id)?.endpoint
    if (endpoint === undefined) return `${id} is no dead letter`
    if (!endpoints.has(endpoint)) return `${id} is for ${endpoint}, which is not in gate.yaml`
    if (state.endpoints.get(endpoint)?.disabled != null) {
      return `${id} is for ${endpoint}, which is disabled`
    }
    store.write({ t: 'replay', id, next: options.clock.now() })
    sender.accept(state.pending.get(id) as Delivery)
    return null
  }
  function carryOut(request: OperatorRequest): readonly (string | null)[] {
    if (request.kind === 'replay') return request.ids.map(replay)
    const { endpoint: name } = request
    const known = state.endpoints.get(name)
    if (known === undefined) return [`there is no endpoint ${name}`]
    store.write({ t: 'endpoint', name, state: { ...known, disabled: null } })
    report({ kind: 'enabled', endpoint: name })
    return []
  }
  let cancelPoll: () => void = () => undefined
  function pollRequests(): void {
    try {
      for (const file of requestFiles(folder)) {
        const request = readRequest(folder, file)
        const refused = request === null ? [`${file} is no order`] : carryOut(request)
        for (const why of refused) if (why !== null) report({ kind: 'order_refused', why })
        removeRequest(folder, file)
      }
    } catch (error) {
      report({ kind: 'unread', why: `orders: ${String(error)}` })
    }
    sender.sendDue()
    cancelPoll = timer.after(REQUESTS_MS, pollRequests)
  }
  pollRequests()

  return {
    stats: (): readonly EndpointStats[] =>
      [...state.endpoints].map(([name, { disabled }]) => ({
        name,
        disabled,
        pending: sender.waiting(name),
        dead: [...state.dead.values()].filter(({ endpoint }) => endpoint === name).length,
      })),
    /** Publishes the newest head. */
    head(head: SignedHead): void {
      drain()
      intake.head(head)
      sender.sendDue()
    },
    async close(): Promise<void> {
      unsubscribe()
      cancelPoll()
      await sender.stop()
      for (const line of incoming) intake.line(line.seq, line)
      store.close()
    },
  }
}

/** A new endpoint gets later lines only; one that left gate.yaml is removed; a changed URL enables it again. */
function updateEndpoints(
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
