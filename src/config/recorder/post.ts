import type { Worker } from 'node:worker_threads'
import { type Done, fromFault, type Order } from './protocol.js'

/** Orders out, answers in. What is ordered while the thread is at work goes together. */
export type Post = {
  order(order: Order, transfer?: readonly ArrayBuffer[]): Promise<unknown>
  answered(done: readonly Done[]): void
  /** The thread is gone: nobody is left waiting, and nothing more is taken. */
  lost(why: Error): void
}

/** A busy thread is told at the latest when so much is waiting for it: it must not run dry. */
const ENOUGH = 8

type Waiting = {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export function openPost(worker: Worker, now: () => number): Post {
  const waiting = new Map<number, Waiting>()
  let orders: (readonly [number, Order])[] = []
  let buffers: ArrayBuffer[] = []
  let numbers = 0
  let gone: Error | null = null
  let due = false

  const flush = (): void => {
    due = false
    if (orders.length === 0 || gone !== null) return
    const batch = { now: now(), orders }
    orders = []
    const transfer = buffers
    buffers = []
    worker.postMessage(batch, transfer)
  }

  return {
    order(order, transfer) {
      if (gone !== null) return Promise.reject(gone)
      const number = numbers++
      orders.push([number, order])
      if (transfer !== undefined) buffers.push(...transfer)
      // Held while somebody waits: a process must not end under an order.
      if (waiting.size === 0) worker.ref()
      const idle = waiting.size < orders.length
      if (orders.length >= ENOUGH) flush()
      else if (!due) {
        due = true
        if (idle) queueMicrotask(flush)
        else setImmediate(flush)
      }
      return new Promise((resolve, reject) => {
        waiting.set(number, { resolve, reject })
      })
    },
    answered(done) {
      for (const [number, value, fault] of done) {
        const one = waiting.get(number)
        waiting.delete(number)
        if (fault === null) one?.resolve(value)
        else one?.reject(fromFault(fault))
      }
      if (waiting.size === 0) worker.unref()
    },
    lost(why) {
      gone ??= why
      orders = []
      for (const { reject } of waiting.values()) reject(gone)
      waiting.clear()
    },
  }
}
