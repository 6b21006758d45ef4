import type { Worker } from 'node:worker_threads'
import { type Done, fromFault, type Request, type Told, type Write } from './protocol.js'

/**
 * The way to the recording thread. One batch of writes is on its way at a time, and what is ordered
 * meanwhile waits for its end: group commit, with every wake-up and every sync shared by all who wait.
 */
export type Post = {
  write(write: Write, transfer?: readonly ArrayBuffer[]): Promise<unknown>
  request(request: Request): Promise<unknown>
  written(number: number, done: readonly Done[]): void
  answered(number: number, done: Done): void
  /** The thread is gone: nobody is left waiting, and nothing more is taken. */
  lost(why: Error): void
}
type Pending = {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export function openPost(worker: Worker, now: () => number): Post {
  const requests = new Map<number, Pending>()
  let numbers = 0
  let writes: Write[] = []
  let writers: Pending[] = []
  let transfers: ArrayBuffer[] = []
  /** Who waits for the batch on its way, by its number: more than one only when a request pushed. */
  const batches = new Map<number, readonly Pending[]>()
  let due = false
  let gone: Error | null = null

  const send = (told: Told, transfer: ArrayBuffer[] = []): void =>
    worker.postMessage(told, transfer)
  // A process must not end under somebody who waits; one that nobody waits in may.
  const hold = (): void => {
    if (batches.size > 0 || writers.length > 0 || requests.size > 0) worker.ref()
    else worker.unref()
  }
  const flush = (): void => {
    if (writes.length === 0 || gone !== null) return
    const number = numbers++
    const told = { kind: 'batch', number, now: now(), writes } as const
    const transfer = transfers
    const waiting = writers
    writes = []
    writers = []
    transfers = []
    batches.set(number, waiting)
    try {
      send(told, transfer)
    } catch (error) {
      // Something that is no plain value: none of it left, and those who ordered it are told.
      batches.delete(number)
      for (const { reject } of waiting) reject(error as Error)
    }
  }
  const inTurn = (): void => {
    due = false
    if (batches.size === 0) flush()
  }

  return {
    write(write, transfer) {
      if (gone !== null) return Promise.reject(gone)
      return new Promise((resolve, reject) => {
        writes.push(write)
        writers.push({ resolve, reject })
        if (transfer !== undefined) transfers.push(...transfer)
        if (batches.size > 0 || due) return
        // Evidence and the line that goes with it are ordered in one turn: let them go together.
        due = true
        hold()
        queueMicrotask(inTurn)
      })
    },
    request(request) {
      if (gone !== null) return Promise.reject(gone)
      return new Promise((resolve, reject) => {
        const number = numbers++
        requests.set(number, { resolve, reject })
        hold()
        // What was ordered before it is begun before it: an erasure also counts what is on its way.
        flush()
        send({ kind: 'request', number, request })
      })
    },
    written(number, done) {
      const waiting = batches.get(number) ?? []
      batches.delete(number)
      inTurn()
      for (const [index, one] of done.entries()) settle(waiting[index], one)
      hold()
    },
    answered(number, done) {
      const waiting = requests.get(number)
      requests.delete(number)
      settle(waiting, done)
      hold()
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

function settle(waiting: Pending | undefined, [value, fault]: Done): void {
  if (fault === null) waiting?.resolve(value)
  else waiting?.reject(fromFault(fault))
}
