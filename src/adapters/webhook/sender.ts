import type { Clock, Timer } from '../../ports/clock.js'
import type { Signer } from '../../ports/signer.js'
import type { Delivery, Endpoint, Report } from './model.js'
import { type Posted, post, type Resolve } from './post.js'
import { createQueue } from './queue.js'
import { nextTry, retryAfterMs } from './retry.js'
import { sign } from './sign.js'
import type { Store } from './store.js'

export type SenderOptions = {
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly signer: Signer
  readonly clock: Pick<Clock, 'now'>
  readonly timer: Timer
  /** 0 ≤ random < 1 */
  readonly random: () => number
  readonly resolve: Resolve
  readonly report: Report
  /** Named points where a test may stop the process; absent in production. */
  readonly seam?: (name: 'before_send' | 'after_send') => void | Promise<void>
}

/** With more deliveries than this waiting for an endpoint, further ones about no approval fail at once. */
export const MAX_PENDING = 10_000
const STOP_MS = 5_000

/** Attempts each delivery until it is delivered or has failed for good; both are recorded. */
export function createSender(options: SenderOptions, store: Store) {
  const { endpoints, clock, timer, report } = options
  const { state } = store
  const queue = createQueue()
  const attempts = new Set<Promise<void>>()
  const stopping = new AbortController()
  let stopped = false
  let cancelTimer: () => void = () => undefined

  const isLate = ({ deadline }: Delivery): boolean =>
    deadline !== null && Date.parse(deadline) <= clock.now()

  function accept(delivery: Delivery): void {
    const refused = refusal(delivery)
    if (refused === null) queue.add(delivery)
    else fail(delivery, refused)
  }
  function refusal(delivery: Delivery): string | null {
    const { endpoint, approval } = delivery
    if (!endpoints.has(endpoint)) return 'endpoint removed'
    if (state.endpoints.get(endpoint)?.disabled != null) return 'endpoint disabled'
    if (approval === null && queue.size(endpoint) >= MAX_PENDING) return 'overflow'
    return isLate(delivery) ? 'deadline' : null
  }
  function fail(delivery: Delivery, why: string): void {
    const since = new Date(clock.now()).toISOString()
    store.write({ t: 'dead', id: delivery.id, why, since })
    report({ kind: 'dead', delivery: { ...delivery, why, since } })
  }
  function giveUp(delivery: Delivery, why: string): void {
    queue.remove(delivery)
    fail(delivery, why)
  }

  function sendDue(): void {
    if (stopped) return
    for (const delivery of queue.start(clock.now())) {
      const attempt = send(delivery).then(() => {
        attempts.delete(attempt)
        sendDue()
      })
      attempts.add(attempt)
    }
    cancelTimer()
    const due = queue.nextDue()
    if (due === Number.POSITIVE_INFINITY) return
    cancelTimer = timer.after(Math.max(0, due - clock.now()), sendDue)
  }

  async function send(delivery: Delivery): Promise<void> {
    const endpoint = endpoints.get(delivery.endpoint)
    if (endpoint === undefined || isLate(delivery)) return giveUp(delivery, 'deadline')
    await options.seam?.('before_send')
    const posted = await attempt(endpoint, delivery)
    await options.seam?.('after_send')
    if (posted.kind === 'stopped') return
    // A 410 to another attempt may have failed this delivery meanwhile.
    if (state.pending.has(delivery.id)) settle(delivery, posted)
  }

  async function attempt(endpoint: Endpoint, { id, body }: Delivery): Promise<Posted> {
    const { url, allowPrivate } = endpoint
    const { signal } = stopping
    try {
      const headers = sign({ id, body, now: clock.now() }, endpoint.secrets(), options.signer)
      return await post({ url, headers, body, allowPrivate, signal }, options)
    } catch (error) {
      return { kind: 'failed', why: `not signed: ${String(error)}` }
    }
  }

  function settle(delivery: Delivery, posted: Exclude<Posted, { kind: 'stopped' }>): void {
    if (posted.kind === 'failed') retry(delivery, posted.why, null)
    else if (posted.status >= 200 && posted.status < 300) {
      queue.remove(delivery)
      store.write({ t: 'done', id: delivery.id })
      report({ kind: 'delivered', delivery })
    } else if (posted.status === 410) disable(delivery.endpoint)
    else retry(delivery, `status ${posted.status}`, retryAfterMs(posted.retryAfter, clock.now()))
  }

  function retry(delivery: Delivery, why: string, retryAfter: number | null): void {
    const { id, deadline } = delivery
    const tries = delivery.tries + 1
    const next = nextTry({
      tries,
      now: clock.now(),
      deadline: deadline === null ? null : Date.parse(deadline),
      retryAfter,
      random: options.random(),
    })
    if (typeof next === 'string') {
      giveUp({ ...delivery, tries }, `${next}, ${tries} attempts: ${why}`)
      return
    }
    store.write({ t: 'retry', id, tries, next, why })
    const again = { ...delivery, tries, next, why }
    queue.again(again)
    report({ kind: 'retry', delivery: again })
  }

  /** 410 Gone: nothing more is sent there until an operator enables it. */
  function disable(name: string): void {
    const known = state.endpoints.get(name)
    if (known === undefined) return
    const disabled = new Date(clock.now()).toISOString()
    store.write({ t: 'endpoint', name, state: { ...known, disabled } })
    report({ kind: 'disabled', endpoint: name })
    for (const delivery of [...state.pending.values()]) {
      if (delivery.endpoint === name) giveUp(delivery, 'endpoint disabled')
    }
  }

  return {
    /** Queues a recorded delivery, or fails it at once. */
    accept,
    /** Sends what is due, and sets a timer for what is due next. */
    sendDue,
    waiting: queue.size,
    /** Attempts under way have a few seconds to end; what has not ended is sent again after the next start. */
    async stop(): Promise<void> {
      stopped = true
      cancelTimer()
      const cancel = timer.after(STOP_MS, () => stopping.abort())
      await Promise.all(attempts)
      cancel()
    },
  }
}
