import { Gathered } from '../bytes/gathered.js'

const LF = 0x0a

/**
 * The lines of a pipe, however its reads cut them. A line ends at its LF and nowhere else; a CR before it belongs to
 * the line, for JSON takes it as white space. What stands behind the last LF is no line.
 */
export class Lines {
  readonly #maxBytes: number
  readonly #line: (octets: Uint8Array) => void
  readonly #carried = new Gathered()
  #tooLong = false

  constructor(maxBytes: number, line: (octets: Uint8Array) => void) {
    this.#maxBytes = maxBytes
    this.#line = line
  }

  /** False from the first line on that is too long: nothing more is read then. */
  push(chunk: Uint8Array): boolean {
    let from = 0
    while (!this.#tooLong) {
      const end = chunk.indexOf(LF, from)
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end)
      if (this.#carried.length + piece.length > this.#maxBytes) {
        this.#tooLong = true
        return false
      }
      if (end === -1) {
        if (piece.length > 0) this.#carried.append(piece)
        return true
      }
      this.#line(this.#whole(piece))
      from = end + 1
    }
    return false
  }

  /** Mostly a line comes in one read, and then it is not copied. */
  #whole(piece: Uint8Array): Uint8Array {
    if (this.#carried.length === 0) return piece
    this.#carried.append(piece)
    return this.#carried.take()
  }

  /** What was read of a line without end, once no more will come. */
  rest(): Uint8Array {
    return this.#carried.take()
  }
}

/** Nothing but white space: servers print such lines, and they say nothing. */
export function isBlank(line: Uint8Array): boolean {
  for (const octet of line) if (octet !== 0x20 && octet !== 0x09 && octet !== 0x0d) return false
  return true
}
