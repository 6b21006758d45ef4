import type { Observation } from '../../core/capsule/observation.js'
import { createEndedIds } from '../../core/mcp/ended-ids.js'
import { witnessMessage } from '../../core/mcp/witness.js'
import { allowed, notSent } from '../../ports/dispatch.js'
import type { McpControl, McpFault, McpReceived, McpSending } from '../../ports/mcp.js'
import { nodeCrypto } from '../crypto-node.js'
import type { Letter } from './outbox.js'

/** The longest that a timer can sleep. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1

type Partial = Extract<Observation, { kind: 'sent' }>['partial']
/** `leaving`: the pipe has begun to take it. `left`: it has all of it. */
type Underway = Letter & {
  phase: 'queued' | 'leaving' | 'left'
  end(received: McpReceived): void
}

/** The requests of one connection that are not answered yet, by id. */
export function createRequests(outbox: {
  put(letter: Letter): void
  remove(letter: Letter): void
}) {
  const underway = new Map<string, Underway>()
  const ended = createEndedIds()

  /** Classed by phase: what has not begun to leave was not sent, and all else was. */
  const giveUp = (request: Underway, cause: string, deadline: boolean, partial?: Partial): void => {
    const observation: Extract<Observation, { kind: 'not_sent' | 'sent' }> =
      request.phase === 'queued'
        ? notSent(cause, deadline)
        : { kind: 'sent', cause, deadline, ...(partial === undefined ? {} : { partial }) }
    request.end({ kind: 'none', observation })
  }

  const begin = (
    sending: McpSending,
    { stillAllowed, totalMs, signal, wrote }: McpControl,
    resolve: (received: McpReceived) => void,
  ): void => {
    const key = `n${sending.id}`
    const onAbort = (): void => giveUp(request, 'cancelled', false)
    const timer =
      totalMs === 0
        ? null
        : setTimeout(
            () => giveUp(request, 'total_deadline', true),
            Math.min(LONGEST_SLEEP_MS, totalMs),
          )
    const request: Underway = {
      octets: sending.octets,
      ...(wrote === undefined ? {} : { wrote }),
      phase: 'queued',
      mayLeave() {
        if (allowed(stillAllowed)) {
          request.phase = 'leaving'
          return true
        }
        giveUp(request, 'withdrawn', false)
        return false
      },
      left(whole) {
        if (whole) request.phase = 'left'
        else giveUp(request, 'stdin_closed', false)
      },
      end(received) {
        if (!underway.delete(key)) return
        if (timer !== null) clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        if (request.phase === 'queued') outbox.remove(request)
        else ended.add(key, received.kind === 'message' ? 'answered' : 'given_up')
        resolve(received)
      },
    }
    underway.set(key, request)
    signal?.addEventListener('abort', onAbort, { once: true })
    outbox.put(request)
  }

  return {
    send(sending: McpSending, control: McpControl): Promise<McpReceived> {
      if (underway.has(`n${sending.id}`)) return none('id_in_use')
      if (control.signal?.aborted === true) return none('cancelled')
      return new Promise((resolve) => begin(sending, control, resolve))
    },
    /** Null: it was waited for, or came too late to be. */
    answer(key: string, octets: Uint8Array): McpFault | null {
      const request = underway.get(key)
      if (request === undefined || request.phase === 'queued') return ended.judge(key)
      if (request.phase === 'leaving') {
        // DESIGN §2.3: an answer to a request that had not wholly left is an answer to something else.
        giveUp(request, 'early_answer', false)
        return ended.judge(key)
      }
      const observe = (rule: Parameters<typeof witnessMessage>[2]): Observation =>
        witnessMessage(octets, 'line', rule, nodeCrypto)
      request.end({ kind: 'message', octets, observe })
      return null
    },
    /** Those of which nothing has left. */
    giveUpQueued(cause: string): void {
      for (const request of [...underway.values()]) {
        if (request.phase === 'queued') giveUp(request, cause, false)
      }
    },
    /** `partial`: of a line that has no end. Whose it was is certain only where one request was waiting. */
    giveUpAll(cause: string, partial?: Partial): void {
      const all = [...underway.values()]
      const sent = all.filter(({ phase }) => phase !== 'queued')
      for (const request of all) {
        giveUp(request, cause, false, sent.length === 1 ? partial : undefined)
      }
    },
  }
}

export const none = async (cause: string): Promise<McpReceived> => ({
  kind: 'none',
  observation: notSent(cause),
})
