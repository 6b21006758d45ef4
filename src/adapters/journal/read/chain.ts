import { GateError, type Location } from '../../../core/error.js'
import { AT_LENGTH, envelopeStart, isAt, type LineVersion } from '../../../core/journal/line.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import { leafHashAt } from './hash.js'

/** A position in the chain: the last line, and what the next must link to. */
export type Cursor = {
  readonly seq: number
  readonly prev: string
  readonly at: string
  /** Of the last line; null where that is not known, as before the first. */
  readonly v: LineVersion | null
}

/** Before line `first`, of which only the link is known. */
export const cursorBefore = (first: number, prev: string): Cursor => ({
  seq: first - 1,
  prev,
  at: '',
  v: null,
})

/** A line in a reader's buffer, without its LF; the buffer is the reader's again when it goes on. */
export type LineBytes = { readonly buffer: Buffer; readonly start: number; readonly stop: number }

export const textOf = ({ buffer, start, stop }: LineBytes): string =>
  buffer.toString('utf8', start, stop)

/** A line that links to the one before it. */
export type LinkedLine = LineBytes & {
  /** The line's position in the file. */
  readonly offset: number
  readonly seq: number
  readonly prev: string
  readonly at: string
  readonly hash: string
  readonly type: string
  readonly v: LineVersion
}

export const cursorBehind = ({ seq, hash, at, v }: LinkedLine): Cursor => ({
  seq,
  prev: hash,
  at,
  v,
})

/** The line at [start, stop), which begins at `offset` of its file; throws a GateError that names file and line. */
export type LinkLine = (buffer: Buffer, start: number, stop: number, offset: number) => LinkedLine

const TYPE_START = '","type":"'
/** The longest type and its closing quote. */
const TYPE_ROOM = 65
const CLOSING_BRACE = 125
const VERSION_AT = '{"v":'.length
const ONE = '1'.charCodeAt(0)
/** The one line that may stand between version 1 and version 2 (DESIGN §5). */
const ADOPTED = 'ADOPTED'

/**
 * Checks the lines of one file in their order: envelope, sequence, linkage and time. Nothing is parsed: the envelope
 * has one spelling, so it is compared as bytes.
 */
export function openChain(file: string, origin: string, from: Cursor): LinkLine {
  let { seq, prev, at, v } = from
  let sealed = false
  const fault = (code: 'damaged' | 'forked', what: string, more?: Partial<Location>): GateError =>
    new GateError(code, what, { file, line: seq - from.seq + 1, ...more })
  return (buffer, start, stop, offset) => {
    if (sealed) throw fault('forked', 'a line stands after the seal')
    const version: LineVersion = buffer[start + VERSION_AT] === ONE ? 1 : 2
    const expected = envelopeStart(version, origin, seq + 1, prev)
    const atEnd = expected.length + AT_LENGTH
    const typeStart = atEnd + TYPE_START.length
    // One string for the whole envelope: each crossing into the buffer costs as much as comparing it.
    const text = buffer.toString('latin1', start, Math.min(start + typeStart + TYPE_ROOM, stop))
    if (!text.startsWith(expected)) {
      const location = { file, line: seq - from.seq + 1 }
      throw envelopeFault(location, expected, text.slice(0, expected.length))
    }
    const typeEnd = text.indexOf('"', typeStart)
    const whole =
      text.startsWith(TYPE_START, atEnd) && typeEnd > 0 && buffer[stop - 1] === CLOSING_BRACE
    if (!whole) throw fault('damaged', 'the line is broken')
    const time = text.slice(expected.length, atEnd)
    if (time !== at && (!isAt(time) || time < at)) {
      throw fault('damaged', 'time goes back', { expected: `at ${at} or later`, found: time })
    }
    const type = text.slice(typeStart, typeEnd)
    if (v !== null && v !== version && type !== ADOPTED) {
      const found = `a ${type} line of version ${version} behind version ${v}`
      throw fault('damaged', 'the version changes', { found })
    }
    const hash = leafHashAt(buffer, start, stop)
    const before = prev
    sealed = type === SEAL_TYPE
    seq++
    prev = hash
    at = time
    v = version
    return { buffer, start, stop, offset, seq, prev: before, at, hash, type, v: version }
  }
}

/** Distinguishes a broken link from a foreign journal and from a repeated or skipped sequence number. */
function envelopeFault(location: Location, expected: string, found: string): GateError {
  for (const [name, code, what] of [
    ['origin', 'foreign_origin', 'the line is of another origin'],
    ['seq', 'damaged', 'the sequence is broken'],
    ['prev', 'damaged', 'the line does not link to the one before it'],
  ] as const) {
    const want = field(expected, name)
    const got = field(found, name)
    if (want === got) continue
    return new GateError(got === undefined ? 'damaged' : code, what, {
      ...location,
      expected: `${name} ${want}`,
      found: got === undefined ? JSON.stringify(found) : `${name} ${got}`,
    })
  }
  const shown = { expected: JSON.stringify(expected), found: JSON.stringify(found) }
  return new GateError('damaged', 'the envelope is broken', { ...location, ...shown })
}

const field = (text: string, name: string): string | undefined =>
  new RegExp(`"${name}":"?([^",]+)`).exec(text)?.[1]
