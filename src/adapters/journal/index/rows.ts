import { type IdKey, idKey } from './ids.js'
import type { Listed, Sender } from './listed.js'

/**
 * The capsule list of one segment: a row per CAPSULE line in the order of the lines, 60 bytes,
 * big-endian {seq f64, time f64, offset u32, dispatch segment u32, dispatch offset u32, and the 64-bit
 * keys of verdict, tool, agent and decision}. The same bytes stand in memory and in the sidecar. Keys
 * only pre-select: the reader of a row reads its line and compares the members.
 */
export const ROW = 60
/** Where the members of a row begin. */
const AT = {
  seq: 0,
  time: 8,
  offset: 16,
  dispatch: 20,
  verdict: 28,
  tool: 36,
  agent: 44,
  decision: 52,
} as const
/** Stands for no dispatch. */
const NO_SEGMENT = 0
/** Stands for a dispatch that could not be looked up: its segment was archived by then. */
const UNKNOWN_SEGMENT = 0xffffffff
const NO_KEY: IdKey = { high: 0, low: 0 }

export type Rows = { readonly buffer: Buffer; readonly count: number }
export type Position = { readonly segment: number; readonly offset: number }
export type Dispatched = Position & Sender

/** Finds the dispatch line of an action in the segments before this one. */
export type FindDispatch = (action: string) => Promise<Dispatched | 'archived' | null>

export function newRowTable(segment: number) {
  let buffer = Buffer.allocUnsafeSlow(ROW * 64)
  let count = 0
  /** Dispatches of this segment until their conclusion: every action has one capsule (DESIGN §5). */
  const inFlight = new Map<string, Dispatched>()
  /** Rows whose dispatch stands in an earlier segment. */
  const early = new Set<{ readonly row: number; readonly action: string }>()

  const putSender = (row: number, { agent, tool }: Sender): void => {
    putKey(buffer, row * ROW + AT.tool, tool)
    putKey(buffer, row * ROW + AT.agent, agent)
  }
  const putDispatch = (row: number, { segment, offset }: Position): void => {
    buffer.writeUInt32BE(segment, row * ROW + AT.dispatch)
    buffer.writeUInt32BE(offset, row * ROW + AT.dispatch + 4)
  }
  return {
    add(listed: Listed, seq: number, time: number, offset: number): void {
      if (listed.kind === 'dispatch') {
        const { action, agent, tool } = listed
        inFlight.set(action, { segment, offset, agent, tool })
        return
      }
      if ((count + 1) * ROW > buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
      const row = count++
      const at = row * ROW
      buffer.writeDoubleBE(seq, at + AT.seq)
      buffer.writeDoubleBE(time, at + AT.time)
      buffer.writeUInt32BE(offset, at + AT.offset)
      putKey(buffer, at + AT.verdict, listed.verdict)
      putKey(buffer, at + AT.decision, listed.decision)
      const { action, developer, about } = listed
      const dispatch = listed.dispatched ? inFlight.get(action) : undefined
      inFlight.delete(action)
      putDispatch(
        row,
        (about === null ? dispatch : undefined) ?? { segment: NO_SEGMENT, offset: 0 },
      )
      putSender(row, about ?? dispatch ?? { agent: developer, tool: null })
      if (about === null && listed.dispatched && dispatch === undefined) early.add({ row, action })
    },
    /** Complete rows; those that conclude a dispatch of an earlier segment are completed by `find`. */
    async rows(find: FindDispatch): Promise<Rows> {
      // Rows that are added meanwhile are visited as well.
      for (const one of early) {
        const dispatch = await find(one.action)
        if (dispatch === 'archived') putDispatch(one.row, { segment: UNKNOWN_SEGMENT, offset: 0 })
        else if (dispatch !== null) {
          putDispatch(one.row, dispatch)
          putSender(one.row, dispatch)
        }
        early.delete(one)
      }
      return { buffer, count }
    },
  }
}

/** Takes over from older rows of the same segment what these could not look up. */
export function keepUnknown(rows: Buffer, older: Buffer): void {
  for (let at = 0; at < rows.length; at += ROW) {
    if (rows.readUInt32BE(at + AT.dispatch) !== UNKNOWN_SEGMENT) continue
    older.copy(rows, at + AT.dispatch, at + AT.dispatch, at + AT.verdict)
    older.copy(rows, at + AT.tool, at + AT.tool, at + AT.decision)
  }
}

function putKey(buffer: Buffer, at: number, text: string | null): void {
  const { high, low } = text === null ? NO_KEY : idKey(text)
  buffer.writeUInt32BE(high, at)
  buffer.writeUInt32BE(low, at + 4)
}

/** What rows are compared with; a key that is null is any. */
export type Wanted = {
  readonly oldestFirst: boolean
  /** Lines between these two, both excluded. */
  readonly after: number
  readonly before: number
  /** Milliseconds since the epoch, both included. */
  readonly from: number
  readonly to: number
  readonly keys: { readonly [name in 'verdict' | 'tool' | 'agent' | 'decision']: IdKey | null }
}
export type Row = {
  readonly seq: number
  readonly offset: number
  readonly dispatch: Position | 'unknown' | null
}

/**
 * The row if it may be wanted. Neither seq nor time goes back within a journal, so `past` means that no row behind
 * this one can be wanted either.
 */
export function matchRow({ buffer }: Rows, row: number, wanted: Wanted): Row | 'other' | 'past' {
  const at = row * ROW
  const seq = buffer.readDoubleBE(at + AT.seq)
  const time = buffer.readDoubleBE(at + AT.time)
  const early = seq <= wanted.after || time < wanted.from
  const late = seq >= wanted.before || time > wanted.to
  if (wanted.oldestFirst ? late : early) return 'past'
  if (early || late) return 'other'
  const segment = buffer.readUInt32BE(at + AT.dispatch)
  const has = (name: keyof Wanted['keys']): boolean =>
    hasKey(buffer, at + AT[name], wanted.keys[name])
  // A sender that could not be looked up has no keys to compare.
  const sent = segment === UNKNOWN_SEGMENT || (has('tool') && has('agent'))
  if (!sent || !has('verdict') || !has('decision')) return 'other'
  const position = { segment, offset: buffer.readUInt32BE(at + AT.dispatch + 4) }
  const dispatch = segment === UNKNOWN_SEGMENT ? 'unknown' : position
  const offset = buffer.readUInt32BE(at + AT.offset)
  return { seq, offset, dispatch: segment === NO_SEGMENT ? null : dispatch }
}

const hasKey = (buffer: Buffer, at: number, key: IdKey | null): boolean =>
  key === null || (buffer.readUInt32BE(at) === key.high && buffer.readUInt32BE(at + 4) === key.low)
