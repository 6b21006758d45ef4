import { join } from 'node:path'
import { NAME_BYTES } from '../../../core/evidence/record-names.js'
import { existsSync, readFileSync } from '../../disk/files.js'
import { deriveMasterKey } from '../keys/master-key.js'
import { readKeys } from '../keys/store.js'
import { segmentFiles } from '../segment/files.js'
import { type ReadableFrame, readFrame, scanSegment } from '../segment/frame.js'
import { readRecord } from './find.js'

/** One record of a store, as far as it can be decrypted; `digests` are those in its head. */
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
      const isRecord = records.some((one) => one.offset >= offset && one.offset < offset + length)
      const detail = `${length} octets are no record`
      if (!isRecord) yield { where: `${path} at ${offset}`, digests: [], state: 'damaged', detail }
    }
    const behind = readFrame(bytes.subarray(end))
    if ('head' in behind) yield audited(behind, `${path}, record at ${end}`)
  }

  function audited(frame: ReadableFrame, where: string): AuditedRecord {
    const { action, digests: inHead, keyId } = frame.head
    const digests = inHead.map((digest) => digest.toString('hex'))
    const record = readRecord(keys, frame, where)
    if (record.state === 'damaged') return { where, digests, ...record }
    if (record.state === 'erased') {
      const names = [action, ...inHead].map((name) => name.toString('hex', 0, NAME_BYTES))
      return { where, digests, state: 'erased', key: keyId.toString('hex'), names }
    }
    for (const part of record.parts) {
      if (part.ok) continue
      return { where, digests, state: 'damaged', detail: `${where}: ${part.detail}` }
    }
    return { where, digests, state: 'read' }
  }
}
