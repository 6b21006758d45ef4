import { type Files, HEAD_FILE, indexFile, SNAPSHOT, segmentFile, withFile } from '../folder.js'
import type { Random } from '../random.js'
import { withRows } from '../rows.js'
import { everyType, type Operation, pickRow } from './operation.js'

/** Single octets, anywhere. */
const JOURNAL_FILES = (): readonly string[] => [
  ...[1, 4, 9, 10].map(segmentFile),
  ...[1, 9].map(indexFile),
  SNAPSHOT,
  HEAD_FILE,
]

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const out = Buffer.from(bytes)
  out.writeUInt8((out.at(at) ?? 0) ^ mask, at)
  return out
}
const inserted = (bytes: Buffer, at: number, octet: number): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.of(octet), bytes.subarray(at)])
const removed = (bytes: Buffer, at: number): Buffer =>
  Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])

/** In that file, if it is there and not empty. */
function inFile(files: Files, name: string, change: (bytes: Buffer) => Buffer): Files | null {
  const bytes = files.get(name)
  return bytes === undefined || bytes.length === 0 ? null : withFile(files, name, change(bytes))
}
/** In a line of that type, its line feed included. */
function inLine(
  files: Files,
  type: string,
  random: Random,
  change: (bytes: Buffer) => Buffer,
): Files | null {
  const found = pickRow(files, type, random)
  if (found === null) return null
  const { rows, at } = found
  const text = change(Buffer.from(rows[at]?.text ?? '', 'latin1')).toString('latin1')
  return withRows(
    files,
    rows.map((row, index) => (index === at ? { ...row, text } : row)),
  )
}

const bit = (random: Random): number => 1 << random.int(8)

export const OCTETS: readonly Operation[] = [
  {
    name: 'bit-in-file',
    adversary: 'A disk, or someone with a hex editor, changes one bit of a file.',
    targets: () => JOURNAL_FILES().flatMap((name) => [name, `${name} `, `${name}  `]),
    apply: (files, target, random) =>
      inFile(files, target.trimEnd(), (bytes) =>
        flipped(bytes, random.int(bytes.length), bit(random)),
      ),
  },
  {
    name: 'octet-into-file',
    adversary: 'Someone puts one octet into a file.',
    targets: JOURNAL_FILES,
    apply: (files, target, random) =>
      inFile(files, target, (bytes) =>
        inserted(bytes, random.int(bytes.length + 1), random.int(256)),
      ),
  },
  {
    name: 'octet-out-of-file',
    adversary: 'Someone takes one octet out of a file.',
    targets: JOURNAL_FILES,
    apply: (files, target, random) =>
      inFile(files, target, (bytes) => removed(bytes, random.int(bytes.length))),
  },
  {
    name: 'bit-in-line',
    adversary: 'Someone changes one bit of a line of this type, so that it says something else.',
    targets: everyType,
    apply: (files, type, random) =>
      inLine(files, type, random, (bytes) => flipped(bytes, random.int(bytes.length), bit(random))),
  },
  {
    name: 'digit-in-line',
    adversary: 'Someone changes a digit, so that the line stays readable and says another number.',
    targets: everyType,
    apply: (files, type, random) =>
      inLine(files, type, random, (bytes) => {
        const digits = [...bytes.keys()].filter((at) =>
          /\d/.test(String.fromCharCode(bytes[at] ?? 0)),
        )
        const at = random.pick(digits)
        const digit = (Number(String.fromCharCode(bytes[at] ?? 48)) + 1 + random.int(8)) % 10
        const out = Buffer.from(bytes)
        out.write(String(digit), at)
        return out
      }),
  },
  {
    name: 'space-into-line',
    adversary: 'Someone spells a line otherwise: the same members, a space between them.',
    targets: everyType,
    apply: (files, type, random) =>
      inLine(files, type, random, (bytes) => inserted(bytes, bytes.lastIndexOf(0x2c) + 1, 0x20)),
  },
]
