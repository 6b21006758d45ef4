/**
 * Cuts a ledger into its records as the bytes come, holding one record at a time: the elements of a
 * JSON array, or lines. Only the cut is made here; each record meets the strict parser on its own.
 */
export type Unit =
  | { readonly kind: 'record'; readonly bytes: Uint8Array; readonly terminated: boolean }
  | { readonly kind: 'broken'; readonly code: string; readonly at: number }
  /** Lines with nothing on them, or space before the first one: no record, and a journal has none. */
  | { readonly kind: 'blank' }

export const MAX_RECORD_BYTES = 16 * 1024 * 1024

const LF = 0x0a
const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === LF || byte === 0x0d || byte === 0x09

export type Cutter = {
  push(chunk: Uint8Array): Unit[]
  end(): Unit[]
}

/** What the first byte that is not space says: `[` is an array, anything else is lines. */
export function cutter(): Cutter {
  let inner: Cutter | null = null
  let spaced = false
  return {
    push(chunk) {
      if (inner === null) {
        const start = chunk.findIndex((byte) => !isSpace(byte))
        spaced ||= start !== 0 && chunk.length > 0
        if (start < 0) return []
        const isArray = chunk[start] === 0x5b
        inner = isArray ? arrayCutter() : lineCutter()
        const units = inner.push(chunk.subarray(start))
        return spaced && !isArray ? [{ kind: 'blank' }, ...units] : units
      }
      return inner.push(chunk)
    },
    end: () => inner?.end() ?? [{ kind: 'broken', code: 'empty', at: 0 }],
  }
}

/** Grows by doubling; a record over the limit is dropped as it comes and reported once. */
class Pending {
  #bytes = new Uint8Array(4096)
  length = 0
  over = false

  add(chunk: Uint8Array): void {
    const needed = this.length + chunk.length
    if (needed > MAX_RECORD_BYTES) {
      this.over = true
      return
    }
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
      grown.set(this.#bytes.subarray(0, this.length))
      this.#bytes = grown
    }
    this.#bytes.set(chunk, this.length)
    this.length = needed
  }
  take(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.length)
    this.length = 0
    this.over = false
    return bytes
  }
}

function lineCutter(): Cutter {
  const held = new Pending()
  let offset = 0
  const flush = (out: Unit[], terminated: boolean): void => {
    if (held.over) out.push({ kind: 'broken', code: 'record_too_large', at: offset })
    const bytes = held.take()
    if (bytes.some((byte) => !isSpace(byte))) out.push({ kind: 'record', bytes, terminated })
    else if (terminated || bytes.length > 0) out.push({ kind: 'blank' })
  }
  return {
    push(chunk) {
      const out: Unit[] = []
      let from = 0
      for (let lf = chunk.indexOf(LF); lf >= 0; lf = chunk.indexOf(LF, from)) {
        held.add(chunk.subarray(from, lf))
        flush(out, true)
        from = lf + 1
      }
      held.add(chunk.subarray(from))
      offset += chunk.length
      return out
    },
    end() {
      const out: Unit[] = []
      flush(out, false)
      return out
    },
  }
}

/** `[` record (`,` record)* `]`, by depth and string state alone. */
function arrayCutter(): Cutter {
  const held = new Pending()
  let offset = 0
  let depth = 0
  let inString = false
  let escaped = false
  let records = 0
  let state: 'open' | 'inside' | 'closed' | 'broken' = 'open'

  const cut = (out: Unit[], last: boolean, at: number): void => {
    if (held.over) out.push({ kind: 'broken', code: 'record_too_large', at })
    const bytes = held.take()
    const blank = bytes.every(isSpace)
    if (!blank) out.push({ kind: 'record', bytes, terminated: true })
    else if (!last || records > 0) out.push({ kind: 'broken', code: 'syntax', at })
    records++
  }
  return {
    push(chunk) {
      const out: Unit[] = []
      let from = 0
      for (let i = 0; i < chunk.length; i++) {
        const byte = chunk[i] as number
        if (state === 'broken') break
        if (state === 'closed') {
          if (isSpace(byte)) continue
          state = 'broken'
          out.push({ kind: 'broken', code: 'trailing_text', at: offset + i })
        } else if (state === 'open') {
          state = 'inside'
          from = i + 1
        } else if (inString) {
          if (escaped) escaped = false
          else if (byte === 0x5c) escaped = true
          else if (byte === 0x22) inString = false
        } else if (byte === 0x22) inString = true
        else if (byte === 0x7b || byte === 0x5b) depth++
        else if ((byte === 0x5d || byte === 0x2c) && depth === 0) {
          held.add(chunk.subarray(from, i))
          from = i + 1
          cut(out, byte === 0x5d, offset + i)
          if (byte === 0x5d) state = 'closed'
        } else if ((byte === 0x7d || byte === 0x5d) && depth > 0) depth--
      }
      if (state === 'inside') held.add(chunk.subarray(from))
      offset += chunk.length
      return out
    },
    end: () => (state === 'inside' ? [{ kind: 'broken', code: 'truncated', at: offset }] : []),
  }
}
