import { crc32 } from 'node:zlib'
import { EVIDENCE, type Files, withFile, withoutFile } from '../folder.js'
import { EVIDENCE_KEYS, type FrameAt, frames, SLOT_BYTES, segmentPaths, slotOf } from '../frames.js'
import type { Random } from '../random.js'
import type { Operation } from './operation.js'

/** The evidence store in the hands of someone without its master key: records, keys, documents. */
const SEGMENTS = [`${EVIDENCE}/segments/0000000001.seg`, `${EVIDENCE}/segments/0000000002.seg`]
const ROUNDS = [1, 2, 3, 4, 5, 6]

type Change = (bytes: Buffer, random: Random, files: Files) => Buffer | null

const onFiles = (
  name: string,
  adversary: string,
  paths: readonly string[],
  change: Change,
): Operation => ({
  name,
  adversary,
  targets: () => paths.flatMap((path) => ROUNDS.map((round) => `${path} ${round}`)),
  apply(files, target, random) {
    const path = target.split(' ')[0] as string
    const bytes = files.get(path)
    const changed = bytes === undefined || bytes.length === 0 ? null : change(bytes, random, files)
    return changed === null || changed.equals(bytes ?? changed)
      ? null
      : withFile(files, path, changed)
  },
})

const flip: Change = (bytes, random) => {
  const out = Buffer.from(bytes)
  const at = random.int(bytes.length)
  out.writeUInt8((out.at(at) ?? 0) ^ (1 << random.int(8)), at)
  return out
}
const cut: Change = (bytes, random) => bytes.subarray(0, random.int(bytes.length))
const insert: Change = (bytes, random) => {
  const at = random.int(bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, at), Buffer.of(random.int(256)), bytes.subarray(at)])
}
const remove: Change = (bytes, random) => {
  const at = random.int(bytes.length)
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
}

/** One record of the segment taken, and what is done with its octets. */
const onRecord =
  (
    change: (bytes: Buffer, from: number, to: number, random: Random, files: Files) => Buffer,
  ): Change =>
  (bytes, random, files) => {
    const found = frames(bytes)
    if (found.length < 2) return null
    const { offset, length } = random.pick(found)
    return change(bytes, offset, offset + length, random, files)
  }

/** A slot as an erasure leaves it; its checksum takes no key. */
function tombstone(slot: Buffer): void {
  slot[0] = 2
  slot.fill(0, 20, SLOT_BYTES)
  slot.writeUInt32BE(crc32(slot.subarray(0, SLOT_BYTES - 4)), SLOT_BYTES - 4)
}
const onSlot =
  (change: (slot: Buffer, random: Random, all: Buffer) => void): Change =>
  (bytes, random) => {
    const count = Math.floor(bytes.length / SLOT_BYTES)
    if (count < 2) return null
    const out = Buffer.from(bytes)
    const at = 1 + random.int(count - 1)
    change(out.subarray(at * SLOT_BYTES, (at + 1) * SLOT_BYTES), random, out)
    return out
  }

/** A record is given the key of one that was erased, with a checksum that fits. */
const darken: Change = onRecord((bytes, from, _, random, files) => {
  const keys = files.get(EVIDENCE_KEYS) ?? Buffer.alloc(0)
  const slots = Array.from({ length: Math.floor(keys.length / SLOT_BYTES) }, (_, at) =>
    keys.subarray(at * SLOT_BYTES, (at + 1) * SLOT_BYTES),
  )
  const dark = slots.slice(1).filter((slot) => slot[0] === 2)
  const out = Buffer.from(bytes)
  if (dark.length === 0) return out
  random.pick(dark).copy(out, from + 44, 4, 20)
  const end = from + 12 + out.readUInt32BE(from + 4)
  out.writeUInt32BE(crc32(out.subarray(from, end)), end)
  return out
})

const removing = (name: string, adversary: string, of: (path: string) => boolean): Operation => ({
  name,
  adversary,
  targets: ({ story }) => [...story.files.keys()].filter(of),
  apply: (files, target) => (files.has(target) ? withoutFile(files, target) : null),
})
const isPublic = (path: string): boolean => path.startsWith(`${EVIDENCE}/public/`)

