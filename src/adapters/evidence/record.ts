import { hash } from 'node:crypto'
import { isHex64 } from '../../core/hex.js'
import { jsonDigest, jsonDigestOf } from '../../core/json/build.js'
import { parse } from '../../core/json/parse.js'
import { plainText } from '../../core/json/plain-text.js'
import type { EvidencePart, EvidenceRecord } from '../../ports.js'
import { EvidenceError } from './error.js'

/**
 * A record's plain bytes: the length of a JSON table of contents, the table, then each part's own
 * bytes. A value stands there as its JCS text, not normalized, so that an empty list comes back as one.
 */
type Content = {
  /** For whoever opens the record by hand: the head has only its digest. */
  readonly action: string
  readonly at: string
  readonly parts: readonly {
    readonly digest: string
    readonly kind: EvidencePart['kind']
    readonly name?: string
    readonly form: 'json' | 'bytes'
    readonly length: number
  }[]
}
/** Deeper than the strict parser lets any agent's value be, plus what the gate wraps around it. */
const MAX_DEPTH = 512

export const sha256 = (data: Uint8Array | string): Buffer => hash('sha256', data, 'buffer')
const crypto = { sha256 }

/** Throws for a part that is not what its digest says: evidence nobody could ever check against a capsule. */
export function encodeRecord(record: EvidenceRecord): Uint8Array[] {
  const blobs: Uint8Array[] = []
  const parts = record.parts.map((part) => {
    const { digest, kind, name } = part
    const blob = blobOf(part)
    blobs.push(blob.bytes)
    const entry = { digest, kind, form: blob.form, length: blob.bytes.length }
    return name === undefined ? entry : { ...entry, name }
  })
  const content: Content = { action: record.actionId, at: record.at, parts }
  const table = Buffer.from(JSON.stringify(content))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(table.length)
  return [length, table, ...blobs]
}

function blobOf(part: EvidencePart): { form: 'json' | 'bytes'; bytes: Uint8Array } {
  const { value, text, bytes, digest } = part
  const isJson = value !== undefined || text !== undefined
  if (!isHex64(digest) || isJson === (bytes !== undefined)) {
    throw new EvidenceError('digest_mismatch', `${part.kind}: a digest and one content are needed`)
  }
  if (bytes !== undefined) {
    if (hash('sha256', bytes, 'hex') === digest) return { form: 'bytes', bytes }
  } else if (text !== undefined) {
    const written = Buffer.from(text)
    if (hash('sha256', written, 'hex') === digest) return { form: 'json', bytes: written }
  } else if (value !== undefined) {
    const written = Buffer.from(plainText(value, 'as_is'))
    // Most values have nothing to normalize away; then one pass is enough.
    if (hash('sha256', written, 'hex') === digest || jsonDigest(value, crypto) === digest) {
      return { form: 'json', bytes: written }
    }
  }
  throw new EvidenceError('digest_mismatch', `${part.kind}: the content is not that of ${digest}`)
}

export type Decoded =
  | { readonly ok: true; readonly part: EvidencePart }
  | { readonly ok: false; readonly digest: string; readonly detail: string }

/** Every part, each checked against its digest. Null when the bytes are no record at all. */
export function decodeRecord(plain: Buffer): Decoded[] | null {
  const content = contentOf(plain)
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
    // By the other canonicaliser than the one that wrote it: the two must agree.
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

function contentOf(plain: Buffer): Content | null {
  if (plain.length < 4) return null
  try {
    return JSON.parse(plain.toString('utf8', 4, 4 + plain.readUInt32BE(0)))
  } catch {
    return null
  }
}
