import { join } from 'node:path'
import { createReadStream, readdirSync, readFileSync, statSync } from '../../adapters/disk/files.js'
import { MAX_BYTES } from '../../core/bytes/cbor.js'
import type { BundleFiles } from '../../core/cps/bundle.js'
import { parse } from '../../core/json/parse.js'
import { isArray, isObject, type JsonValue } from '../../core/json/value.js'
import { isJournalLine } from '../../core/verify/journal/line.js'
import { MAX_RECORD_BYTES } from '../../core/verify/units.js'
import { plain, UsageError } from '../output/print.js'
import { type OtherKind, otherKind } from './other.js'

/** What a file is, told from its first bytes and not its name, but for `.cose` and `.jsonl`. */
export type Input =
  | { readonly kind: 'statement'; readonly bytes: Uint8Array }
  | { readonly kind: 'document'; readonly bytes: Uint8Array; readonly value: JsonValue }
  | { readonly kind: 'ledger' | 'journal'; readonly chunks: AsyncIterable<Uint8Array> }
  // Of other makers.
  | { readonly kind: 'cps_capsule'; readonly value: JsonValue }
  | { readonly kind: 'cps_chain'; readonly values: readonly JsonValue[] }
  | { readonly kind: 'cps_bundle'; readonly files: BundleFiles }
  | { readonly kind: 'receipts'; readonly lines: readonly string[] }

export type Source = {
  readonly name: string
  readonly size: number | null
  readonly chunks: AsyncIterable<Uint8Array>
  /** The folder of an export, which has no chunks. */
  readonly files?: BundleFiles
}

const CHUNK = 256 * 1024
const LF = 0x0a
const COSE_TAG = 0xd2

export function openSource(path: string): Source {
  if (path === '-') return { name: '(stdin)', size: null, chunks: process.stdin }
  try {
    const stat = statSync(path)
    if (stat.isDirectory()) return { ...EMPTY, name: path, files: bundleIn(path) }
    const chunks = createReadStream(path, { highWaterMark: CHUNK })
    return { name: path, size: stat.isFile() ? stat.size : null, chunks }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(plain(`cannot read ${path}: ${(error as Error).message}`))
  }
}

const EMPTY = { size: null, chunks: (async function* () {})() }

/** An export has an index; any other folder is a mistake. */
function bundleIn(path: string): BundleFiles {
  const names = readdirSync(path).filter((name) => name.endsWith('.json'))
  if (!names.includes('index.json')) {
    throw new UsageError(`${path} is a directory without index.json: name a file, or an export`)
  }
  return { names, read: (name) => readFileSync(join(path, name)) }
}

export async function readInput(source: Source): Promise<Input> {
  if (source.files !== undefined) return { kind: 'cps_bundle', files: source.files }
  const pull = source.chunks[Symbol.asyncIterator]()
  const held: Uint8Array[] = []
  const more = async (): Promise<boolean> => {
    const next = await pull.next()
    if (!next.done) held.push(next.value)
    return !next.done
  }
  /** Whether there is more than `limit`; if not, all of it is held. */
  const exceeds = async (limit: number): Promise<boolean> => {
    while (length(held) <= limit && (await more())) {}
    return length(held) > limit
  }
  const stream = (kind: 'ledger' | 'journal'): Input => ({ kind, chunks: resume(held, pull) })

  const head = await firstLine(held, more)
  const isLines = /\.(jsonl|ndjson)$/.test(source.name)
  // A signed statement is no journal, even under a journal's name.
  if (source.name.endsWith('.cose') || (head[0] === COSE_TAG && !isLines)) {
    await exceeds(MAX_BYTES)
    await pull.return?.()
    return { kind: 'statement', bytes: Buffer.concat(held) }
  }
  const first = parse(head)
  if (first.ok && isObject(first.value) && isJournalLine(first.value)) return stream('journal')
  const other = first.ok ? otherKind(first.value) : null
  if (other !== null && !(await exceeds(MOST_OTHER))) {
    const text = Buffer.concat(held).toString('utf8')
    return otherInput(other, text)
  }
  const isList = head.find((byte) => byte > 0x20) === 0x5b
  if (isList && !(await exceeds(MOST_OTHER))) {
    const parsed = parse(Buffer.concat(held), { maxBytes: MOST_OTHER })
    const values = parsed.ok && isArray(parsed.value) ? parsed.value : []
    const [one] = values
    if (one !== undefined && otherKind(one) === 'cps_capsule') return { kind: 'cps_chain', values }
  }
  if (isList || isLines) return stream('ledger')
  if (first.ok) {
    if (await continues(held, head.length, more)) return stream('ledger')
    return { kind: 'document', bytes: head, value: first.value }
  }
  // Too large for one record, so it can only be lines, the first of them damaged.
  if (await exceeds(MAX_RECORD_BYTES)) return stream('ledger')
  const bytes = Buffer.concat(held)
  const document = parse(bytes)
  const whole = document.ok ? otherKind(document.value) : null
  if (whole !== null) return otherInput(whole, bytes.toString('utf8'))
  return { kind: 'document', bytes, value: document.ok ? document.value : null }
}

