import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** A gate's folder as bytes by path, the data folder and the second head beside it; never changed in place. */
export type Files = ReadonlyMap<string, Buffer>

export const JOURNAL = 'data/journal'
export const EVIDENCE = 'data/evidence'
export const HEAD_FILE = 'head'
export const SNAPSHOT = `${JOURNAL}/snapshot`
/** Random bytes that only take room, and what one process tells the next of itself: neither is a record. */
const NOT_RECORDS = /\/(reserve|epoch)$/

const numbered = (number: number, extension: string): string =>
  `${JOURNAL}/${String(number).padStart(8, '0')}.${extension}`
export const segmentFile = (number: number): string => numbered(number, 'jsonl')
export const indexFile = (number: number): string => numbered(number, 'idx')

export function readFolder(root: string): Files {
  const files = new Map<string, Buffer>()
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(root, path)
    if (!entry.isFile() || NOT_RECORDS.test(name) || name.startsWith('policies')) continue
    files.set(name, readFileSync(path))
  }
  return files
}

/** Everything but keys is anybody's who can write to the disk. */
export function writeFolder(root: string, files: Files): void {
  const made = new Set<string>()
  for (const [name, bytes] of files) {
    const path = join(root, name)
    const folder = dirname(path)
    if (!made.has(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 })
    made.add(folder)
    writeFileSync(path, bytes, { mode: 0o600 })
  }
}

export const withFile = (files: Files, name: string, bytes: Buffer): Files =>
  new Map([...files, [name, bytes]])

export function withoutFile(files: Files, ...names: readonly string[]): Files {
  const rest = new Map(files)
  for (const name of names) rest.delete(name)
  return rest
}

const SEGMENT = new RegExp(`^${JOURNAL}/(\\d{8})\\.jsonl$`)
/** Numbers of the segment files that are there, ascending. */
export const segments = (files: Files): readonly number[] =>
  [...files.keys()]
    .flatMap((name) => SEGMENT.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)

/** What an auditor is given: the segments one behind the other. */
export const journalOf = (files: Files): Buffer =>
  Buffer.concat(segments(files).map((number) => files.get(segmentFile(number)) as Buffer))

/** Whether every file with records in it has the same octets. */
export function sameFiles(one: Files, other: Files, only: (name: string) => boolean): boolean {
  const names = [...new Set([...one.keys(), ...other.keys()])].filter(only)
  return names.every((name) => {
    const [a, b] = [one.get(name), other.get(name)]
    return a === b || (a !== undefined && b !== undefined && a.equals(b))
  })
}

/** In memory where there is such a place: a case is written, read once and thrown away. */
export const quickFolder = (name: string): string =>
  mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), `gate-tamper-${name}-`))
