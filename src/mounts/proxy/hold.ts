import type { ServerResponse } from 'node:http'
import type { Held, Memory } from '../../gate/memory.js'

/** Whatever must be held is bounded too: above this an answer is observed to its end but not delivered. */
export const MAX_HELD = 64 * 1024 * 1024

export type HoldTerms = {
  readonly holdLimit: number
  /** Hold whatever its size: HTTP/1.0 cannot show a truncation, and a manifest may want it. */
  readonly holdAll: boolean
}

/**
 * The terms with room for all that they may hold. Without room an answer is passed on at once instead;
 * null where it must be held.
 */
export function withRoom<T extends HoldTerms>(
  terms: T,
  memory: Memory,
): (T & { readonly room: Held | null }) | null {
  const room = memory.hold(terms.holdAll ? MAX_HELD : terms.holdLimit)
  if (room === null && terms.holdAll) return null
  return room === null ? { ...terms, holdLimit: -1, room } : { ...terms, room }
}

/** A few octets go to the kernel at once: no listener waits for them. */
const SMALL = 16 * 1024

/** Room is given back when the answer has left, or can no longer leave. */
export function letGoWhenOut(res: ServerResponse, room: Held | null, size: number): void {
  if (room === null) return
  const { socket } = res.req
  if (size <= SMALL || res.closed || socket.destroyed) {
    room.letGo()
    return
  }
  const over = (): void => {
    res.off('close', over)
    // A response that never got the connection is told nothing of its end.
    socket.off('close', over)
    room.letGo()
  }
  res.on('close', over)
  socket.on('close', over)
}
