import type { Worker } from 'node:worker_threads'
import { type Done, fromFault, type Request, type Told, type Write } from './protocol.js'

/**
 * The way to the recording thread. One batch of writes is on its way at a time, and what is ordered
 * meanwhile waits for its end: group commit, with every wake-up and every sync shared by all who wait.
 */
export type Post = {
  write(write: Write, transfer?: readonly ArrayBuffer[]): Promise<unknown>
  request(request: Request): Promise<unknown>
  written(done: readonly Done[]): void
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
  /** Who waits for the batch on its way; null: none is. */
  let batch: Pending[] | null = null
  let due = false
  let gone: Error | null = null

  const send = (told: Told, transfer: ArrayBuffer[] = []): void =>
    worker.postMessage(told, transfer)
  // A process must not end under somebody who waits; one that nobody waits in may.
  const hold = (): void => {
    if (batch !== null || writers.length > 0 || requests.size > 0) worker.ref()
    else worker.unref()
  }
  const flush = (): void => {
    due = false
    if (batch !== null || writes.length === 0 || gone !== null) return
    const told = { kind: 'batch', now: now(), writes } as const
    const transfer = transfers
    batch = writers
    writes = []
    writers = []
    transfers = []
    send(told, transfer)
  }

  return {
    write(write, transfer) {
      if (gone !== null) return Promise.reject(gone)
      return new Promise((resolve, reject) => {
        writes.push(write)
        writers.push({ resolve, reject })
        if (transfer !== undefined) transfers.push(...transfer)
        if (batch !== null || due) return
        // Evidence and the line that goes with it are ordered in one turn: let them go together.
        due = true
        hold()
        queueMicrotask(flush)
      })
    },
    request(request) {
      if (gone !== null) return Promise.reject(gone)
      return new Promise((resolve, reject) => {
        const number = numbers++
        requests.set(number, { resolve, reject })
        hold()
        send({ kind: 'request', number, request })
      })
    },
    written(done) {
      const waiting = batch ?? []
      batch = null
      flush()
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
      const waiting = [...(batch ?? []), ...writers, ...requests.values()]
      batch = null
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
