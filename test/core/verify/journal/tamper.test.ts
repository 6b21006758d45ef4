import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { verifyLedger } from '../../../../src/verify.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import {
  approvedRun,
  dispatched,
  opened,
  refused,
  verifyJournal,
  voted,
  wholeJournal,
} from './scenario.js'

/** Someone with the file and without the keys: nothing they do to it passes. */
const options = (keyring: typeof journal.keyring) =>
  ({ crypto: nodeCrypto, keys: keyring }) as const

/** The status of the bytes, whatever became of them; what is no journal any more is judged by its records. */
function statusOf(bytes: Uint8Array, from: { keyring: typeof journal.keyring }): string {
  const { results, journal: whole } = verifyLedger(bytes, options(from.keyring))
  if (whole !== null) return whole.status
  return results.length > 0 && results.every(({ ok }) => ok) ? 'valid' : 'invalid'
}

const journal = wholeJournal()
const bytes = new TextEncoder().encode(journal.text())
const joined = (lines: readonly string[]): Uint8Array =>
  new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))

describe('a journal in the hands of someone without its keys', () => {
  it('is valid as it was written', () => {
    expect(statusOf(bytes, journal)).toBe('valid')
  })

  it('shows every octet that was changed, the last line’s included', () => {
    const small = sealedJournal()
    const asked = refused('hitl_dispatched')
    const run = approvedRun(asked)
    small.write(small.capsule(asked), opened(small, asked))
    small.seal(voted(small, asked, 'dana', 'approve'))
    small.write(dispatched(run), small.capsule(run))
    const text = new TextEncoder().encode(small.text())
    expect(statusOf(text, small)).toBe('valid')
    const lastLine = new TextEncoder().encode(small.lines.at(-1)).length + 1
    const flip = (at: number, mask: number): string => {
      const changed = Uint8Array.from(text)
      changed[at] = (changed[at] ?? 0) ^ mask
      return statusOf(changed, small)
    }
    // Every octet of the last line, which nothing behind it covers.
    for (let at = text.length - lastLine; at < text.length; at++)
      for (const mask of [1, 0x20, 0x80]) expect([at, flip(at, mask)]).not.toEqual([at, 'valid'])
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        expect(flip(at, mask)).not.toBe('valid')
      }),
      { numRuns: 400 },
    )
  })

  it('shows every octet that was put in or taken out', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(255), fc.boolean(), (at, byte, put) => {
        const [before, after] = [bytes.subarray(0, at), bytes.subarray(put ? at : at + 1)]
        const changed = Uint8Array.from([...before, ...(put ? [byte] : []), ...after])
        if (changed.length !== bytes.length) expect(statusOf(changed, journal)).not.toBe('valid')
      }),
      { numRuns: 150 },
    )
  })

  it('shows every line that was deleted, doubled or exchanged with another', () => {
    const { lines } = journal
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] ?? ''
      expect([at, statusOf(joined(lines.toSpliced(at, 1)), journal)]).not.toEqual([at, 'valid'])
      expect([at, statusOf(joined(lines.toSpliced(at, 0, line)), journal)]).not.toEqual([
        at,
        'valid',
      ])
      const other = lines[at + 1]
      if (other === undefined) continue
      const swapped = lines.with(at, other).with(at + 1, line)
      expect([at, statusOf(joined(swapped), journal)]).not.toEqual([at, 'valid'])
    }
  })

  it('shows lines left out with the chain made anew: their heads are not signed anew', () => {
    const types = [...new Set(journal.lines.map((line) => JSON.parse(line).type as string))]
    for (const left of types) {
      const relinked = sealedJournal({ keys: journal.keys })
      for (const line of journal.lines) {
        const { v: _, origin, seq, prev, at, type, ...members } = JSON.parse(line)
        void [origin, seq, prev, at]
        if (type !== left) relinked.writeBare(2, { type, json: JSON.stringify(members) })
      }
      const { status } = verifyJournal(relinked.text(), journal)
      expect([left, status]).not.toEqual([left, 'valid'])
    }
  })

  it('cut anywhere is either not valid, or whole up to an older head and says so', () => {
    const { lines } = journal
    for (let at = 1; at < lines.length; at++) {
      const { status, complete } = verifyJournal(joined(lines.slice(0, at)), journal)
      if (status === 'valid') expect(complete).toMatchObject({ ok: true, upto: at - 1 })
      const head = JSON.stringify(journal.heads.at(-1))
      const held = verifyJournal(joined(lines.slice(0, at)), journal, { head })
      expect([at, held.status]).not.toEqual([at, 'valid'])
    }
  })
})
