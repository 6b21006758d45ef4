import { createHash } from 'node:crypto'
import { HEAD_FILE, indexFile, SNAPSHOT, segments, withFile, withoutFile } from '../folder.js'
import { type Operation, once, type World } from './operation.js'
import { readObject, snapshotOf } from './snapshot-file.js'

/** What stands beside the lines: indexes, the snapshot, the second head. */
const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex')
const LF = 10
const SLOT = 1024

const onIndex = (
  name: string,
  adversary: string,
  change: (bytes: Buffer, other: Buffer) => Buffer | null,
): Operation => ({
  name,
  adversary,
  targets: () => ['the first', 'one in the middle', 'the last'],
  apply(files, target) {
    const there = segments(files).filter((number) => files.has(indexFile(number)))
    const at = {
      'the first': 0,
      'one in the middle': there.length >> 1,
      'the last': there.length - 1,
    }
    const number = there[at[target as keyof typeof at]]
    const other = there.find((each) => each !== number)
    if (number === undefined || other === undefined) return null
    const bytes = files.get(indexFile(number)) as Buffer
    const changed = change(bytes, files.get(indexFile(other)) as Buffer)
    if (changed === null) return withoutFile(files, indexFile(number))
    return changed.equals(bytes) ? null : withFile(files, indexFile(number), changed)
  },
})
type Header = { entries: number; capsules: number; sha256: string; [name: string]: unknown }
/** An index whose checksum fits what it says: that takes no key. */
function indexOf(bytes: Buffer, change: (header: Header, body: Buffer) => Buffer): Buffer {
  const end = bytes.indexOf(LF)
  const header = readObject(bytes.toString('utf8', 0, end)) as Header | null
  if (header === null) return bytes
  const body = change(header, Buffer.from(bytes.subarray(end + 1)))
  header.sha256 = sha256(body)
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body])
}
const RECORD = 12
const ROW = 60

/** A slot of the second head file with a checksum that fits: that takes no key. */
const slotOf = (text: string): Buffer =>
  Buffer.from(`${`${text} ${sha256(text)}`.padEnd(SLOT - 1)}\n`)
const slotTexts = (bytes: Buffer): string[] =>
  [bytes.subarray(0, SLOT), bytes.subarray(SLOT)].map(
    (slot) => /^(\{.*\}) [0-9a-f]{64}/.exec(slot.toString('latin1'))?.[1] ?? '',
  )
const newest = (bytes: Buffer): { upto: number; [name: string]: unknown } =>
  slotTexts(bytes)
    .filter((text) => text !== '')
    .map((text) => ({ upto: -1, ...readObject(text) }))
    .reduce((one, other) => (other.upto > one.upto ? other : one), { upto: -1 })

const onHead = (
  name: string,
  adversary: string,
  change: (bytes: Buffer, world: World) => Buffer | null,
): Operation => ({
  name,
  adversary,
  targets: once,
  apply(files, _, __, world) {
    const bytes = files.get(HEAD_FILE)
    const changed = bytes === undefined ? null : change(bytes, world)
    return changed === null || changed.equals(bytes ?? changed)
      ? null
      : withFile(files, HEAD_FILE, changed)
  },
})
const twoSlots = (text: string): Buffer => Buffer.concat([slotOf(text), slotOf(text)])

