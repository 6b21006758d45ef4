import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { base64url } from '../../src/core/bytes/base64url.js'
import type { Capsule } from '../../src/core/capsule/model.js'
import { signEvent } from '../../src/core/journal/event.js'
import { type SignedHead, signHead, signSeal } from '../../src/core/journal/head.js'
import { FIRST_PREV, formatLine, leafHash } from '../../src/core/journal/line.js'
import { innerHash, merkleTree } from '../../src/core/journal/merkle.js'
import {
  isHeadType,
  isSignedType,
  type LineType,
  type MembersOf,
} from '../../src/core/journal/vocabulary.js'
import { subjectUrn } from '../../src/core/statement/header.js'
import { type TestKey, testKey } from '../core/statement/sample.js'
import { signCapsule } from '../core/statement/sign-capsule.js'

/**
 * A gate's journal in memory, signed for real: lines of version 2, a HEAD per batch, seals per segment; or lines
 * of version 1 before an adoption.
 */
export type Entry = { readonly type: string; readonly json: string }
export type JournalKeys = { readonly statement: TestKey; readonly event: TestKey }

export const journalKeys = (): JournalKeys => ({
  statement: testKey('statement'),
  event: testKey('event'),
})

const START = Date.parse('2026-10-01T12:00:00.000Z')
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

export function sealedJournal({
  keys = journalKeys(),
  origin = 'gate-1',
}: {
  readonly keys?: JournalKeys
  readonly origin?: string
} = {}) {
  const lines: string[] = []
  const heads: SignedHead[] = []
  const seals: string[] = []
  const counts = { lines: 0, capsules: 0 }
  const by = { origin, kid: keys.event.kid, sign: keys.event.sign }
  const inner = innerHash(nodeCrypto)
  let tree = merkleTree(inner)
  let types: Record<string, number> = {}
  let hash = FIRST_PREV
  let at = new Date(START).toISOString()

  const place = () => ({ origin, seq: lines.length + 1, prev: hash, at })
  function put(line: string, type: string): void {
    lines.push(line)
    hash = leafHash(bytesOf(line), nodeCrypto)
    at = new Date(START + lines.length).toISOString()
    tree.push(hash)
    types[type] = (types[type] ?? 0) + 1
  }
  function add({ type, json }: Entry, v: 1 | 2): void {
    put(formatLine({ ...place(), type }, json).replace('{"v":2', `{"v":${v}`), type)
    if (v !== 2 || isHeadType(type)) return
    counts.lines++
    if (type === 'CAPSULE') counts.capsules++
  }
  const head = () => ({ upto: lines.length, hash, time: at, ...counts })
  const segment = () => ({ segment: seals.length + 1, size: tree.size, root: tree.root() })
  function sealWith(line: string): void {
    put(line, 'SEGMENT_SEALED')
    seals.push(line)
    tree = merkleTree(inner)
    types = {}
  }

  const journal = {
    keys,
    origin,
    lines,
    heads,
    seals,
    /** Where the next line will stand. */
    place,
    keyring: [keys.statement.record, keys.event.record],
    text: () => lines.map((line) => `${line}\n`).join(''),
    /** A batch and its HEAD. */
    write(...entries: readonly Entry[]): void {
      for (const entry of entries) add(entry, 2)
      const signed = signHead(head(), by)
      heads.push(signed.head)
      put(signed.text, 'HEAD')
    },
    /** A batch whose head is the segment's seal. */
    seal(...entries: readonly Entry[]): void {
      for (const entry of entries) add(entry, 2)
      sealWith(signSeal({ ...segment(), ...head(), counts: { ...types } }, by))
    },
    /** Lines that no head covers: of version 1, or a batch that was never finished. */
    writeBare(v: 1 | 2, ...entries: readonly Entry[]): void {
      for (const entry of entries) add(entry, v)
    },
    sealVersion1(): void {
      const { json } = journal.event('SEGMENT_SEALED', { ...segment(), head: hash })
      sealWith(formatLine({ ...place(), type: 'SEGMENT_SEALED' }, json).replace('{"v":2', '{"v":1'))
    },
    adopt(more: Partial<MembersOf<'ADOPTED'>> = {}): void {
      const upto = lines.length
      const members = { upto, hash, lines: upto, capsules: 0, unsigned: [], orphans: [], ...more }
      journal.write(journal.event('ADOPTED', members))
    },
    event<T extends Exclude<LineType, 'CAPSULE'>>(type: T, members: MembersOf<T>): Entry {
      if (!isSignedType(type)) return { type, json: JSON.stringify(members) }
      const { json } = signEvent({ ...by, type, members } as Parameters<typeof signEvent>[0])
      return { type, json }
    },
    capsule(capsule: Capsule, original?: Capsule): Entry {
      const statement = original === undefined ? 'agent_action' : 'outcome'
      const { payload, protectedBytes, signature } = signCapsule(capsule, {
        statement,
        kid: keys.statement.kid,
        sign: keys.statement.sign,
        ...(original === undefined
          ? {}
          : { sub: subjectUrn(original.operator, original.action_id) }),
      })
      const rest = `"protected":"${base64url(protectedBytes)}","signature":"${base64url(signature)}"`
      return { type: 'CAPSULE', json: `{"statement":"${statement}","capsule":${payload},${rest}}` }
    },
  }
  return journal
}
export type SealedJournal = ReturnType<typeof sealedJournal>
