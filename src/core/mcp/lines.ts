/** A line without its LF; `too_long`: it went beyond the limit and was not kept. */
export type Line =
  | { readonly kind: 'line'; readonly octets: Uint8Array }
  | { readonly kind: 'too_long' }

export type LineSplitter = {
  /** The lines that end in this piece. The octets are copies: a piece may be reused. */
  push(piece: Uint8Array): readonly Line[]
  /** Octets of a line that has begun and not ended. */
  rest(): number
}

const LF = 0x0a

/** Messages on stdio are lines. Split by octets: a character may be cut in two by the pipe. */
export function splitLines(maxBytes: number): LineSplitter {
  let kept: Uint8Array[] = []
  let length = 0
  let dropping = false

  function keep(piece: Uint8Array): void {
    if (dropping || piece.length === 0) return
    length += piece.length
    if (length <= maxBytes) {
      kept.push(piece.slice())
      return
    }
    dropping = true
    kept = []
  }
  function take(): Line {
    const line: Line = dropping ? { kind: 'too_long' } : { kind: 'line', octets: joined() }
    kept = []
    length = 0
    dropping = false
    return line
  }
  function joined(): Uint8Array {
    const [only] = kept
    if (kept.length === 1 && only !== undefined) return only
    const all = new Uint8Array(length)
    let at = 0
    for (const piece of kept) {
      all.set(piece, at)
      at += piece.length
    }
    return all
  }
  return {
    push(piece) {
      const lines: Line[] = []
      let from = 0
      for (;;) {
        const end = piece.indexOf(LF, from)
        if (end < 0) break
        keep(piece.subarray(from, end))
        lines.push(take())
        from = end + 1
      }
      keep(piece.subarray(from))
      return lines
    },
    rest: () => length,
  }
}
