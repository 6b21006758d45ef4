import { plainEntry } from '../../core/journal/entry.js'
import type { Parts } from '../context.js'

/** `fault` is a code of the gate's own, never text that a server sent. */
export type RecordFault = (server: string, fault: string) => void

export type Faults = {
  readonly record: RecordFault
  /** Writes what was counted and not yet told. */
  stop(): Promise<void>
}

const WINDOW_SECONDS = 60

type Window = {
  readonly server: string
  readonly fault: string
  count: number
  readonly cancel: () => void
}

/**
 * Counts how often servers break the protocol. The first time is told at once, what follows once per window:
 * a server cannot flood the journal by it. A line that could not be written is told with the next one.
 */
export function createFaults({
  journal,
  timer,
  report,
}: Pick<Parts, 'journal' | 'timer' | 'report'>): Faults {
  const windows = new Map<string, Window>()
  const writing = new Set<Promise<void>>()
  const nameOf = (server: string, fault: string): string => `${server} ${fault}`
  let stopped = false

  function tell(server: string, fault: string, count: number): void {
    const members = { server, fault, count, window_seconds: WINDOW_SECONDS }
    const told = journal
      .append([plainEntry('SERVER_FAULT', members)])
      .then(
        () => undefined,
        (error: unknown) => {
          const detail = `${server}: ${fault}: ${String(error)}`
          report({ level: 'error', event: 'server_fault_unrecorded', detail })
          const open = windows.get(nameOf(server, fault))
          if (open !== undefined) open.count += count
        },
      )
      .finally(() => writing.delete(told))
    writing.add(told)
  }

  function begin(server: string, fault: string): void {
    const name = nameOf(server, fault)
    const cancel = timer.after(WINDOW_SECONDS * 1000, () => {
      const count = windows.get(name)?.count ?? 0
      windows.delete(name)
      if (count === 0) return
      begin(server, fault)
      tell(server, fault, count)
    })
    windows.set(name, { server, fault, count: 0, cancel })
  }

  return {
    record(server, fault) {
      const open = windows.get(nameOf(server, fault))
      if (open !== undefined) open.count++
      else if (!stopped) {
        begin(server, fault)
        tell(server, fault, 1)
      }
    },
    async stop() {
      stopped = true
      const open = [...windows.values()]
      windows.clear()
      for (const { server, fault, count, cancel } of open) {
        cancel()
        if (count > 0) tell(server, fault, count)
      }
      await Promise.all(writing)
    },
  }
}
