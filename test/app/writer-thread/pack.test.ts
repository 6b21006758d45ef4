import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  packAppended,
  packRecord,
  unpackAppended,
  unpackRecord,
} from '../../../src/app/writer-thread/pack.js'
import type { EvidenceRecord } from '../../../src/ports/evidence.js'
import type { Appended } from '../../../src/ports/journal.js'

/** What goes from thread to thread arrives as it was. */
const sent = <T>(value: T, transfer: ArrayBuffer[] = []): T => structuredClone(value, { transfer })

const recordOf = (bytes: readonly Uint8Array[]): EvidenceRecord => ({
  actionId: 'a-1',
  operator: 'acme',
  subject: null,
  at: '2026-03-01T12:00:00.000Z',
  parts: bytes.map((octets, i) => ({
    digest: String(i),
    kind: 'intent',
    name: 'key',
    bytes: octets,
  })),
})

describe('a record for the writer thread', () => {
  it('keeps octets of every length and value, and leaves the own ones alone', () => {
    const lengths = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 4090, max: 4100 }).map((length) => new Uint8Array(length).fill(length)),
    )
    fc.assert(
      fc.property(fc.array(lengths, { maxLength: 4 }), (bytes) => {
        // Views into one large buffer, as a pool gives them.
        const pool = new Uint8Array(5 + bytes.reduce((sum, { length }) => sum + length, 0))
        let at = 5
        const views = bytes.map((octets) => {
          pool.set(octets, at)
          at += octets.length
          return pool.subarray(at - octets.length, at)
        })
        const transfer: ArrayBuffer[] = []
        const { parts } = unpackRecord(sent(packRecord(recordOf(views), transfer), transfer))
        expect(parts.map((part) => [...(part.bytes ?? [])])).toEqual(bytes.map((one) => [...one]))
        expect(views.map((view) => [...view])).toEqual(bytes.map((one) => [...one]))
      }),
    )
  })
})

describe('what an append resolves to', () => {
  it('names each line, the one before it and what was signed', () => {
    const signed = {
      origin: 'g',
      upto: 9,
      hash: 'h',
      time: 't',
      lines: 9,
      capsules: 1,
      kid: 'k',
      sig: 's',
    }
    const head = { seq: 10, hash: 'head', signed }
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 5 }), (seals) => {
        const lines: Appended[] = seals.map((isSealed, i) => ({
          seq: 5 + i,
          prev: `hash ${i - 1}`,
          at: '2026-03-01T12:00:00.000Z',
          hash: `hash ${i}`,
          head,
          ...(isSealed ? { sealed: { protected: `p ${i}`, signature: `s ${i}` } } : {}),
        }))
        expect(unpackAppended(sent(packAppended(lines)))).toEqual(lines)
      }),
    )
  })
})
