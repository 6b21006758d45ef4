import {
  type HeadSigner,
  type SealMembers,
  type SignedHead,
  signHead,
  signSeal,
} from '../../../core/journal/head.js'
import { formatLine } from '../../../core/journal/line.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import type { Appended } from '../../../ports/journal.js'
import type { Signer } from '../../../ports/signer.js'
import type { ContentLine } from '../index/contents.js'
import { idKeysOf } from '../index/ids.js'
import type { Cursor } from '../read/chain.js'
import { leafHashAt } from '../read/hash.js'
import type { SignedEntry } from './entry.js'

/** What the heads count: lines that are neither heads nor seals, and capsules among them. */
export type Counted = { readonly lines: number; readonly capsules: number }

/** One batch as it will stand in the file, its head or seal the last line: `buffer[1 .. 1 + length]`. */
export type Composed = {
  readonly buffer: Buffer
  readonly length: number
  /** Its lines in their order, the head included; offsets from the start of the batch. */
  readonly contents: readonly ContentLine[]
  /** What the callers get for the entries; nothing for a seal. */
  readonly appended: readonly Appended[]
  readonly cursor: Cursor
  readonly counted: Counted
  readonly end: { readonly head: SignedHead } | { readonly seal: string }
}
type Sealed = Pick<SealMembers, 'segment' | 'size' | 'root' | 'counts'>

const LF = 10
const ENVELOPE_ROOM = 512
/** A head line, or a seal with its counts by type; what the reserve has to hold for each batch as well. */
export const HEAD_ROOM = 8 * 1024

/** The writer's one buffer: a batch is in the kernel's hands before the next is composed. */
export function createComposer(origin: string, signer: Signer) {
  let scratch = Buffer.allocUnsafe(256 * 1024)

  /** The lines of a batch, put one after the other into the buffer. */
  const begin = (room: number, from: Cursor, at: string) => {
    if (room > scratch.length) scratch = Buffer.allocUnsafe(room)
    const buffer = scratch
    const contents: ContentLine[] = []
    let { seq, prev } = from
    let start = 1
    return {
      last: () => ({ seq, prev }),
      put(type: string, text: string, listed: ContentLine['listed']): string {
        const stop = start + buffer.write(text, start)
        const hash = leafHashAt(buffer, start, stop)
        buffer[stop] = LF
        seq++
        const ids = idKeysOf(type, () => text)
        contents.push({ seq, at, hash, type, offset: start - 1, ids, listed })
        prev = hash
        start = stop + 1
        return hash
      },
      finish: () => ({
        buffer,
        length: start - 1,
        contents,
        cursor: { seq, prev, at, v: 2 } as const,
      }),
    }
  }

  return {
    batch(entries: readonly SignedEntry[], from: Cursor, before: Counted, at: string) {
      const room = entries.reduce((sum, { json }) => sum + 3 * json.length + ENVELOPE_ROOM, 1)
      const by = headSigner(origin, signer)
      const { last, put, finish } = begin(room + HEAD_ROOM, from, at)
      const written: Omit<Appended, 'head'>[] = []
      let { lines, capsules } = before
      for (const { type, json, listed, sealed } of entries) {
        const { seq, prev } = last()
        const hash = put(type, formatLine({ origin, seq: seq + 1, prev, at, type }, json), listed)
        const line = { seq: seq + 1, prev, at, hash }
        written.push(sealed === undefined ? line : { ...line, sealed })
        lines++
        if (type === 'CAPSULE') capsules++
      }
      const { seq: upto, prev: hash } = last()
      const { text, head: signed } = signHead({ upto, hash, time: at, lines, capsules }, by)
      const head = { seq: upto + 1, hash: put('HEAD', text, null), signed }
      const appended = written.map((line) => ({ ...line, head }))
      return { ...finish(), appended, counted: { lines, capsules }, end: { head: signed } }
    },
    /** The seal of a segment, a batch of its own. */
    seal(of: Sealed, from: Cursor, { lines, capsules }: Counted, at: string): Composed {
      const { put, finish } = begin(HEAD_ROOM, from, at)
      const members = { ...of, upto: from.seq, hash: from.prev, time: at, lines, capsules }
      const seal = signSeal(members, headSigner(origin, signer))
      put(SEAL_TYPE, seal, null)
      return { ...finish(), appended: [], counted: { lines, capsules }, end: { seal } }
    },
  }
}

export const headSigner = (origin: string, signer: Signer): HeadSigner => ({
  origin,
  kid: signer.kid('event'),
  sign: (message) => signer.sign('event', message),
})
