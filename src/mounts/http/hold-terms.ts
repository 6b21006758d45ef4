import type { IncomingMessage } from 'node:http'
import type { Held, Memory } from '../../gate/memory.js'

/** An answer that must be held is bounded too: a longer one is observed to its end but not delivered. */
const MAX_HELD = 64 * 1024 * 1024

export type HoldTerms = {
  readonly holdLimit: number
  /** Hold whatever its size: HTTP/1.0 cannot show a truncation, and a manifest may want it. */
  readonly holdAll: boolean
}
/** How much of an answer is held, and what becomes of a longer one. */
export type Hold = {
  readonly limit: number
  readonly beyond: 'stream' | 'drop'
  /** Memory set aside for what is held; null where nothing is. */
  readonly room: Held | null
}

/** Without room an answer streams at once; null where it must be held. */
export function holdFor({ holdLimit, holdAll }: HoldTerms, memory: Memory): Hold | null {
  const limit = holdAll ? MAX_HELD : holdLimit
  const room = memory.hold(limit)
  if (holdAll) return room === null ? null : { limit, beyond: 'drop', room }
  return { limit: room === null ? -1 : limit, beyond: 'stream', room }
}

const TRAILERS = /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i

/** What a client's HTTP version and its TE field say about how an answer is let out. */
export function clientTerms({ httpVersion, headers }: IncomingMessage, mustHold: boolean) {
  const http10 = httpVersion === '1.0'
  const wantsTrailers = !http10 && TRAILERS.test(String(headers.te ?? ''))
  return { holdAll: mustHold || http10, wantsTrailers }
}
