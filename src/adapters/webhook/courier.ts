import type { Clock, Timer } from '../../ports/clock.js'
import type { Signer } from '../../ports/signer.js'
import type { Delivery, Endpoint } from './model.js'
import { type Posted, post, type Resolve } from './post.js'
import { createQueue } from './queue.js'
import type { Tell } from './report.js'
import { nextTry, retryAfterMs } from './schedule.js'
import { sign } from './sign.js'
import type { Store } from './store.js'

export type CourierOptions = {
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly signer: Signer
  readonly clock: Pick<Clock, 'now'>
  readonly timer: Timer
  /** 0 ≤ random < 1 */
  readonly random: () => number
  readonly resolve: Resolve
  readonly tell: Tell
  /** Named points where a test may stop the process; absent in production. */
  readonly seam?: (name: 'before_send' | 'after_send') => void | Promise<void>
}

export type Courier = {
  /** Takes a recorded delivery on, or puts it with the dead letters. */
  accept(delivery: Delivery): void
  /** Sends what is due and wakes itself for what is due next. */
  pump(): void
  waiting(endpoint: string): number
  /** Attempts under way have a few seconds to end; what is not over is sent again after the next start. */
  stop(): Promise<void>
}

/** More than so many waiting for one endpoint: what is about no approval goes to the dead letters. */
export const MAX_PENDING = 10_000
const STOP_MS = 5_000

/** Deliveries become attempts, and attempts an end: delivered, or a dead letter. Nothing just vanishes. */
export function createCourier(options: CourierOptions, store: Store): Courier {
  const { endpoints, clock, timer, tell } = options
  const { state } = store
  const queue = createQueue()
  const counts = new Map<string, number>()
  const attempts = new Set<Promise<void>>()
  const stopping = new AbortController()
  let stopped = false
  let wake: () => void = () => undefined

  const waiting = (endpoint: string): number => counts.get(endpoint) ?? 0
  const isOver = ({ deadline }: Delivery): boolean =>
    deadline !== null && Date.parse(deadline) <= clock.now()

  function accept(delivery: Delivery): void {
    const refused = refusal(delivery)
    if (refused !== null) bury(delivery, refused)
    else {
      counts.set(delivery.endpoint, waiting(delivery.endpoint) + 1)
      queue.add(delivery)
    }
  }
  function refusal(delivery: Delivery): string | null {
    const { endpoint, approval } = delivery
    if (!endpoints.has(endpoint)) return 'endpoint removed'
    if (state.endpoints.get(endpoint)?.disabled != null) return 'endpoint disabled'
    if (approval === null && waiting(endpoint) >= MAX_PENDING) return 'overflow'
    return isOver(delivery) ? 'deadline' : null
  }
  function forget(delivery: Delivery): void {
    queue.remove(delivery)
    counts.set(delivery.endpoint, waiting(delivery.endpoint) - 1)
  }
  function bury(delivery: Delivery, why: string): void {
    const since = new Date(clock.now()).toISOString()
    store.write({ t: 'dead', id: delivery.id, why, since })
    tell({ kind: 'dead', letter: { ...delivery, why, since } })
  }
  function giveUp(delivery: Delivery, why: string): void {
    forget(delivery)
    bury(delivery, why)
  }

  function pump(): void {
    if (stopped) return
    for (const delivery of queue.start(clock.now())) {
      const attempt = send(delivery).then(() => {
        attempts.delete(attempt)
        pump()
      })
      attempts.add(attempt)
    }
    wake()
    const due = queue.nextDue()
    if (due !== Number.POSITIVE_INFINITY) wake = timer.after(Math.max(0, due - clock.now()), pump)
  }

  async function send(delivery: Delivery): Promise<void> {
    const endpoint = endpoints.get(delivery.endpoint)
    if (endpoint === undefined || isOver(delivery)) {
      giveUp(delivery, 'deadline')
      return
    }
    await options.seam?.('before_send')
    const posted = await attempted(endpoint, delivery)
    await options.seam?.('after_send')
    if (posted.kind === 'stopped') return
    // A 410 to another attempt may have buried it meanwhile.
    if (state.pending.has(delivery.id)) settle(delivery, posted)
  }

  async function attempted(endpoint: Endpoint, { id, body }: Delivery): Promise<Posted> {
    const { url, allowPrivate } = endpoint
    const { signal } = stopping
    try {
      const headers = sign({ id, body, now: clock.now() }, endpoint.secrets(), options.signer)
      return await post({ url, headers: { ...headers }, body, allowPrivate, signal }, options)
    } catch (error) {
      return { kind: 'failed', why: `not signed: ${String(error)}` }
    }
  }

  function settle(delivery: Delivery, posted: Exclude<Posted, { kind: 'stopped' }>): void {
    const { id, endpoint } = delivery
    const status = posted.kind === 'answered' ? posted.status : null
    if (status !== null && status >= 200 && status < 300) {
      forget(delivery)
      store.write({ t: 'done', id })
      tell({ kind: 'delivered', delivery })
    } else if (status === 410) disable(endpoint)
    else failed(delivery, posted)
  }

  function failed(delivery: Delivery, posted: Exclude<Posted, { kind: 'stopped' }>): void {
    const { id, deadline } = delivery
    const why = posted.kind === 'failed' ? posted.why : `status ${posted.status}`
    const now = clock.now()
    const tries = delivery.tries + 1
    const next = nextTry({
      tries,
      now,
      deadline: deadline === null ? null : Date.parse(deadline),
      retryAfter: posted.kind === 'failed' ? null : retryAfterMs(posted.retryAfter, now),
      random: options.random(),
    })
    if (typeof next === 'string') {
      giveUp({ ...delivery, tries }, `${next}, ${tries} attempts: ${why}`)
      return
    }
    store.write({ t: 'retry', id, tries, next, why })
    const again = { ...delivery, tries, next, why }
    queue.again(again)
    tell({ kind: 'retry', delivery: again })
  }

  /** It said that it is gone: nobody knocks again until an operator says so. */
  function disable(name: string): void {
    const known = state.endpoints.get(name)
    if (known === undefined) return
    const disabled = new Date(clock.now()).toISOString()
    store.write({ t: 'endpoint', name, state: { ...known, disabled } })
    tell({ kind: 'disabled', endpoint: name })
    for (const delivery of [...state.pending.values()]) {
      if (delivery.endpoint === name) giveUp(delivery, 'endpoint disabled')
    }
  }

  return {
    accept,
    pump,
    waiting,
    async stop() {
      stopped = true
      wake()
      const cancel = timer.after(STOP_MS, () => stopping.abort())
      await Promise.all(attempts)
      cancel()
    },
  }
}
