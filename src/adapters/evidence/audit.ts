import { join } from 'node:path'
import { NAME_BYTES } from '../../core/evidence/names.js'
import { existsSync, readFileSync } from '../disk/files.js'
import { type Frame, type Head, readFrame, scanSegment } from './frame.js'
import { readKeys } from './key-store.js'
import { readingOf } from './lookup.js'
import { deriveMasterKey } from './master-key.js'
import { segmentFiles } from './segment-files.js'

/** One record of a store, opened as far as that goes; `digests` are those its head names. */
export type AuditedRecord = { readonly where: string; readonly digests: readonly string[] } & (
  | { readonly state: 'read' }
  /** `names` as the index of the store has them. */
  | { readonly state: 'erased'; readonly key: string; readonly names: readonly string[] }
  | { readonly state: 'damaged'; readonly detail: string }
)

/**
 * Every record of a store, read from its files beside a running gate: nothing is locked, mended or
 * written. The octets behind the last whole record may be one that is just being written, and are left out.
 */
export function* auditRecords(dir: string, masterKey: Uint8Array): Generator<AuditedRecord> {
  const folder = join(dir, 'segments')
  if (!existsSync(folder)) return
  const keys = readKeys(join(dir, 'keys'), deriveMasterKey(masterKey))
  const files = segmentFiles(folder, {}, () => undefined)
  for (const number of files.numbers()) {
    const path = files.path(number)
    const bytes = readFileSync(path)
    const { records, damage, end } = scanSegment(bytes)
    for (const { offset } of records) {
      const frame = readFrame(bytes.subarray(offset))
      if ('head' in frame) yield audited(frame, `${path}, record at ${offset}`)
    }
    for (const { offset, bytes: length } of damage) {
      const isTold = records.some((one) => one.offset >= offset && one.offset < offset + length)
      const detail = `${length} octets are no record`
      if (!isTold) yield { where: `${path} at ${offset}`, digests: [], state: 'damaged', detail }
    }
    const behind = readFrame(bytes.subarray(end))
    if ('head' in behind) yield audited(behind, `${path}, record at ${end}`)
  }

  function audited(frame: Extract<Frame, { head: unknown }>, where: string): AuditedRecord {
    const { head } = frame
    const digests = head.digests.map((digest) => digest.toString('hex'))
    const reading = readingOf(keys, frame, where)
    switch (reading.state) {
      case 'erased':
        return {
          where,
          digests,
          state: 'erased',
          key: head.keyId.toString('hex'),
          names: named(head),
        }
      case 'damaged':
        return { where, digests, state: 'damaged', detail: reading.detail }
      case 'read': {
        const bad = reading.parts.find(({ ok }) => !ok)
        return bad === undefined || bad.ok
          ? { where, digests, state: 'read' }
          : { where, digests, state: 'damaged', detail: `${where}: ${bad.detail}` }
      }
    }
  }
}

const named = ({ action, digests }: Head): readonly string[] =>
  [action, ...digests].map((name) => name.toString('hex', 0, NAME_BYTES))
