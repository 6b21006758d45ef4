import { listedOf } from '../../adapters/journal/index/listed.js'
import type { DriverEntry } from '../../adapters/journal/model.js'
import type { HandedEntry } from '../../adapters/journal/write/entry.js'
import type { EvidencePart, EvidenceRecord } from '../../ports/evidence.js'
import type { Appended, CoveringHead } from '../../ports/journal.js'

/** A record as a flat list: threads copy value by value, and with the name of every member it takes twice as long. */
export type PackedRecord = readonly unknown[]

const RECORD_FIELDS = 4
const PART_FIELDS = 6

/** Fewer octets than this are copied as text: handing over a buffer takes longer. */
const LARGE = 4096

/** Octets go in buffers of their own, which `transfer` collects: they are handed over, not copied. Few go as text. */
export function packRecord(record: EvidenceRecord, transfer: ArrayBuffer[]): PackedRecord {
  const { actionId, operator, subject, at, parts } = record
  const packed: unknown[] = [actionId, operator, subject, at]
  for (const { digest, kind, name, value, text, bytes } of parts) {
    // The text says all that the value does; a value alone is copied as it is.
    const octets = bytes === undefined ? undefined : packOctets(bytes, transfer)
    packed.push(digest, kind, name, text === undefined ? value : undefined, text, octets)
  }
  return packed
}

export function unpackRecord(packed: PackedRecord): EvidenceRecord {
  const [actionId, operator, subject, at] = packed as [string, string, string | null, string]
  const parts: EvidencePart[] = []
  for (let i = RECORD_FIELDS; i < packed.length; i += PART_FIELDS) {
    const [digest, kind, name, value, text, octets] = packed.slice(i, i + PART_FIELDS)
    const bytes = typeof octets === 'string' ? Buffer.from(octets, 'latin1') : octets
    parts.push({ digest, kind, name, value, text, bytes } as EvidencePart)
  }
  return { actionId, operator, subject, at, parts }
}

function packOctets(bytes: Uint8Array, transfer: ArrayBuffer[]): string | Uint8Array {
  if (bytes.length < LARGE) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  }
  const own = owned(bytes)
  transfer.push(own.buffer)
  return own
}

/** A view may look into a large shared buffer; cloning it would carry all of that along. */
export const owned = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

const NO_MEMBERS = {}

/** The members stay behind, where the line is folded: the worker gets the text, and what the capsule list keeps. */
export const handedEntries = (entries: readonly DriverEntry[]): HandedEntry[] =>
  entries.map((entry) => {
    const { type, json, members } = entry
    const listed = listedOf(type, () => members ?? JSON.parse(json))
    if ('verifies' in entry) {
      return { type: entry.type, json, members: NO_MEMBERS, verifies: entry.verifies, listed }
    }
    if (!('seal' in entry)) return { type, json, listed }
    const { payload, statement, iss, sub, actionType, decisionId } = entry.seal
    const seal = { payload, statement, iss, sub, actionType, decisionId }
    return { type: entry.type, json, members: NO_MEMBERS, seal, listed }
  })

/** What an append resolves to, as a flat list: its lines stand one behind the other, in one batch. */
export type PackedAppended = readonly unknown[]

const BATCH_FIELDS = 4
const LINE_FIELDS = 2

export function packAppended(lines: readonly Appended[]): PackedAppended {
  const [first] = lines
  if (first === undefined) return []
  const packed: unknown[] = [first.head, first.at, first.seq, first.prev]
  for (const { hash, sealed } of lines) packed.push(hash, sealed)
  return packed
}

export function unpackAppended(packed: PackedAppended): readonly Appended[] {
  if (packed.length === 0) return []
  const [head, at, first, before] = packed as [CoveringHead, string, number, string]
  const lines: Appended[] = []
  let [seq, prev] = [first, before]
  for (let i = BATCH_FIELDS; i < packed.length; i += LINE_FIELDS) {
    const hash = packed[i] as string
    const sealed = packed[i + 1] as Appended['sealed']
    const line = { seq, prev, at, hash, head }
    lines.push(sealed === undefined ? line : { ...line, sealed })
    seq++
    prev = hash
  }
  return lines
}