export const BESIDE: readonly Operation[] = [
  onIndex('index-removed', 'Someone deletes the index of a segment.', () => null),
  onIndex('index-emptied', 'Someone empties an index.', () => Buffer.alloc(0)),
  onIndex(
    'index-of-another',
    'Someone puts the index of another segment there.',
    (_, other) => other,
  ),
  onIndex(
    'index-ids-removed',
    'Someone takes ids out of an index and makes its checksum fit, so that capsules are not found.',
    (bytes) =>
      indexOf(bytes, (header, body) => {
        header.entries -= 1
        return body.subarray(RECORD)
      }),
  ),
  onIndex(
    'index-rows-removed',
    'Someone takes a capsule out of the list of an index and makes its checksum fit.',
    (bytes) =>
      indexOf(bytes, (header, body) => {
        header.capsules -= 1
        return body.subarray(0, body.length - ROW)
      }),
  ),
  onIndex(
    'index-seal-forged',
    'Someone changes the seal that an index repeats, before its segment is archived.',
    (bytes) =>
      indexOf(bytes, (header, body) => {
        header.seal = String(header.seal).replace(/"capsules":\d+/, '"capsules":0')
        return body
      }),
  ),
  {
    name: 'snapshot-removed',
    adversary: 'Someone deletes the snapshot.',
    targets: once,
    apply: (files) => (files.has(SNAPSHOT) ? withoutFile(files, SNAPSHOT) : null),
  },
  {
    name: 'snapshot-cut',
    adversary: 'Someone cuts the snapshot short.',
    targets: () => ['empty', 'header', 'anywhere'],
    apply(files, target, random) {
      const bytes = files.get(SNAPSHOT)
      if (bytes === undefined || bytes.length === 0) return null
      const at = { empty: 0, header: bytes.indexOf(LF) + 1, anywhere: random.int(bytes.length) }
      return withFile(files, SNAPSHOT, bytes.subarray(0, at[target as keyof typeof at]))
    },
  },
  {
    name: 'snapshot-replayed',
    adversary: 'Someone puts an older genuine snapshot back, from before a halt or a spent grant.',
    targets: ({ story }) => story.earlier.map((_, index) => String(index)),
    apply: (files, target, _, { story }) => {
      const older = story.earlier[Number(target)]
      return older === undefined ? null : withFile(files, SNAPSHOT, older.snapshot)
    },
  },
  {
    name: 'snapshot-rewritten',
    adversary: 'Someone writes a state of their own into the snapshot: halts gone, grants given.',
    targets: () => [
      'old signature',
      'old signature, later line',
      'stranger',
      'stranger as the gate',
    ],
    apply(files, target, _, { stranger }) {
      const sign = (posing: boolean) => (message: Uint8Array) => ({
        ...(posing ? {} : { kid: stranger.event.record.kid }),
        sig: Buffer.from(stranger.event.sign(message)).toString('base64url'),
      })
      return snapshotOf(
        files,
        (header, state) => {
          if (target.endsWith('later line')) header.seq = Number(header.seq) + 1
          return JSON.stringify({ ...(JSON.parse(state) as object), halts: [], grants: [] })
        },
        target.startsWith('stranger')
          ? (message) => ({ kid: '', ...sign(target.endsWith('gate'))(message) })
          : null,
      )
    },
  },
  {
    name: 'second-head-removed',
    adversary: 'Someone deletes the second head, so that nothing shows a cut.',
    targets: once,
    apply: (files) => (files.has(HEAD_FILE) ? withoutFile(files, HEAD_FILE) : null),
  },
  onHead('second-head-emptied', 'Someone empties the second head.', () => Buffer.alloc(0)),
  onHead('second-head-zeroed', 'Someone fills the second head with zeros.', () =>
    Buffer.alloc(2 * SLOT),
  ),
  onHead('second-head-cut', 'Someone cuts the second head to one slot.', (bytes) =>
    bytes.subarray(0, SLOT),
  ),
  onHead('second-head-newest-broken', 'Someone breaks the slot with the newest head.', (bytes) => {
    const { upto } = newest(bytes)
    const out = Buffer.from(bytes)
    for (const [index, text] of slotTexts(bytes).entries()) {
      if (text.includes(`"upto":${upto},`)) out.write('#', index * SLOT + 20)
    }
    return out
  }),
  onHead(
    'second-head-of-stranger',
    'Someone writes a head of a line that never was.',
    (bytes, { stranger }) => {
      const head = { ...newest(bytes), kid: stranger.event.record.kid }
      return twoSlots(JSON.stringify({ ...head, upto: head.upto + 2 }))
    },
  ),
  onHead(
    'second-head-of-version-1',
    'Someone writes the unsigned second head of version 1.',
    (bytes) => {
      const { origin, upto, hash } = newest(bytes)
      return twoSlots(JSON.stringify({ origin, seq: upto, hash }))
    },
  ),
  onHead(
    'second-head-of-another-gate',
    'Someone puts the second head of another gate there.',
    (bytes) => twoSlots(JSON.stringify({ ...newest(bytes), origin: 'gate-0123456789abcdef' })),
  ),
  onHead('second-head-longer', 'Someone puts octets behind the second head.', (bytes) =>
    Buffer.concat([bytes, Buffer.from('trust me\n')]),
  ),
  {
    name: 'second-head-replayed',
    adversary: 'Someone puts an older genuine second head back, so that a cut to it does not show.',
    targets: ({ story }) => story.earlier.map((_, index) => String(index)),
    apply: (files, target, _, { story }) => {
      const older = story.earlier[Number(target)]
      return older === undefined ? null : withFile(files, HEAD_FILE, older.head)
    },
  },
]
