import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { jsonDigest } from '../../../src/core/json/build.js'
import { sampleCapsule, sampleCose, testKey } from '../../core/statement/sample.js'
import { SMALLEST } from '../../support/lines.js'
import { journalKeys, type SealedJournal, sealedJournal } from '../../support/sealed-journal.js'
import { cli, journalOf, numbered } from '../support.js'

const keys = journalKeys()
const key = keys.statement
let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'capsule-gate-verify-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const put = (name: string, content: string | Uint8Array): string => {
  const path = join(root, name)
  writeFileSync(path, content)
  return path
}
const keyring = (...records: object[]): string =>
  put('keyring.json', JSON.stringify({ keys: records }))
const capsules = (count: number): Capsule[] => Array.from({ length: count }, (_, i) => numbered(i))
const journal = (count: number): SealedJournal => journalOf(capsules(count), keys)
const gateKeys = (): string => keyring(keys.statement.record, keys.event.record)
const lines = (list: readonly unknown[]): string =>
  list.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join('')

/** The last line of --json: the summary of the last file. */
const summary = (out: string) => JSON.parse(out.trimEnd().split('\n').at(-1) as string)

describe('a bare capsule', () => {
  it('is valid, pretty-printed or not, and the output says what was not checked', async () => {
    for (const indent of [0, 2]) {
      const { code, out } = await cli([
        'verify',
        put('c.json', JSON.stringify(sampleCapsule(), null, indent)),
      ])
      expect(code).toBe(0)
      expect(out).toMatch(/c\.json {2}capsule {2}VALID/)
      expect(out).toMatch(/ok +2 capsule_id recomputed/)
      expect(out).toMatch(/not checked\n.*who wrote this/)
      expect(out).not.toContain('\u001b')
    }
  })

  it('is invalid after one changed value: exit 1, with check and code', async () => {
    const changed = { ...sampleCapsule(), operator: 'evil' }
    const { code, out } = await cli(['verify', put('c.json', JSON.stringify(changed))])
    expect(code).toBe(1)
    expect(out).toMatch(/INVALID/)
    expect(out).toMatch(/error {2}check 2/)
    expect(out).toMatch(/FAILED +2 capsule_id/)
  })

  it('under a keyring is incomplete, not valid: somebody may have taken the signature off', async () => {
    const args = [
      'verify',
      put('c.json', JSON.stringify(sampleCapsule())),
      '--keys',
      keyring(key.record),
    ]
    const { code, out } = await cli(args)
    expect(code).toBe(3)
    expect(out).toMatch(/incomplete: a keyring was given, but this input carries no signature/)
  })

  it('cannot steer the terminal by what it holds', async () => {
    const hostile = JSON.stringify({ ...sampleCapsule(), action_type: '\u009b2J\u202e' })
    const { code, out } = await cli(['verify', '-'], { stdin: hostile })
    expect(code).toBe(1)
    expect(out).toContain('\\u{009b}')
    expect(out).not.toMatch(/[\u009b\u202e]/)
  })
})

describe('a statement', () => {
  it('is valid under its key, invalid under another, incomplete under none', async () => {
    const file = put('s.cose', sampleCose(key))
    const good = await cli(['verify', file, '--keys', keyring(key.record)])
    expect(good).toMatchObject({ code: 0 })
    expect(good.out).toMatch(/ok +signature +alg -8/)
    const other = await cli(['verify', file, '--keys', keyring(testKey().record)])
    expect(other.code).toBe(1)
    expect(other.out).toMatch(/signature_kid_unknown/)
    const none = await cli(['verify', file])
    expect(none.code).toBe(3)
    expect(none.out).toMatch(/INCOMPLETE/)
  })

  it('is known by its first byte on stdin too, and a damaged one is invalid without any key', async () => {
    const bytes = Buffer.from(sampleCose(key))
    const stdin = (): Readable => Readable.from([bytes.subarray(0, 1), bytes.subarray(1)])
    const good = await cli(['verify', '-', '--keys', keyring(key.record), '--json'], {
      stdin: stdin(),
    })
    expect(summary(good.out)).toMatchObject({ kind: 'statement', status: 'valid' })
    expect((await cli(['verify', put('cut.cose', bytes.subarray(0, 50))])).code).toBe(1)
    expect((await cli(['verify', put('empty.cose', '')])).code).toBe(1)
  })

  it('under the name of a journal is none', async () => {
    const keyring = put('keyring.json', JSON.stringify({ keys: [key.record] }))
    const args = ['--keys', keyring]
    expect((await cli(['verify', put('s.bin', sampleCose(key)), ...args])).code).toBe(0)
    expect((await cli(['verify', put('journal.jsonl', sampleCose(key)), ...args])).code).toBe(1)
  })

  it('of more than 1 MiB is refused without reading on', async () => {
    const { code, out } = await cli([
      'verify',
      put('big.cose', Buffer.alloc(3 * 1024 * 1024, 0xd2)),
    ])
    expect(code).toBe(1)
    expect(out).toMatch(/too_large/)
  })

  it('with a bad payload is invalid even without keys', async () => {
    const bad = sampleCose(key, { ...sampleCapsule(), operator: 'other' })
    expect((await cli(['verify', put('s.cose', bad)])).code).toBe(1)
  })
})

