import type { DriverEntry } from '../../adapters/journal/model.js'
import type { EvidencePart, EvidenceRecord } from '../../ports.js'

/**
 * Writes as flat lists: what crosses between threads is copied value by value, and with the names of
 * every member it took three times as long. Both ends are here, side by side.
 */
export type PackedRecord = readonly unknown[]
export type PackedEntries = readonly unknown[]

const RECORD_FIELDS = 4
const PART_FIELDS = 6

/** Octets go in buffers of their own, which `transfer` collects: they are handed over, not copied. */
export function packRecord(record: EvidenceRecord, transfer: ArrayBuffer[]): PackedRecord {
  const { actionId, operator, subject, at, parts } = record
  const packed: unknown[] = [actionId, operator, subject, at]
  for (const { digest, kind, name, value, text, bytes } of parts) {
    const own = bytes === undefined ? undefined : owned(bytes)
    if (own !== undefined) transfer.push(own.buffer)
    // The text says all that the value does; a value alone is copied as it is.
    packed.push(digest, kind, name, text === undefined ? value : undefined, text, own)
  }
  return packed
}

export function unpackRecord(packed: PackedRecord): EvidenceRecord {
  const [actionId, operator, subject, at] = packed as [string, string, string | null, string]
  const parts: EvidencePart[] = []
  for (let i = RECORD_FIELDS; i < packed.length; i += PART_FIELDS) {
    const [digest, kind, name, value, text, bytes] = packed.slice(i, i + PART_FIELDS)
    parts.push({ digest, kind, name, value, text, bytes } as EvidencePart)
  }
  return { actionId, operator, subject, at, parts }
}

/** A view may look into a large shared buffer; cloning it would carry all of that along. */
export const owned = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

const PLAIN_FIELDS = 2
const SEAL_FIELDS = 8

/** The members stay behind, where the line is folded: the writer reads the text. */
export function packEntries(entries: readonly DriverEntry[]): PackedEntries {
  const packed: unknown[] = []
  for (const entry of entries) {
    if (!('seal' in entry)) packed.push(PLAIN_FIELDS, entry.type, entry.json)
    else {
      const { payload, statement, iss, sub, actionType, decisionId } = entry.seal
      packed.push(SEAL_FIELDS, entry.type, entry.json)
      packed.push(payload, statement, iss, sub, actionType, decisionId)
    }
  }
  return packed
}

export function unpackEntries(packed: PackedEntries): DriverEntry[] {
  const entries: DriverEntry[] = []
  for (let i = 0; i < packed.length; ) {
    const fields = packed[i] as number
    const [type, json, payload, statement, iss, sub, actionType, decisionId] = packed.slice(
      i + 1,
      i + 1 + fields,
    )
    const seal = { payload, statement, iss, sub, actionType, decisionId }
    entries.push(
      (fields === PLAIN_FIELDS
        ? { type, json }
        : { type, json, seal, members: NOTHING }) as DriverEntry,
    )
    i += 1 + fields
  }
  return entries
}
const NOTHING = {}
