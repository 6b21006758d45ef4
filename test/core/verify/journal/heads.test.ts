import { describe, expect, it } from '@jest/globals'
import { signHead, signSeal } from '../../../../src/core/journal/head.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import { testKey } from '../../statement/sample.js'
import { refused, verifyJournal, wholeJournal } from './scenario.js'

const journal = wholeJournal()
const at = (type: string): number =>
  journal.lines.findIndex((line) => line.includes(`"type":"${type}"`))
const edited = (index: number, change: (line: string) => string): string =>
  journal.lines
    .with(index, change(journal.lines[index] ?? ''))
    .map((line) => `${line}\n`)
    .join('')
const otherDigit = (_: string, before: string, digit: string): string =>
  `${before}${digit === 'a' ? 'b' : 'a'}`
/** A head that only the key could have made, for what a key holder may not say either. */
const by = (from = journal) => ({
  origin: from.origin,
  kid: from.keys.event.kid,
  sign: from.keys.event.sign,
})

describe('a head without the key', () => {
  const cases: Record<string, [change: (line: string) => string, code: string]> = {
    'of a shape it has not': [
      (l) => l.replace(/"lines":\d+/, '"lines":"many"'),
      'journal_line_malformed',
    ],
    'spelled otherwise': [(l) => l.replace('{"v":2,', '{"v":2, '), 'head_spelled_otherwise'],
    'with another count': [(l) => l.replace(/"capsules":\d+/, '"capsules":9'), 'head_signature'],
    'with another signature': [(l) => l.replace(/("sig":")(.)/, otherDigit), 'head_signature'],
    'signed by another key of its own': [
      (l) => {
        const other = testKey('event')
        const { upto, hash, time, lines, capsules } = JSON.parse(l)
        const members = { upto, hash, time, lines, capsules }
        const signed = signHead(members, {
          origin: 'gate-1',
          kid: journal.keys.event.kid,
          sign: other.sign,
        })
        return signed.text
      },
      'head_signature',
    ],
    'of another place': [(l) => l.replace(/"upto":\d+/, '"upto":99'), 'head_spelled_otherwise'],
    'of another line': [(l) => l.replace(/("hash":")(.)/, otherDigit), 'head_spelled_otherwise'],
  }
  for (const [name, [change, code]] of Object.entries(cases))
    it(`${name}: ${code}, in the middle and as the last line`, () => {
      for (const index of [at('HEAD'), journal.lines.length - 1]) {
        const { status, errors } = verifyJournal(edited(index, change), journal)
        expect([status, errors]).toEqual(['invalid', expect.arrayContaining([code])])
      }
    })

  it('signed with a key that is not in the keyring is never valid', () => {
    const other = testKey('event')
    const last = JSON.parse(journal.lines.at(-1) ?? '')
    const { upto, hash, time, lines, capsules } = last
    const { text } = signHead(
      { upto, hash, time, lines, capsules },
      { origin: 'gate-1', kid: other.kid, sign: other.sign },
    )
    const { status, why } = verifyJournal(
      edited(journal.lines.length - 1, () => text),
      journal,
    )
    expect(status).toBe('incomplete')
    expect(why).toMatch(/2 lines stand behind|3 lines stand behind/)
  })
})

it('a head that counts what is not there: head_count_mismatch, though its key signed it', () => {
  for (const more of [{ lines: 7 }, { capsules: 5 }]) {
    const own = sealedJournal()
    own.writeBare(2, own.capsule(refused('denied')))
    const { seq, prev, at } = own.place()
    const members = { upto: seq - 1, hash: prev, time: at, lines: 1, capsules: 1, ...more }
    const { text } = signHead(members, by(own))
    const { errors } = verifyJournal(`${own.text()}${text}\n`, own)
    expect(errors).toEqual(['head_count_mismatch'])
  }
})

describe('a seal', () => {
  const sealAt = at('SEGMENT_SEALED')
  it('without the key cannot be changed', () => {
    const changes: [(line: string) => string, string][] = [
      [(l) => l.replace(/("root":")./, '$1x'), 'journal_line_malformed'],
      [(l) => l.replace(/"size":\d+/, '"size":3'), 'head_signature'],
      [(l) => l.replace('"segment":1', '"segment":2'), 'head_signature'],
      [(l) => l.replace(/"CAPSULE":\d+/, '"CAPSULE":9'), 'head_signature'],
      [(l) => l.replace(/("sig":")../, '$1AA'), 'head_signature'],
    ]
    for (const [change, code] of changes) {
      const { status, errors } = verifyJournal(edited(sealAt, change), journal)
      expect([status, errors]).toEqual(['invalid', expect.arrayContaining([code])])
    }
  })

  it('that the key signed is held to the lines all the same: seal_mismatch, seal_count_mismatch', () => {
    const {
      seq: _,
      v,
      origin,
      prev,
      at,
      type,
      kid,
      sig,
      ...seal
    } = JSON.parse(journal.lines[sealAt] ?? '')
    void [v, origin, prev, at, type, kid, sig]
    for (const [more, code] of [
      [{ root: 'a'.repeat(64) }, 'seal_mismatch'],
      [{ size: seal.size + 1 }, 'seal_mismatch'],
      [{ segment: 4 }, 'seal_mismatch'],
      [{ counts: { ...seal.counts, HALT: 1 } }, 'seal_count_mismatch'],
    ] as const) {
      const text = `${journal.lines.slice(0, sealAt).join('\n')}\n${signSeal({ ...seal, ...more }, by())}\n`
      expect(verifyJournal(text, journal).errors).toEqual([code])
    }
  })
})
