import type { RequestId } from '../../core/mcp/message.js'
import type { Held } from '../../gate/memory.js'

/** A client's request that is not answered yet. */
export type Flight = {
  readonly client: RequestId
  /** The id it has towards the server, and its progress token there. */
  readonly id: number
  /** The revision it was sent under; null before one is agreed on. */
  readonly version: string | null
  /** The client's own progress token, as it wrote it. */
  readonly progressToken: string | null
  readonly signal: AbortSignal
  cancelled(): boolean
  cancel(): void
  /** Memory set aside for its answer. */
  room: Held | null
}

/** Ids are the client's among its own requests, and the gate's towards the server. */
export function createFlights() {
  const byClient = new Map<string, Flight>()
  const byId = new Map<number, Flight>()
  let last = 0
  return {
    nextId: (): number => ++last,
    isOpen: (client: RequestId): boolean => byClient.has(client.key),
    open(client: RequestId, progressToken: string | null, version: string | null): Flight {
      const controller = new AbortController()
      const flight: Flight = {
        client,
        id: ++last,
        version,
        progressToken,
        signal: controller.signal,
        cancelled: () => controller.signal.aborted,
        cancel: () => controller.abort(),
        room: null,
      }
      byClient.set(client.key, flight)
      byId.set(flight.id, flight)
      return flight
    },
    over(flight: Flight): void {
      byClient.delete(flight.client.key)
      byId.delete(flight.id)
      flight.room?.letGo()
      flight.room = null
    },
    ofClient: (key: string): Flight | undefined => byClient.get(key),
    withId: (id: number): Flight | undefined => byId.get(id),
  }
}
export type Flights = ReturnType<typeof createFlights>
