import type { Worker } from 'node:worker_threads'
import {
  fromFault,
  type Method,
  type Methods,
  type Settled,
  type ToWorker,
  type Write,
} from './protocol.js'

/**
 * Orders for the writer thread. One batch of writes is on its way at a time, and what is ordered meanwhile waits for
 * its end: group commit, with every wake-up and every sync shared by all that wait.
 */
export type Batcher = {
  write(
    write: Write,
    options?: {
      readonly transfer?: readonly ArrayBuffer[]
      /** It goes with the next write, in its place before that. */
      readonly withNext?: boolean
    },
  ): Promise<unknown>
  request<M extends Method>(method: M, ...args: Parameters<Methods[M]>): ReturnType<Methods[M]>
  written(number: number, results: readonly Settled[]): void
  finished(number: number, result: Settled): void
  /** The thread is gone: everything waiting is rejected, and nothing more is taken. */
  lost(why: Error): void
}
type Pending = {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export function createBatcher(worker: Worker, now: () => number): Batcher {
  const requests = new Map<number, Pending>()
  let numbers = 0
  let writes: Write[] = []
  let writers: Pending[] = []
  let transfers: ArrayBuffer[] = []
  /** What waits for each batch on its way: more than one batch only when a request pushed. */
  const batches = new Map<number, readonly Pending[]>()
  let due = false
  let gone: Error | null = null

  const send = (message: ToWorker, transfer: ArrayBuffer[] = []): void =>
    worker.postMessage(message, transfer)
  // The process must not end while a promise of ours is pending; otherwise the thread must not keep it alive.
  const updateRef = (): void => {
    if (batches.size > 0 || writers.length > 0 || requests.size > 0) worker.ref()
    else worker.unref()
  }
  const flush = (): void => {
    if (writes.length === 0 || gone !== null) return
    const number = numbers++
    const batch = { kind: 'batch', number, now: now(), writes } as const
    const transfer = transfers
    const waiting = writers
    writes = []
    writers = []
    transfers = []
    batches.set(number, waiting)
    try {
      send(batch, transfer)
    } catch (error) {
      // A value that cannot be cloned: nothing of the batch left, so all of it is rejected.
      batches.delete(number)
      for (const { reject } of waiting) reject(error as Error)
    }
  }
  const flushIfIdle = (): void => {
    due = false
    if (batches.size === 0) flush()
  }

  return {
    write(write, { transfer, withNext = false } = {}) {
      if (gone !== null) return Promise.reject(gone)
      return new Promise((resolve, reject) => {
        writes.push(write)
        writers.push({ resolve, reject })
        if (transfer !== undefined) transfers.push(...transfer)
        if (batches.size > 0 || due) return
        updateRef()
        if (withNext) return
        // Evidence and the line that goes with it are ordered in one turn and go together.
        due = true
        queueMicrotask(flushIfIdle)
      })
    },
    request<M extends Method>(method: M, ...args: Parameters<Methods[M]>) {
      const result = new Promise<unknown>((resolve, reject) => {
        if (gone !== null) return reject(gone)
        const number = numbers++
        requests.set(number, { resolve, reject })
        updateRef()
        // Writes ordered before it are begun before it: an erasure also counts what is on its way.
        flush()
        send({ kind: 'request', number, method, args })
      })
      return result as ReturnType<Methods[M]>
    },
    written(number, results) {
      const waiting = batches.get(number) ?? []
      batches.delete(number)
      flushIfIdle()
      for (const [index, one] of results.entries()) settle(waiting[index], one)
      updateRef()
    },
    finished(number, result) {
      const waiting = requests.get(number)
      requests.delete(number)
      settle(waiting, result)
      updateRef()
    },
    lost(why) {
      gone ??= why
      const waiting = [...[...batches.values()].flat(), ...writers, ...requests.values()]
      batches.clear()
      writes = []
      writers = []
      requests.clear()
      for (const { reject } of waiting) reject(gone)
    },
  }
}

function settle(waiting: Pending | undefined, [value, fault]: Settled): void {
  if (fault === null) waiting?.resolve(value)
  else waiting?.reject(fromFault(fault))
}