describe('a ledger', () => {
  it.each([
    ['a JSON array on one line', (all: Capsule[]) => JSON.stringify(all)],
    ['a pretty-printed array', (all: Capsule[]) => JSON.stringify(all, null, 2)],
    ['lines', (all: Capsule[]) => lines(all)],
    ['lines without a last line feed', (all: Capsule[]) => lines(all).trimEnd()],
    [
      'the ledger object of the public vectors',
      (all: Capsule[]) => JSON.stringify({ ledger: all }),
    ],
  ])('as %s is valid', async (_, format) => {
    const { code, out } = await cli(['verify', '-', '--json'], { stdin: format(capsules(3)) })
    expect(code).toBe(0)
    expect(summary(out)).toMatchObject({ kind: 'ledger', ledger: { capsules: 3, invalid: 0 } })
  })

  it('with a changed record is invalid, naming its line', async () => {
    const all: object[] = capsules(5)
    all[3] = { ...all[3], developer: 'someone else' }
    const { code, out } = await cli(['verify', put('ledger.jsonl', lines(all))])
    expect(code).toBe(1)
    expect(out).toMatch(/line 4 {2}error {2}check 2/)
    expect(out).toMatch(/5 capsules in 5 lines +1 invalid/)
  })

  it('with a first line that is no JSON still has the other lines checked', async () => {
    const { code, out } = await cli([
      'verify',
      put('x.jsonl', `{"a":\n${lines(capsules(2))}`),
      '--json',
    ])
    expect(code).toBe(1)
    expect(summary(out).ledger).toMatchObject({ capsules: 2, invalid: 1 })
    expect(JSON.parse(out.split('\n')[0] as string)).toMatchObject({
      type: 'problem',
      line: 1,
      check: 1,
    })
  })

  it('of nothing is never valid', async () => {
    for (const stdin of ['', ' \n', '[]', '{}', 'null', '"x"', '[1]', '[[]]', '{"ledger":[]}']) {
      expect([stdin, (await cli(['verify', '-'], { stdin })).code === 0]).toEqual([stdin, false])
    }
  })

  it('shows the first fifty problems to a person and all of them to a script', async () => {
    const all = capsules(70).map((capsule) => ({ ...capsule, operator: 'x' }))
    const file = put('l.jsonl', lines(all))
    const { out } = await cli(['verify', file])
    expect(out.match(/^ {2}line \d+/gm)).toHaveLength(50)
    expect(out).toMatch(/… and 20 more/)
    expect((await cli(['verify', file, '--json'])).out.match(/"type":"problem"/g)).toHaveLength(70)
  })
})

