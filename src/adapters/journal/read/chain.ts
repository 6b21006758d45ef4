import { GateError } from '../../../core/error.js'
import { AT_LENGTH, envelopeStart, isAt, type LineVersion } from '../../../core/journal/line.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import { leafHashAt } from './hash.js'

/** A place in the chain: the last line, and what the next must link to. */
export type Cursor = {
  readonly seq: number
  readonly prev: string
  readonly at: string
  /** Of the last line; null where that is not known, as before the first. */
  readonly v: LineVersion | null
}

export type Stepped = {
  readonly type: string
  readonly hash: string
  readonly at: string
  readonly v: LineVersion
}
export type Chain = {
  /** The line at [start, stop), LF excluded; throws a GateError that names file and line. */
  step(buffer: Buffer, start: number, stop: number): Stepped
  cursor(): Cursor
  /** Lines seen in this file. */
  lines(): number
}

const TYPE_START = '","type":"'
/** The longest type and its closing quote. */
const TYPE_ROOM = 65
const CLOSING_BRACE = 125
const VERSION_AT = '{"v":'.length
const ONE = '1'.charCodeAt(0)
/** The one line that may stand between version 1 and version 2 (DESIGN §5). */
const ADOPTED = 'ADOPTED'

/**
 * Checks each line's envelope, sequence, linkage and time. Nothing is parsed: the envelope has one
 * spelling, so it is compared as bytes.
 */
export function openChain(file: string, origin: string, from: Cursor): Chain {
  let { seq, prev, at, v } = from
  let lines = 0
  let sealed = false
  const place = () => ({ file, line: lines + 1 })
  return {
    cursor: () => ({ seq, prev, at, v }),
    lines: () => lines,
    step(buffer, start, stop) {
      if (sealed) throw new GateError('forked', 'a line stands after the seal', place())
      const version: LineVersion = buffer[start + VERSION_AT] === ONE ? 1 : 2
      const expected = envelopeStart(version, origin, seq + 1, prev)
      const atEnd = expected.length + AT_LENGTH
      const typeStart = atEnd + TYPE_START.length
      // One string for the whole envelope: each crossing into the buffer costs as much as comparing it.
      const text = buffer.toString('latin1', start, Math.min(start + typeStart + TYPE_ROOM, stop))
      if (!text.startsWith(expected)) {
        throw envelopeFault(place(), expected, text.slice(0, expected.length))
      }
      const typeEnd = text.indexOf('"', typeStart)
      const whole =
        text.startsWith(TYPE_START, atEnd) && typeEnd > 0 && buffer[stop - 1] === CLOSING_BRACE
      if (!whole) throw new GateError('damaged', 'the line is broken', place())
      const time = text.slice(expected.length, atEnd)
      if (time !== at && (!isAt(time) || time < at)) {
        const expectedTime = `at ${at} or later`
        throw new GateError('damaged', 'time goes back', {
          ...place(),
          expected: expectedTime,
          found: time,
        })
      }
      const type = text.slice(typeStart, typeEnd)
      if (v !== null && v !== version && type !== ADOPTED) {
        const found = `a ${type} line of version ${version} behind version ${v}`
        throw new GateError('damaged', 'the version changes', { ...place(), found })
      }
      const hash = leafHashAt(buffer, start, stop)
      sealed = type === SEAL_TYPE
      seq++
      lines++
      prev = hash
      at = time
      v = version
      return { type, hash, at, v: version }
    },
  }
}

/** Tells a broken link from a foreign journal and from a repeated or skipped sequence number. */
function envelopeFault(
  place: { file: string; line: number },
  expected: string,
  found: string,
): GateError {
  for (const [name, code, what] of [
    ['origin', 'foreign_origin', 'the line is of another origin'],
    ['seq', 'damaged', 'the sequence is broken'],
    ['prev', 'damaged', 'the line does not link to the one before it'],
  ] as const) {
    const want = field(expected, name)
    const got = field(found, name)
    if (want === got) continue
    return new GateError(got === undefined ? 'damaged' : code, what, {
      ...place,
      expected: `${name} ${want}`,
      found: got === undefined ? JSON.stringify(found) : `${name} ${got}`,
    })
  }
  const shown = { expected: JSON.stringify(expected), found: JSON.stringify(found) }
  return new GateError('damaged', 'the envelope is broken', { ...place, ...shown })
}

const field = (text: string, name: string): string | undefined =>
  new RegExp(`"${name}":"?([^",]+)`).exec(text)?.[1]
