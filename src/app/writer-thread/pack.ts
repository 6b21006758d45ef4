import { listedOf } from '../../adapters/journal/index/listed.js'
import type { DriverEntry } from '../../adapters/journal/model.js'
import type { HandedEntry } from '../../adapters/journal/write/entry.js'
import type { EvidencePart, EvidenceRecord } from '../../ports/evidence.js'

/** A record as a flat list: threads copy value by value, and with the name of every member it takes twice as long. */
export type PackedRecord = readonly unknown[]

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

const NO_MEMBERS = {}

/** The members stay behind, where the line is folded: the worker gets the text, and what the capsule list keeps. */
export const handedEntries = (entries: readonly DriverEntry[]): HandedEntry[] =>
  entries.map((entry) => {
    const { type, json, members } = entry
    const listed = listedOf(type, () => members ?? JSON.parse(json))
    if (!('seal' in entry)) return { type, json, listed }
    const { payload, statement, iss, sub, actionType, decisionId } = entry.seal
    const seal = { payload, statement, iss, sub, actionType, decisionId }
    return { type: entry.type, json, members: NO_MEMBERS, seal, listed }
  })