describe('a journal', () => {
  it('is valid with keys up to its last head, and incomplete without', async () => {
    const made = journal(3)
    const file = put('journal.jsonl', made.text())
    const good = await cli(['verify', file, '--keys', gateKeys()])
    expect(good).toMatchObject({ code: 0 })
    expect(good.out).toMatch(/journal {2}VALID/)
    expect(good.out).toMatch(/ok +lines, signatures, heads, actions, people/)
    const { upto, time } = made.heads.at(-1) ?? {}
    expect(good.out).toMatch(
      new RegExp(`ok +complete up to head ${upto} of ${time} +6 lines, 3 capsules`),
    )
    expect(good.out).toMatch(/3 capsules in 9 lines/)
    expect(good.out).toMatch(/- whether there were later lines: only a later head/)
    const without = await cli(['verify', file])
    expect(without.code).toBe(3)
    expect(without.out).toMatch(/incomplete: no keyring was given/)
  })

  it.each<[string, (all: string[]) => string[], RegExp]>([
    ['a line left out', (all) => all.toSpliced(3, 1), /line 4 {2}error {2}journal_/],
    [
      'two lines exchanged',
      ([a, b, c, d, ...rest]) => [a, c, b, d, ...rest] as string[],
      /line 2 {2}error/,
    ],
    [
      'an event changed',
      (all) => all.map((l, i) => (i === 3 ? l.replace('"bot@1"', '"bot@2"') : l)),
      /line 5 {2}error {2}journal_prev_mismatch/,
    ],
    [
      'a capsule changed',
      (all) => all.map((l, i) => (i === 4 ? l.replace('"acme"', '"evil"') : l)),
      /line 5 {2}error .*signature_signature_invalid/,
    ],
    [
      'a signature of another capsule',
      (all) => {
        const signature = /"signature":"([^"]+)"/.exec(all[1] as string)?.[1] as string
        return all.map((l, i) =>
          i === 7 ? l.replace(/"signature":"[^"]+"/, `"signature":"${signature}"`) : l,
        )
      },
      /line 8 {2}error .*signature_signature_invalid/,
    ],
    [
      'its last head changed',
      (all) => all.map((l, i) => (i === 8 ? l.replace('"capsules":3', '"capsules":4') : l)),
      /line 9 {2}error .*head_signature/,
    ],
    [
      'an empty line in it',
      (all) => all.toSpliced(3, 0, ''),
      /line 4 {2}error {2}journal_line_empty/,
    ],
  ])('with %s is invalid and names the line', async (_, change, expected) => {
    const args = ['verify', put('j.jsonl', lines(change(journal(3).lines))), '--keys', gateKeys()]
    const { code, out } = await cli(args)
    expect(code).toBe(1)
    expect(out).toMatch(expected)
    expect(out).toMatch(/-- +complete +cannot be told/)
  })

  it('is incomplete where something is missing: head, beginning, key', async () => {
    const { lines: all, keys: own } = journal(3)
    const cases: [string, string[], () => string, RegExp][] = [
      ['its last head', all.slice(0, -1), gateKeys, /2 lines stand behind the last signed head/],
      ['its first lines', all.slice(3), gateKeys, /it begins with line 4: the lines before it/],
      ['a key', all, () => keyring(own.statement.record), /the keyring has no key/],
    ]
    for (const [what, some, ring, said] of cases) {
      const { code, out } = await cli(['verify', put('j.jsonl', lines(some)), '--keys', ring()])
      expect({ what, code }).toEqual({ what, code: 3 })
      expect(out).toMatch(said)
    }
  })

  it('of version 1 is incomplete, and the way out is named', async () => {
    const made = journal(0)
    made.writeBare(1, made.capsule(numbered(1)))
    const { code, out } = await cli(['verify', '-', '--keys', gateKeys()], { stdin: made.text() })
    expect(code).toBe(3)
    expect(out).toMatch(/a journal of version 1: no signed head.*`capsule-gate journal adopt`/)
  })

  it('is held to a head that was seen elsewhere', async () => {
    const made = journal(3)
    const whole = put('whole.jsonl', made.text())
    const older = put('older.jsonl', lines(made.lines.slice(0, 6)))
    const head = put('head.json', `${JSON.stringify({ head: made.heads.at(-1) })}\n`)
    const ring = gateKeys()
    const good = await cli(['verify', whole, '--keys', ring, '--head', head, '--json'])
    expect(good.code).toBe(0)
    expect(summary(good.out)).toMatchObject({
      complete: { ok: true, upto: 8, lines: 6, capsules: 3 },
      begun_before: { actions: 0, approvals: 0 },
    })
    expect(summary(good.out).not_checked).not.toContain('journal_tail')
    expect((await cli(['verify', older, '--keys', ring])).code).toBe(0)
    const behind = await cli(['verify', older, '--keys', ring, '--head', head])
    expect(behind.code).toBe(1)
    expect(behind.out).toMatch(/error {2}journal_behind_head: the journal ends at line 6/)

    const lying = put('lying.json', JSON.stringify({ ...made.heads[0], upto: 1 }))
    expect((await cli(['verify', whole, '--keys', ring, '--head', lying])).code).toBe(3)
    const none = put('none.json', '{"head":null}')
    const empty = await cli(['verify', whole, '--keys', ring, '--head', none])
    expect(empty.code).toBe(2)
    expect(empty.err).toMatch(/there is no signed head in .*none\.json/)
    expect((await cli(['verify', whole, '--head', join(root, 'absent')])).code).toBe(2)
    const capsule = put('c.json', JSON.stringify(sampleCapsule()))
    const other = await cli(['verify', capsule, '--head', head])
    expect(other.code).toBe(3)
    expect(other.out).toMatch(/but this is no journal/)
  })

  it('much larger than the memory it may use is read as a stream', async () => {
    const COUNT = 30_000
    const base = { ...sampleCapsule(), 'dev.example.padding': 'x'.repeat(1500) }
    let bytes = 0
    function* content(): Generator<string> {
      for (let i = 0; i < COUNT; i++) {
        const line = `${JSON.stringify({ ...base, action_id: `action ${i}` })}\n`
        bytes += line.length
        yield line
      }
    }
    const { code, out } = await cli(['verify', '-', '--profile', 'compat'], {
      stdin: Readable.from(content()),
      node: ['--max-old-space-size=32'],
    })
    // Padded and renamed after the id was made, so each one is found.
    expect(code).toBe(1)
    expect(bytes).toBeGreaterThan(48 * 1024 * 1024)
    expect(out).toContain(`${COUNT} capsules in ${COUNT} lines`)
    expect(out).toContain(`${COUNT} invalid`)
  })
})

