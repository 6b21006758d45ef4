import { type Listed, listedOf } from '../../adapters/journal/index/listed.js'
import type { DriverEntry } from '../../adapters/journal/model.js'
import type { HandedEntry } from '../../adapters/journal/write/entry.js'
import type { EvidencePart, EvidenceRecord } from '../../ports/evidence.js'

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

/** The members stay behind, where the line is folded: the writer gets the text, and what it lists. */
export function packEntries(entries: readonly DriverEntry[]): PackedEntries {
  const packed: unknown[] = []
  for (const entry of entries) {
    const { type, json, members } = entry
    const listed = packListed(listedOf(type, () => members ?? JSON.parse(json)))
    if (!('seal' in entry)) packed.push(PLAIN_FIELDS, listed.length, type, json)
    else {
      const { payload, statement, iss, sub, actionType, decisionId } = entry.seal
      packed.push(SEAL_FIELDS, listed.length, type, json)
      packed.push(payload, statement, iss, sub, actionType, decisionId)
    }
    packed.push(...listed)
  }
  return packed
}

export function unpackEntries(packed: PackedEntries): HandedEntry[] {
  const entries: HandedEntry[] = []
  for (let i = 0; i < packed.length; ) {
    const [fields, more] = [packed[i] as number, packed[i + 1] as number]
    const start = i + 2
    const [type, json, payload, statement, iss, sub, actionType, decisionId] = packed.slice(
      start,
      start + fields,
    )
    i = start + fields + more
    const listed = unpackListed(packed.slice(start + fields, i))
    const seal = { payload, statement, iss, sub, actionType, decisionId }
    entries.push(
      (fields === PLAIN_FIELDS
        ? { type, json, listed }
        : { type, json, seal, members: NOTHING, listed }) as HandedEntry,
    )
  }
  return entries
}
const NOTHING = {}

function packListed(listed: Listed | null): readonly unknown[] {
  switch (listed?.kind) {
    case undefined:
      return []
    case 'dispatch':
      return [listed.action, listed.agent, listed.tool]
    case 'capsule': {
      const { action, verdict, decision, developer, dispatched, about } = listed
      const capsule = [action, verdict, decision, developer, dispatched]
      return about === null ? capsule : [...capsule, about.agent, about.tool]
    }
  }
}

const DISPATCH_FIELDS = 3
const CAPSULE_FIELDS = 5

function unpackListed(packed: readonly unknown[]): Listed | null {
  if (packed.length === 0) return null
  if (packed.length === DISPATCH_FIELDS) {
    const [action, agent, tool] = packed
    return { kind: 'dispatch', action, agent, tool } as Listed
  }
  const [action, verdict, decision, developer, dispatched, agent, tool] = packed
  const about = packed.length === CAPSULE_FIELDS ? null : { agent, tool }
  return { kind: 'capsule', action, verdict, decision, developer, dispatched, about } as Listed
}
