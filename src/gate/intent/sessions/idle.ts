import type { Line } from '../../../ports/journal.js'
import type { Parts } from '../../context.js'
import { haltFor } from '../../operate/halt.js'
import { signed } from '../../signed-event.js'

export type IdleSessions = {
  /** Ends the sessions that are idle now, and arms the timer for the next one. */
  run(): Promise<void>
  stop(): Promise<void>
}

/** Rounds are no closer than this, or a sixtieth of the limit: many sessions do not make many rounds. */
const PACE_MS = 1_000

/**
 * One timer for the session that will be idle next: it ends without being used once more. A wall clock that jumps
 * ahead ends nothing early, because this process's monotonic clock has to agree. What is halted, or what people are
 * asked about, does not end.
 */
export function startIdle(parts: Parts): IdleSessions {
  const { clock, timer, sessionIdleSeconds } = parts
  const idleMs = sessionIdleSeconds * 1000
  const pace = Math.max(PACE_MS, idleMs / 60)
  /** By session: when it is idle on the monotonic clock, and on the wall clock; null: as of the next round. */
  const due = new Map<string, { readonly wall: number | null; readonly monotonic: number }>()
  /** Ended here, and the line could not be written. */
  const unwritten = new Set<string>()
  let armed: { readonly at: number; readonly cancel: () => void } | null = null
  let running: Promise<void> | null = null
  let again = false
  let stopped = false

  function arm(ms: number): void {
    if (stopped) return
    const wait = Math.max(pace, ms)
    const at = clock.monotonic() + wait
    if (armed !== null && armed.at <= at) return
    armed?.cancel()
    const fire = (): void => {
      armed = null
      void run()
    }
    armed = { at, cancel: timer.after(wait, fire) }
  }

  function used(sessionId: string): void {
    due.set(sessionId, { wall: null, monotonic: clock.monotonic() + idleMs })
    arm(idleMs)
  }

  function dueIn(sessionId: string, wall: number): number {
    // One that no line of this process told of is from an earlier one, whose wall clock is all there is.
    const known = due.get(sessionId) ?? {
      wall,
      monotonic: clock.monotonic() + Math.max(0, wall - clock.now()),
    }
    const isUsed = known.wall !== null && known.wall !== wall
    const monotonic = isUsed ? clock.monotonic() + idleMs : known.monotonic
    due.set(sessionId, { wall, monotonic })
    return Math.max(wall - clock.now(), monotonic - clock.monotonic())
  }

  async function round(): Promise<void> {
    const from = await parts.state.idleFrom()
    for (const id of due.keys()) if (!from.has(id)) due.delete(id)
    for (const id of unwritten) await write(id)
    for (const [sessionId, wall] of from) {
      if (stopped) return
      const ms = dueIn(sessionId, wall)
      if (ms > 0) arm(ms)
      else await end(sessionId)
    }
  }

  async function end(sessionId: string): Promise<void> {
    const session = await parts.state.session(sessionId)
    if (session === null) return
    const { operator } = parts.world()
    // What is halted ends when it is resumed; a round then finds it.
    if (haltFor(parts.halts(), { agent: session.agent, operator, sessionId }) !== null) return
    if (await parts.state.closeIdle(sessionId, clock.now())) await write(sessionId)
  }

  async function write(session_id: string): Promise<void> {
    try {
      const members = { session_id, reason: 'idle' as const }
      await parts.journal.append([signed('SESSION_CLOSED', members, parts)])
      unwritten.delete(session_id)
    } catch (error) {
      unwritten.add(session_id)
      arm(pace)
      const detail = `session ${session_id}: ${String(error)}`
      parts.report({ level: 'error', event: 'session_not_closed', detail })
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
    const sessionId = usedBy(line)
    if (sessionId !== null) used(sessionId)
    const asked = endedBy(line)
    if (asked === null) return
    parts.state.approval(asked).then(
      (approval) => {
        if (approval?.sessionId !== undefined) used(approval.sessionId)
      },
      () => undefined,
    )
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

/** The session that this line says was used. */
function usedBy(line: Line): string | null {
  switch (line.type) {
    case 'SESSION_OPENED':
    case 'SESSION_RESUMED':
    case 'IDP_SUBMITTED':
      return line.session_id
    case 'ACTION_DISPATCHED':
      return line.intent?.session_id ?? null
    default:
      return null
  }
}

/** The request to people that this line moves: a session is not idle while it is open. */
function endedBy(line: Line): string | null {
  if (line.type !== 'CAPSULE' || line.capsule.chain === undefined) return null
  return line.capsule['dev.capsulegate.decision_id'] ?? null
}
