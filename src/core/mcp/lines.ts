import { Gathered } from '../bytes/gathered.js'

const LF = 0x0a

/**
 * The lines of a pipe, however its reads cut them. A line ends at its LF and nowhere else; a CR before it belongs to
 * the line, for JSON takes it as white space. What stands behind the last LF is no line.
 */
export class Lines {
  readonly #maxBytes: number
  readonly #line: (octets: Uint8Array) => void
  readonly #skipped: (() => void) | null
  readonly #carried = new Gathered()
  #tooLong = false

  /** `skipped`: a line that is too long is told and passed over; without it, reading ends there. */
  constructor(maxBytes: number, line: (octets: Uint8Array) => void, skipped?: () => void) {
    this.#maxBytes = maxBytes
    this.#line = line
    this.#skipped = skipped ?? null
  }

  /** False from the first line on that is too long, where none is passed over: nothing more is read then. */
  push(chunk: Uint8Array): boolean {
    let from = 0
    for (;;) {
      if (this.#tooLong && this.#skipped === null) return false
      const end = chunk.indexOf(LF, from)
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end)
      if (!this.#tooLong && this.#carried.length + piece.length > this.#maxBytes) {
        this.#tooLong = true
        if (this.#skipped === null) return false
        this.#carried.take()
      }
      if (end === -1) {
        if (piece.length > 0 && !this.#tooLong) this.#carried.append(piece)
        return true
      }
      this.#end(piece)
      from = end + 1
    }
  }

  #end(piece: Uint8Array): void {
    if (!this.#tooLong) {
      this.#line(this.#whole(piece))
      return
    }
    this.#tooLong = false
    this.#skipped?.()
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
