import { createHash } from 'node:crypto'
import { newTree } from '../../../src/adapters/journal/read/hash.js'
import { isUtcTimestamp } from '../../../src/core/capsule/timestamp.js'
import {
  type HeadMembers,
  type HeadSigner,
  type SealMembers,
  signHead,
  signSeal,
} from '../../../src/core/journal/head.js'
import { FIRST_PREV } from '../../../src/core/journal/line.js'
import { isHeadType } from '../../../src/core/journal/vocabulary.js'
import { type Files, indexFile, segmentFile, segments, withFile, withoutFile } from './folder.js'

/** A line and the segment it stands in; its text is octets, as latin1. */
export type Row = { readonly segment: number; readonly text: string; readonly type: string }

const ENVELOPE =
  /^\{"v":(\d),"origin":"([^"]*)","seq":(\d+),"prev":"([0-9a-f]{64})","at":"([^"]*)","type":"([A-Z_]*)"/

export const leafOf = (text: string): string =>
  createHash('sha256').update(`\0${text}`, 'latin1').digest('hex')

const typeOf = (text: string): string => ENVELOPE.exec(text)?.[6] ?? ''
export const isHead = ({ type }: Row): boolean => isHeadType(type)

/** Null where a segment does not consist of whole lines any more. */
export function rowsOf(files: Files): Row[] | null {
  const rows: Row[] = []
  for (const segment of segments(files)) {
    const octets = (files.get(segmentFile(segment)) as Buffer).toString('latin1')
    const texts = octets.split('\n')
    if (texts.pop() !== '') return null
    for (const text of texts) rows.push({ segment, text, type: typeOf(text) })
  }
  return rows.length === 0 ? null : rows
}

/**
 * The same folder with these lines. Segments behind the last line go, with their indexes, as after a careful cut; one
 * before it that has no line left stays as an empty file.
 */
export function withRows(files: Files, rows: readonly Row[]): Files {
  const last = Math.max(segments(files)[0] ?? 1, ...rows.map(({ segment }) => segment))
  const gone = segments(files).filter((segment) => segment > last)
  let out = withoutFile(files, ...gone.flatMap((each) => [segmentFile(each), indexFile(each)]))
  const before = rowsOf(files)?.findLast(({ segment }) => segment === last)
  // What was closed and is open again has no index.
  if (before?.type === 'SEGMENT_SEALED' && rows.at(-1)?.type !== 'SEGMENT_SEALED') {
    out = withoutFile(out, indexFile(last))
  }
  for (const segment of segments(out)) {
    const texts = rows.filter((row) => row.segment === segment).map(({ text }) => `${text}\n`)
    const bytes = Buffer.from(texts.join(''), 'latin1')
    if (!bytes.equals(files.get(segmentFile(segment)) as Buffer)) {
      out = withFile(out, segmentFile(segment), bytes)
    }
  }
  return out
}

/** What is done to heads and seals when lines before them change. */
export type Heads =
  /** They get their place in the chain and say what they said. */
  | 'placed'
  /** They are made to fit in every member, and keep their old signature. */
  | 'rewritten'
  /** They are made to fit and signed by this key, under that id. */
  | { readonly by: (origin: string) => HeadSigner }

type Envelope = { readonly origin: string; readonly at: string }
function placed(text: string, seq: number, prev: string, at: string): string {
  const found = ENVELOPE.exec(text)
  if (found === null) return text
  const [all, v, origin, , , , type] = found
  const start = `{"v":${v},"origin":"${origin}","seq":${seq},"prev":"${prev}","at":"${at}","type":"${type}"`
  return start + text.slice(all.length)
}

/**
 * Numbers, links and times anew from row `from` on, as anyone can who has the file: each line follows from the one
 * before it. Rows that are no lines stay as they are.
 */
export function relink(rows: readonly Row[], from: number, heads: Heads): Row[] {
  const out = [...rows]
  const counted = createCounts()
  let prev = FIRST_PREV
  let seq = 0
  let last = ''
  for (const [index, row] of rows.entries()) {
    const found = ENVELOPE.exec(row.text)
    const own: Envelope = { origin: found?.[2] ?? '', at: found?.[5] ?? last }
    if (index >= from && found !== null) {
      const at = own.at < last ? last : own.at
      const line = placed(row.text, seq + 1, prev, at)
      const head = isHead(row) && heads !== 'placed'
      const text = head ? headText(line, row, counted.of({ upto: seq, prev, at }), heads) : line
      out[index] = { ...row, text }
    }
    const { text } = out[index] as Row
    seq = Number(ENVELOPE.exec(text)?.[3] ?? seq)
    last = ENVELOPE.exec(text)?.[5] ?? last
    prev = leafOf(text)
    counted.add(row, prev)
  }
  return out
}

type Said = { readonly head: HeadMembers; readonly seal: SealMembers }

function createCounts() {
  let tree = newTree()
  let types: Record<string, number> = {}
  let lines = 0
  let capsules = 0
  return {
    of({ upto, prev, at }: { upto: number; prev: string; at: string }): Said {
      const head = { upto, hash: prev, time: at, lines, capsules }
      const seal = {
        size: Math.max(1, tree.size),
        root: tree.root(),
        counts: { ...types },
        segment: 0,
      }
      return { head, seal: { ...seal, ...head } }
    },
    add(row: Row, hash: string): void {
      if (!isHead(row)) lines++
      if (row.type === 'CAPSULE') capsules++
      if (row.type === 'SEGMENT_SEALED') {
        tree = newTree()
        types = {}
        return
      }
      tree.push(hash)
      types[row.type] = (types[row.type] ?? 0) + 1
    },
  }
}

/** A head that fits; one that cannot be read any more stays as it is. */
function headText(line: string, row: Row, { head, seal }: Said, heads: Heads): string {
  const origin = originOf(line)
  const [, kid] = /"kid":"([0-9a-f]{64})"/.exec(line) ?? []
  const [, sig] = /"sig":"([A-Za-z0-9_-]+)"/.exec(line) ?? []
  if (origin === null || kid === undefined || sig === undefined) return line
  // The line before it may have been changed in its time.
  if (!isUtcTimestamp(head.time)) return line
  const old: HeadSigner = {
    origin,
    kid: Buffer.from(kid, 'hex'),
    sign: () => Buffer.from(sig, 'base64url'),
  }
  const by = typeof heads === 'string' ? old : heads.by(origin)
  return row.type === 'HEAD'
    ? signHead(head, by).text
    : signSeal({ ...seal, segment: row.segment }, by)
}

export const originOf = (text: string): string | null => ENVELOPE.exec(text)?.[2] ?? null
export const timeOf = (text: string): string | null => ENVELOPE.exec(text)?.[5] ?? null

export const replaced = (rows: readonly Row[], at: number, text: string): Row[] =>
  rows.map((row, index) => (index === at ? { ...row, text } : row))

export const indexesOf = (rows: readonly Row[], type: string): number[] =>
  rows.flatMap((row, index) => (row.type === type ? [index] : []))