const OF_DIGEST: Operation = {
  name: 'evidence-of-digest-removed',
  adversary: 'Someone removes every record of one digest, but for those that were erased.',
  targets: () => Array.from({ length: 24 }, (_, round) => String(round)),
  apply(files, _, random) {
    const keys = files.get(EVIDENCE_KEYS) ?? Buffer.alloc(0)
    const isLive = ({ keyId }: FrameAt): boolean => slotOf(keys, keyId)[0] === 1
    const paths = segmentPaths(files)
    const digests = paths.flatMap((path) =>
      frames(files.get(path) as Buffer)
        .filter(isLive)
        .flatMap((frame) => frame.digests),
    )
    if (digests.length === 0) return null
    const digest = random.pick([...new Set(digests)])
    return paths.reduce((changed, path) => {
      const bytes = files.get(path) as Buffer
      const gone = frames(bytes).filter((frame) => isLive(frame) && frame.digests.includes(digest))
      const rest = gone.reduceRight(
        (left, { offset, length }) =>
          Buffer.concat([left.subarray(0, offset), left.subarray(offset + length)]),
        bytes,
      )
      return gone.length === 0 ? changed : withFile(changed, path, rest)
    }, files)
  },
}

export const EVIDENCE_CHANGED: readonly Operation[] = [
  removing('evidence-file-removed', 'Someone deletes a file of the store.', (path) =>
    path.startsWith(`${EVIDENCE}/`),
  ),
  {
    name: 'evidence-removed',
    adversary: 'Someone deletes the whole store, or all its segments.',
    targets: () => ['', '/segments', '/public'],
    apply(files, target) {
      const gone = [...files.keys()].filter((path) => path.startsWith(`${EVIDENCE}${target}/`))
      return gone.length === 0 ? null : withoutFile(files, ...gone)
    },
  },
  onFiles('evidence-bit', 'A bit of a record changes.', SEGMENTS, flip),
  onFiles('evidence-cut', 'Someone cuts a segment of records short.', SEGMENTS, cut),
  onFiles('evidence-octet-in', 'Someone puts an octet into a segment.', SEGMENTS, insert),
  onFiles('evidence-octet-out', 'Someone takes an octet out of a segment.', SEGMENTS, remove),
  onFiles(
    'evidence-record-removed',
    'Someone cuts one record out, and nothing else.',
    SEGMENTS,
    onRecord((bytes, from, to) => Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])),
  ),
  onFiles(
    'evidence-record-zeroed',
    'Someone overwrites one record.',
    SEGMENTS,
    onRecord((bytes, from, to) => Buffer.from(bytes).fill(0, from, to)),
  ),
  onFiles(
    'evidence-record-replaced',
    'Someone puts another genuine record in the place of one.',
    SEGMENTS,
    onRecord((bytes, from, to, random) => {
      const { offset, length } = random.pick(frames(bytes))
      const other = bytes.subarray(offset, offset + length)
      return Buffer.concat([bytes.subarray(0, from), other, bytes.subarray(to)])
    }),
  ),
  onFiles(
    'evidence-record-doubled',
    'Someone puts a record in twice: nothing is missing.',
    SEGMENTS,
    onRecord((bytes, from, to) => Buffer.concat([bytes, bytes.subarray(from, to)])),
  ),
  OF_DIGEST,
  onFiles(
    'evidence-record-darkened',
    'Someone gives a record the key of an erased one.',
    SEGMENTS,
    darken,
  ),
  {
    name: 'evidence-segments-exchanged',
    adversary: 'Someone exchanges two segments: nothing is missing.',
    targets: () => [''],
    apply(files) {
      const [one = '', other = ''] = segmentPaths(files)
      const [a, b] = [files.get(one), files.get(other)]
      return a === undefined || b === undefined ? null : withFile(withFile(files, one, b), other, a)
    },
  },
  onFiles('evidence-key-bit', 'A bit of the keys changes.', [EVIDENCE_KEYS], flip),
  onFiles('evidence-keys-cut', 'Someone cuts the keys short.', [EVIDENCE_KEYS], cut),
  onFiles(
    'evidence-key-destroyed',
    'Someone destroys a key as an erasure does.',
    [EVIDENCE_KEYS],
    onSlot(tombstone),
  ),
  onFiles(
    'evidence-key-zeroed',
    'Someone overwrites a key.',
    [EVIDENCE_KEYS],
    onSlot((slot) => slot.fill(0)),
  ),
  onFiles(
    'evidence-key-of-another',
    'Someone puts the key of another slot there.',
    [EVIDENCE_KEYS],
    onSlot((slot, random, all) => {
      const from = (1 + random.int(Math.floor(all.length / SLOT_BYTES) - 1)) * SLOT_BYTES
      all.copy(slot, 0, from, from + SLOT_BYTES)
    }),
  ),
  {
    name: 'document-changed',
    adversary: 'Someone changes the policies or the manifest that verdicts were derived from.',
    targets: ({ story }) => [...story.files.keys()].filter(isPublic),
    apply(files, target, random) {
      const bytes = files.get(target)
      return bytes === undefined
        ? null
        : withFile(files, target, flip(bytes, random, files) ?? bytes)
    },
  },
]
