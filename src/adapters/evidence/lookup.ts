import type { EvidencePart, Found } from '../../ports/evidence.js'
import { open } from '../disk/files.js'
import { FRAME_START, type Frame, frameLength, openBody, readFrame } from './frame.js'
import type { KeyStore } from './key-store.js'
import { type Decoded, decodeRecord, sha256 } from './record.js'
import { inMemory, type Segment, type SegmentFiles, type SegmentIndex } from './segment-files.js'

/** One record that was found, as far as it can be read. */
type Reading =
  | { readonly state: 'read'; readonly parts: readonly Decoded[] }
  | { readonly state: 'erased' }
  | { readonly state: 'damaged'; readonly detail: string }

export type Shelf = {
  readonly files: SegmentFiles
  readonly keys: KeyStore
  segments(): readonly { readonly number: number; readonly open: Segment | null }[]
}

/** Records whose head names the digest, newest first. */
async function* recordsOf(shelf: Shelf, digest: Buffer): AsyncGenerator<Reading> {
  for (const { number, open: segment } of shelf.segments()) {
    const index = segment === null ? await shelf.files.index(number) : inMemory(segment.index)
    const path = shelf.files.path(number)
    for (const { offset } of [...(await index.find(digest))].reverse()) {
      const frame = await frameAt(path, offset)
      const named = (one: Buffer): boolean => one.equals(digest)
      if (frame.state === 'short' || frame.state === 'no_frame') {
        yield { state: 'damaged', detail: `${path}: no record at ${offset}` }
      } else if (named(frame.head.action) || frame.head.digests.some(named)) {
        yield readingOf(shelf.keys, frame, `${path}, record at ${offset}`)
      }
    }
  }
}

async function frameAt(path: string, offset: number): Promise<Frame> {
  const file = await open(path, 'r')
  try {
    const start = await file.read(Buffer.alloc(FRAME_START), 0, FRAME_START, offset)
    const length = frameLength(start.buffer.subarray(0, start.bytesRead))
    // A damaged length must not ask for more memory than there is file.
    if (length === null || length > (await file.stat()).size - offset) return { state: 'no_frame' }
    const whole = await file.read(Buffer.alloc(length), 0, length, offset)
    return readFrame(whole.buffer.subarray(0, whole.bytesRead))
  } finally {
    await file.close()
  }
}

export function readingOf(
  keys: Pick<KeyStore, 'byId'>,
  frame: Extract<Frame, { head: unknown }>,
  where: string,
): Reading {
  const opened = keys.byId(frame.head.keyId)
  if (opened.state === 'erased') return opened
  if (opened.state === 'damaged') return { state: 'damaged', detail: `${where}: ${opened.detail}` }
  const damaged = { state: 'damaged', detail: `${where}: the sealed bytes were changed` } as const
  if (frame.state === 'body_damaged') return damaged
  const plain = openBody(frame.associated, frame.body, opened.key)
  const parts = plain === null ? null : decodeRecord(plain)
  return parts === null ? damaged : { state: 'read', parts }
}

export async function findByAction(
  shelf: Shelf,
  actionId: string,
): Promise<Found<readonly EvidencePart[]>> {
  const parts: EvidencePart[][] = []
  let erased = false
  for await (const reading of recordsOf(shelf, sha256(actionId))) {
    if (reading.state === 'damaged') return reading
    if (reading.state === 'erased') {
      erased = true
      continue
    }
    const good: EvidencePart[] = []
    for (const part of reading.parts) {
      if (!part.ok) return { state: 'damaged', detail: part.detail }
      good.push(part.part)
    }
    parts.push(good)
  }
  if (parts.length > 0) return { state: 'present', value: parts.reverse().flat() }
  return { state: erased ? 'erased' : 'missing' }
}

/** Any good copy will do: a reason object's digest stands in many records. */
export async function findByDigest(shelf: Shelf, digest: string): Promise<Found<EvidencePart>> {
  let damage: string | null = null
  let erased = false
  for await (const reading of recordsOf(shelf, Buffer.from(digest, 'hex'))) {
    if (reading.state === 'erased') erased = true
    if (reading.state === 'damaged') damage ??= reading.detail
    if (reading.state !== 'read') continue
    for (const part of reading.parts) {
      if (part.ok && part.part.digest === digest) return { state: 'present', value: part.part }
      if (!part.ok && part.digest === digest) damage ??= part.detail
    }
  }
  if (damage !== null) return { state: 'damaged', detail: damage }
  return { state: erased ? 'erased' : 'missing' }
}

export async function countUnder(shelf: Shelf, keySlot: number): Promise<number> {
  let count = 0
  for await (const index of indexesOf(shelf)) count += await index.count(keySlot)
  return count
}

export async function namesUnder(shelf: Shelf, keySlot: number): Promise<readonly string[]> {
  const names: string[] = []
  for await (const index of indexesOf(shelf)) names.push(...(await index.names(keySlot)))
  return names
}

async function* indexesOf({ files, segments }: Shelf): AsyncGenerator<SegmentIndex> {
  for (const { number, open: segment } of segments())
    yield segment === null ? await files.index(number) : inMemory(segment.index)
}