describe('a journal of many actions', () => {
  it('is read in the same memory: of each action no more than its id is kept', async () => {
    const COUNT = 20_000
    function* content(): Generator<string> {
      const made = sealedJournal({ keys })
      let written = 0
      for (let i = 0; i < COUNT; i += 100) {
        const batch = Array.from({ length: 100 }, (_, k) => numbered(i + k)).flatMap((capsule) => {
          const members = { ...SMALLEST.ACTION_DISPATCHED, action_id: capsule.action_id }
          return [made.event('ACTION_DISPATCHED', members), made.capsule(capsule)]
        })
        made.write(...batch)
        yield lines(made.lines.slice(written))
        written = made.lines.length
      }
    }
    const { code, out } = await cli(['verify', '-', '--keys', gateKeys()], {
      stdin: Readable.from(content()),
      node: ['--max-old-space-size=32'],
    })
    expect(out).toContain(`${COUNT} capsules in ${2 * COUNT + COUNT / 100} lines`)
    expect(code).toBe(0)
  })
})

describe('a disclosure envelope', () => {
  it('is valid when the value matches its digest and invalid when it does not', async () => {
    const reason = { code: 'amount_cap', tenant_salt: '00' }
    const reason_digest = jsonDigest(reason, nodeCrypto)
    const disposition = { ...sampleCapsule().disposition, reason_digest }
    const envelope = (shown: object): string =>
      JSON.stringify({
        capsule: sampleCapsule({ disposition }),
        disclosures: { 'dev.capsulegate.reason': shown },
      })
    const good = await cli(['verify', '-'], { stdin: envelope(reason) })
    expect(good).toMatchObject({ code: 0 })
    expect(good.out).toMatch(/ok +disclosures +1 of 1 match/)
    const { code, out } = await cli(['verify', '-'], { stdin: envelope({ code: 'other' }) })
    expect(code).toBe(1)
    expect(out).toMatch(/disclosure_mismatch: dev\.capsulegate\.reason/)
    expect(out).toMatch(/FAILED +disclosures +0 of 1 match/)
  })
})

describe('the command line', () => {
  it('exits 2 for what is not there: file, keyring, directory, profile, no file at all', async () => {
    const file = put('c.json', JSON.stringify(sampleCapsule()))
    const broken = put('bad-keyring.json', '{"keys":[{}]}')
    const runs: [string[], RegExp][] = [
      [['verify', join(root, 'absent')], /cannot read .*absent/],
      [['verify', root], /is a directory/],
      [['verify', file, '--keys', join(root, 'none')], /cannot read keyring/],
      [['verify', file, '--keys', broken], /keyring .*\$\.keys\[0\]\.kid is no lowercase hex/],
      [['verify', file, '--profile', 'lax'], /profile/],
      [['verify'], /missing required argument/],
    ]
    for (const [args, message] of runs) {
      const { code, err } = await cli(args)
      expect({ args, code }).toEqual({ args, code: 2 })
      expect(err).toMatch(message)
    }
  })

  it('of several files gives the worst: invalid over unreadable over incomplete over valid', async () => {
    const good = put('good.json', JSON.stringify(sampleCapsule()))
    const bad = put('bad.json', '{}')
    const statement = put('s.cose', sampleCose(key))
    const absent = join(root, 'absent')
    expect((await cli(['verify', good, statement])).code).toBe(3)
    expect((await cli(['verify', good, statement, absent])).code).toBe(2)
    expect((await cli(['verify', absent, bad, statement])).code).toBe(1)
  })
})
