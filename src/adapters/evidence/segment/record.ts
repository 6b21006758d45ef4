import { hash } from 'node:crypto'
import { isHex64 } from '../../../core/bytes/hex.js'
import { GateError } from '../../../core/error.js'
import { jsonDigest, jsonDigestOf } from '../../../core/json/build.js'
import { parse } from '../../../core/json/parse.js'
import { plainText } from '../../../core/json/plain-text.js'
import type { EvidencePart, EvidenceRecord } from '../../../ports/evidence.js'

/**
 * A record's plain bytes: the length of a JSON table of contents, the table, then each part's own
 * bytes. A value is its JCS text, not normalized, so that an empty list is read back as one.
 */
type Content = {
  /** Also here because the head has only its digest. */
  readonly action: string
  readonly at: string
  readonly parts: readonly (Pick<EvidencePart, 'digest' | 'kind'> & {
    readonly name?: string | undefined
    readonly form: 'json' | 'bytes'
    readonly length: number
  })[]
}
/** Deeper than the strict parser lets any agent's value be, plus what the gate wraps around it. */
const MAX_DEPTH = 512

export const sha256 = (data: Uint8Array | string): Buffer => hash('sha256', data, 'buffer')
const crypto = { sha256 }

/** Throws for a part that does not match its digest: no capsule could be checked against it. */
export function encodeRecord(record: EvidenceRecord): Buffer {
  const contents = record.parts.map(contentOf)
  const lengths = contents.map((content) =>
    typeof content === 'string' ? Buffer.byteLength(content) : content.length,
  )
  const parts = record.parts.map(({ digest, kind, name }, i) => ({
    digest,
    kind,
    form: typeof contents[i] === 'string' ? ('json' as const) : ('bytes' as const),
    length: lengths[i] as number,
    name,
  }))
  const content: Content = { action: record.actionId, at: record.at, parts }
  const table = JSON.stringify(content)
  const tableBytes = Buffer.byteLength(table)
  // One buffer for all of it: it is hashed and encrypted from there without another copy.
  const plain = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 4 + tableBytes))
  let at = plain.writeUInt32BE(tableBytes, 0)
  at += plain.write(table, at)
  for (const [i, each] of contents.entries()) {
    const end = at + (lengths[i] as number)
    if (typeof each === 'string') plain.write(each, at)
    else plain.set(each, at)
    mustBe(record.parts[i] as EvidencePart, plain.subarray(at, end))
    at = end
  }
  return plain
}

/** A JSON value as its text, octets as they are. */
function contentOf({ kind, value, text, bytes, digest }: EvidencePart): string | Uint8Array {
  const json = text ?? (value === undefined ? undefined : plainText(value, 'as_is'))
  const content = json ?? bytes
  if (!isHex64(digest) || content === undefined || (json !== undefined && bytes !== undefined)) {
    throw new GateError('digest_mismatch', `${kind}: a digest and one content are needed`)
  }
  return content
}

function mustBe({ digest, kind, value, text }: EvidencePart, content: Uint8Array): void {
  if (hash('sha256', content, 'hex') === digest) return
  // Normalization may change a value, and then its digest is not that of the text as it is.
  if (text === undefined && value !== undefined && jsonDigest(value, crypto) === digest) return
  throw new GateError('digest_mismatch', `${kind}: the content is not that of ${digest}`)
}

export type Decoded =
  | { readonly ok: true; readonly part: EvidencePart }
  | { readonly ok: false; readonly digest: string; readonly detail: string }

/** Every part, each checked against its digest. Null when the bytes are no record at all. */
export function decodeRecord(plain: Buffer): Decoded[] | null {
  const content = tableOf(plain)
  if (content === null) return null
  let at = 4 + plain.readUInt32BE(0)
  return content.parts.map(({ digest, kind, name, form, length }): Decoded => {
    const blob = plain.subarray(at, at + length)
    at += length
    const base = name === undefined ? { digest, kind } : { digest, kind, name }
    if (form === 'bytes') {
      if (sha256(blob).toString('hex') !== digest) return mismatch(digest)
      return { ok: true, part: { ...base, bytes: new Uint8Array(blob) } }
    }
    // With another canonicaliser than the one that wrote it: the two must agree.
    const parsed = parse(blob, { maxDepth: MAX_DEPTH, maxBytes: blob.length })
    if (!parsed.ok || jsonDigestOf(parsed.value, crypto) !== digest) return mismatch(digest)
    return { ok: true, part: { ...base, value: JSON.parse(blob.toString()) } }
  })
}

const mismatch = (digest: string): Decoded => ({
  ok: false,
  digest,
  detail: `the content is not that of ${digest}`,
})

function tableOf(plain: Buffer): Content | null {
  if (plain.length < 4) return null
  try {
    return JSON.parse(plain.toString('utf8', 4, 4 + plain.readUInt32BE(0)))
  } catch {
    return null
  }
}
