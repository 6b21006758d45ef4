import type { EvidencePart, Found } from '../../../ports/evidence.js'
import { readFully, withFile } from '../../disk/with-file.js'
import { decrypt } from '../aes-gcm.js'
import type { KeyStore } from '../keys/store.js'
import type { SegmentFiles } from '../segment/files.js'
import {
  FRAME_START,
  type Frame,
  frameLength,
  type ReadableFrame,
  readFrame,
} from '../segment/frame.js'
import { type Decoded, decodeRecord, sha256 } from '../segment/record.js'
import type { MemoryIndex, SegmentIndex } from '../segment/segment-index.js'

/** What look-ups need of an open store. */
export type Readable = {
  readonly files: SegmentFiles
  readonly keys: KeyStore
  /** Newest first; `open` is the index of one whose index file is not written yet. */
  segments(): readonly { readonly number: number; readonly open: MemoryIndex | null }[]
}

/** One record that was found, as far as it can be read. */
type RecordRead =
  | { readonly state: 'read'; readonly parts: readonly Decoded[] }
  | { readonly state: 'erased' }
  | { readonly state: 'damaged'; readonly detail: string }

async function* indexesOf(
  store: Readable,
): AsyncGenerator<{ readonly number: number; readonly index: SegmentIndex }> {
  for (const { number, open } of store.segments()) {
    yield { number, index: open ?? (await store.files.index(number)) }
  }
}

/** Records whose head names the digest, newest first. */
async function* recordsOf(store: Readable, digest: Buffer): AsyncGenerator<RecordRead> {
  for await (const { number, index } of indexesOf(store)) {
    const path = store.files.path(number)
    for (const { offset } of [...(await index.find(digest))].reverse()) {
      const frame = await frameAt(path, offset)
      if (!('head' in frame)) {
        yield { state: 'damaged', detail: `${path}: no record at ${offset}` }
        continue
      }
      const { action, digests } = frame.head
      if (![action, ...digests].some((one) => one.equals(digest))) continue
      yield readRecord(store.keys, frame, `${path}, record at ${offset}`)
    }
  }
}

const frameAt = (path: string, offset: number): Promise<Frame> =>
  withFile(path, 'r', async (file) => {
    const start = Buffer.alloc(FRAME_START)
    const length = frameLength(start.subarray(0, await readFully(file, start, offset)))
    // A damaged length must not ask for more memory than there is file.
    if (length === null || length > (await file.stat()).size - offset) return { state: 'no_frame' }
    const whole = Buffer.alloc(length)
    return readFrame(whole.subarray(0, await readFully(file, whole, offset)))
  })

export function readRecord(
  keys: Pick<KeyStore, 'byId'>,
  { state, head, associated, body }: ReadableFrame,
  where: string,
): RecordRead {
  const found = keys.byId(head.keyId)
  if (found.state === 'erased') return found
  if (found.state === 'damaged') return { state: 'damaged', detail: `${where}: ${found.detail}` }
  const plain = state === 'whole' ? decrypt(body, found.key, associated) : null
  const parts = plain === null ? null : decodeRecord(plain)
  return parts === null
    ? { state: 'damaged', detail: `${where}: the sealed bytes were changed` }
    : { state: 'read', parts }
}

export async function findByAction(
  store: Readable,
  actionId: string,
): Promise<Found<readonly EvidencePart[]>> {
  const parts: EvidencePart[][] = []
  let erased = false
  for await (const record of recordsOf(store, sha256(actionId))) {
    if (record.state === 'damaged') return record
    if (record.state === 'erased') {
      erased = true
      continue
    }
    const good: EvidencePart[] = []
    for (const part of record.parts) {
      if (!part.ok) return { state: 'damaged', detail: part.detail }
      good.push(part.part)
    }
    parts.push(good)
  }
  if (parts.length > 0) return { state: 'present', value: parts.reverse().flat() }
  return { state: erased ? 'erased' : 'missing' }
}

/** One good copy is enough: a reason object's digest is in many records. */
export async function findByDigest(store: Readable, digest: string): Promise<Found<EvidencePart>> {
  let damage: string | null = null
  let erased = false
  for await (const record of recordsOf(store, Buffer.from(digest, 'hex'))) {
    if (record.state === 'erased') erased = true
    if (record.state === 'damaged') damage ??= record.detail
    if (record.state !== 'read') continue
    for (const part of record.parts) {
      if (part.ok && part.part.digest === digest) return { state: 'present', value: part.part }
      if (!part.ok && part.digest === digest) damage ??= part.detail
    }
  }
  if (damage !== null) return { state: 'damaged', detail: damage }
  return { state: erased ? 'erased' : 'missing' }
}

/** How many records are encrypted under that key. */
export async function countUnder(store: Readable, keySlot: number): Promise<number> {
  let count = 0
  for await (const { index } of indexesOf(store)) count += await index.count(keySlot)
  return count
}

export async function namesUnder(store: Readable, keySlot: number): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { index } of indexesOf(store)) names.push(...(await index.names(keySlot)))
  return names
}
