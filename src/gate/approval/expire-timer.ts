import type { Line } from '../../ports/journal.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { haltFor } from '../operate/halt.js'
import { dueAt, expire, isPointless } from './expire.js'

export type Expiry = {
  /** Does what is due now and arms the timer for what is due next. */
  run(): Promise<void>
  stop(): Promise<void>
}

/** When to try again where another action holds an item that is due, or its record could not be written. */
const AGAIN_MS = 1_000
/** How many records are written at once, to share a sync. */
const AT_ONCE = 64

/**
 * One timer for the nearest deadline. Deadlines follow from the records' own timestamps and survive a restart.
 * Once this process has read one, its monotonic clock has to agree, so that a wall clock that jumps ahead ends
 * nothing early. What is halted waits until it is resumed.
 */
export function startExpiry(parts: Parts): Expiry {
  const { clock, timer } = parts
  /** By capsule: when its item is due on the monotonic clock. */
  const due = new Map<string, number>()
  let armed: { readonly at: number; readonly cancel: () => void } | null = null
  let running: Promise<void> | null = null
  let again = false
  let stopped = false

  const keyOf = ({ parent, reminded, state }: Approval): string =>
    `${parent} ${reminded} ${state.kind}`
  function dueIn(approval: Approval): number {
    const key = keyOf(approval)
    const wall = dueAt(approval) - clock.now()
    const known = due.get(key) ?? clock.monotonic() + Math.max(0, wall)
    due.set(key, known)
    return Math.max(wall, known - clock.monotonic())
  }

  function arm(ms: number): void {
    if (stopped) return
    const at = clock.monotonic() + Math.max(0, ms)
    if (armed !== null && armed.at <= at) return
    armed?.cancel()
    armed = {
      at,
      cancel: timer.after(Math.max(0, ms), () => {
        armed = null
        void run()
      }),
    }
  }

  async function round(): Promise<void> {
    const approvals = await parts.state.approvals()
    const kept = new Set(approvals.map(keyOf))
    for (const key of due.keys()) if (!kept.has(key)) due.delete(key)
    const over: Approval[] = []
    for (const approval of approvals) {
      const ms = (await isPointless(approval, parts)) ? 0 : dueIn(approval)
      if (ms > 0) arm(ms)
      else if (haltFor(parts.halts(), approval) === null) over.push(approval)
    }
    for (let from = 0; from < over.length && !stopped; from += AT_ONCE) {
      const all = await Promise.all(over.slice(from, from + AT_ONCE).map(done))
      if (all.includes(false)) arm(AGAIN_MS)
    }
  }

  async function done(approval: Approval): Promise<boolean> {
    try {
      return await expire(approval, parts)
    } catch (error) {
      const actionId = approval.approvalId
      parts.report({ level: 'error', event: 'expiry_failed', actionId, detail: String(error) })
      return false
    }
  }

  /** One round at a time; a call during a round makes it run once more. */
  function run(): Promise<void> {
    if (stopped) return Promise.resolve()
    if (running !== null) {
      again = true
      return running
    }
    running = (async () => {
      do {
        again = false
        await round()
      } while (again && !stopped)
    })().finally(() => {
      running = null
    })
    return running
  }

  const unsubscribe = parts.subscribe((line) => {
    if (line.type === 'SESSION_CLOSED') arm(0)
    const id = movedBy(line)
    if (id !== null) {
      parts.state.approval(id).then(
        (approval) => {
          if (approval !== null && approval.state.kind !== 'closed') arm(dueIn(approval))
        },
        () => undefined,
      )
    }
  })

  return {
    run,
    async stop() {
      stopped = true
      unsubscribe()
      armed?.cancel()
      await running
    },
  }
}

/** The item whose due time this line may change. */
function movedBy(line: Line): string | null {
  switch (line.type) {
    case 'APPROVAL_OPENED':
    case 'APPROVAL_REMINDER':
      return line.approval_id
    case 'GRANT_ISSUED':
      return line.standing === true ? null : (line.approval_id ?? null)
    case 'CAPSULE': {
      const { chain, 'dev.capsulegate.decision_id': decision } = line.capsule
      return chain === undefined ? null : (decision ?? null)
    }
    default:
      return null
  }
}
