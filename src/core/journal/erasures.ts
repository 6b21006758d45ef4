import type { Line } from './vocabulary.js'

/** The line that says that a key was destroyed on purpose. */
export type Erasure = {
  readonly seq: number
  readonly at: string
  /** How many records went dark, and the digest of their names; null where the line does not say. */
  readonly records: number | null
  readonly names: string | null
}

export type Erasures = {
  add(line: Line): void
  /** Null where no line so far explains why the key with that id is gone. */
  of(key: string): Erasure | null
}

/**
 * Why keys of the evidence store are gone, by the journal's own lines. Lines of 0.1 do not name the key: one
 * that darkened something explains any key that no other line names. EVIDENCE_ERASING alone explains one too,
 * because a stop may have come between the key's destruction and the line about it.
 */
export function createErasures(): Erasures {
  const named = new Map<string, Erasure>()
  let older: Erasure | null = null
  return {
    add(line) {
      const { seq, at } = line
      if (line.type === 'EVIDENCE_ERASING') {
        if (line.key !== undefined) named.set(line.key, { seq, at, records: null, names: null })
      } else if (line.type === 'EVIDENCE_ERASED') {
        const { key, records, names_digest: names = null } = line
        if (key !== undefined) named.set(key, { seq, at, records, names })
        else if (records > 0) older ??= { seq, at, records: null, names: null }
      }
    },
    of: (key) => named.get(key) ?? older,
  }
}