/** Larger files are read as ledgers, a line at a time. */
const MOST_OTHER = 64 * 1024 * 1024

function otherInput(kind: OtherKind, text: string): Input {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (kind === 'receipts') return { kind, lines }
  const whole = parse(text, { maxDepth: 1000 })
  const read = (line: string): JsonValue => {
    const parsed = parse(line, { maxDepth: 1000 })
    return parsed.ok ? parsed.value : null
  }
  if (!whole.ok) return { kind: 'cps_chain', values: lines.map(read) }
  if (kind === 'cps_capsule') return { kind, value: whole.value }
  const entries = isObject(whole.value) ? whole.value.get('capsules') : undefined
  return { kind: 'cps_chain', values: isArray(entries) ? entries : [] }
}

const length = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, chunk) => sum + chunk.length, 0)

/** Up to the line feed that ends the first line with anything on it, or to the limit. */
async function firstLine(held: Uint8Array[], more: () => Promise<boolean>): Promise<Uint8Array> {
  for (;;) {
    const bytes = Buffer.concat(held)
    const start = bytes.findIndex((byte) => byte > 0x20)
    const end = start < 0 ? -1 : bytes.indexOf(LF, start)
    if (end >= 0) return bytes.subarray(0, end)
    if (bytes.length > MAX_RECORD_BYTES || !(await more())) return bytes
  }
}

/** Whether anything but space follows the first line. */
async function continues(
  held: readonly Uint8Array[],
  from: number,
  more: () => Promise<boolean>,
): Promise<boolean> {
  let seen = from
  for (;;) {
    const bytes = Buffer.concat(held)
    if (bytes.subarray(seen).some((byte) => byte > 0x20)) return true
    seen = bytes.length
    if (!(await more())) return false
  }
}

async function* resume(
  held: readonly Uint8Array[],
  pull: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* held
  for (let next = await pull.next(); !next.done; next = await pull.next()) yield next.value
}

/**
 * The same bytes, cut after every line feed, with the number of the line being read: a verifier that
 * takes a piece and answers before it asks for the next one is speaking about that line.
 */
export function counted(chunks: AsyncIterable<Uint8Array>) {
  let line = 1
  let bytes = 0
  let open = false
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      let from = 0
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
        bytes += at + 1 - from
        yield chunk.subarray(from, at + 1)
        from = at + 1
        line++
        open = false
      }
      if (from === chunk.length) continue
      open = true
      bytes += chunk.length - from
      yield chunk.subarray(from)
    }
  }
  /** How many there were, a last one without line feed included. */
  const lines = (): number => (open ? line : line - 1)
  return { pieces: pieces(), line: () => line, lines, bytes: () => bytes }
}
