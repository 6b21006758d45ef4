import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { signHead } from '../../../../src/core/journal/head.js'
import { headsIn } from '../../../../src/core/verify/journal/given-head.js'
import { sealedJournal } from '../../../support/sealed-journal.js'
import { testKey } from '../../statement/sample.js'
import { refused, verifyJournal, wholeJournal } from './scenario.js'

const journal = wholeJournal()
const [older, last] = [journal.heads[0], journal.heads.at(-1)]
if (older === undefined || last === undefined) throw new Error('no heads')
const json = JSON.stringify(last)
const slot = `${`${json} ${createHash('sha256').update(json).digest('hex')}`.padEnd(1023)}\n`
const held = (head: string, text = journal.text()) => {
  const { status, errors, why, not_checked } = verifyJournal(text, journal, { head })
  return { status, errors, why, not_checked }
}
const whole = { status: 'valid', errors: [], why: '', not_checked: [] }

describe('a head seen elsewhere', () => {
  const forms: Record<string, string> = {
    'as JSON': json,
    'over several lines': JSON.stringify(last, null, 2),
    'as the line of the journal': journal.lines.at(-1) ?? '',
    'as a log line': JSON.stringify({ level: 30, msg: 'head', head: last }),
    'as a webhook body': JSON.stringify({ type: 'journal.head', data: last }),
    'as a webhook body with the head inside': JSON.stringify({ data: { head: last } }),
    'in the second head file': `${slot}${slot}`,
    'among older ones and noise': `# heads\n${JSON.stringify(older)}\n${json}\n\n{"torn": "slo`,
    'as a seal line': journal.seals.at(-1) ?? '',
  }
  for (const [name, text] of Object.entries(forms))
    it(`${name} is read, and the journal reaches it`, () => {
      expect(held(text)).toEqual(whole)
    })

  it('that the journal does not reach: journal_behind_head', () => {
    for (const cut of [1, 2, 4]) {
      const text = journal.lines.slice(0, -cut - 1).map((line) => `${line}\n`)
      expect(held(json, text.join('')).errors).toContain('journal_behind_head')
    }
    // Its own head may be cut, not the lines it covers.
    const uncovered = journal.lines.slice(0, -1).map((line) => `${line}\n`)
    expect(held(json, uncovered.join(''))).toMatchObject({ status: 'incomplete', errors: [] })
  })

  it('of another history: given_head_mismatch', () => {
    const fork = sealedJournal({ keys: journal.keys })
    fork.write(fork.capsule(refused('denied')))
    const { errors, status } = verifyJournal(fork.text(), fork, { head: JSON.stringify(older) })
    expect([status, errors]).toEqual(['invalid', ['given_head_mismatch']])
  })

  it('of another gate: given_head_foreign', () => {
    const other = sealedJournal({ keys: journal.keys, origin: 'gate-2' })
    other.write(other.capsule(refused('denied')))
    expect(held(JSON.stringify(other.heads[0])).errors).toEqual(['given_head_foreign'])
    expect(held(`${JSON.stringify(other.heads[0])}\n${json}`)).toEqual(whole)
  })

  it('that contradicts another signed one: given_heads_forked', () => {
    const { origin, kid: _, sig: __, ...members } = last
    const { head } = signHead(
      { ...members, hash: 'a'.repeat(64) },
      { origin, kid: journal.keys.event.kid, sign: journal.keys.event.sign },
    )
    expect(held(`${json}\n${JSON.stringify(head)}`).errors).toEqual(['given_heads_forked'])
  })

  it('that does not verify says nothing, and that cannot be told', () => {
    const lying = JSON.stringify({ ...last, upto: last.upto + 5 })
    expect(held(lying)).toMatchObject({
      status: 'incomplete',
      errors: [],
      why: 'the head given cannot be verified: its signature: signature_invalid',
    })
    expect(held('no head')).toMatchObject({ status: 'incomplete', errors: [] })
    const { origin, kid: _, sig: __, ...members } = last
    const stranger = testKey('event')
    const { head } = signHead(members, { origin, kid: stranger.kid, sign: stranger.sign })
    expect(held(JSON.stringify(head)).why).toMatch(/cannot be verified: its signature: kid_unknown/)
    // A good one beside it counts.
    expect(held(`${lying}\n${json}`)).toEqual(whole)
  })

  it('is found in nothing else', () => {
    for (const text of ['', '[]', '{}', '{"head":1}', '{"data":{"data":{"head":{}}}}', '{"a":"}'])
      expect(headsIn(text)).toEqual([])
  })
})
