import type { IdKey } from './ids.js'
import { AT, NO_SEGMENT, type Place, ROW, type Rows, UNKNOWN_SEGMENT } from './rows.js'

/** What rows are held against; a key that is null is any. */
export type Wanted = {
  readonly oldestFirst: boolean
  /** Lines between these two, both excluded. */
  readonly after: number
  readonly before: number
  /** Milliseconds since the epoch, both included. */
  readonly from: number
  readonly to: number
  readonly verdict: IdKey | null
  readonly tool: IdKey | null
  readonly agent: IdKey | null
  readonly decision: IdKey | null
}
export type Hit = {
  readonly seq: number
  readonly offset: number
  readonly dispatch: Place | 'unknown' | null
}

/**
 * The rows that may be wanted, in the order asked for. Neither seq nor time goes back within a journal,
 * so the answer is true when no row behind these can be wanted either.
 */
export function* hits({ buffer, count }: Rows, wanted: Wanted): Generator<Hit, boolean> {
  for (let i = 0; i < count; i++) {
    const at = (wanted.oldestFirst ? i : count - 1 - i) * ROW
    const seq = buffer.readDoubleBE(at + AT.seq)
    const time = buffer.readDoubleBE(at + AT.time)
    const early = seq <= wanted.after || time < wanted.from
    const late = seq >= wanted.before || time > wanted.to
    if (wanted.oldestFirst ? late : early) return true
    if (early || late || !hasKeys(buffer, at, wanted)) continue
    yield { seq, offset: buffer.readUInt32BE(at + AT.offset), dispatch: dispatchAt(buffer, at) }
  }
  return false
}

function hasKeys(buffer: Buffer, at: number, wanted: Wanted): boolean {
  if (!hasKey(buffer, at + AT.verdict, wanted.verdict)) return false
  if (!hasKey(buffer, at + AT.decision, wanted.decision)) return false
  // Its sender could not be looked up, so the keys say nothing.
  if (buffer.readUInt32BE(at + AT.dispatch) === UNKNOWN_SEGMENT) return true
  return hasKey(buffer, at + AT.tool, wanted.tool) && hasKey(buffer, at + AT.agent, wanted.agent)
}

const hasKey = (buffer: Buffer, at: number, key: IdKey | null): boolean =>
  key === null || (buffer.readUInt32BE(at) === key.high && buffer.readUInt32BE(at + 4) === key.low)

function dispatchAt(buffer: Buffer, at: number): Hit['dispatch'] {
  const segment = buffer.readUInt32BE(at + AT.dispatch)
  if (segment === NO_SEGMENT) return null
  if (segment === UNKNOWN_SEGMENT) return 'unknown'
  return { segment, offset: buffer.readUInt32BE(at + AT.dispatch + 4) }
}
