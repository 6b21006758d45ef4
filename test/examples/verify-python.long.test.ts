import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import { LINES } from '../../src/core/journal/vocabulary.js'
import { type LedgerVerifyOptions, verifyLedger } from '../../src/verify.js'
import { cli } from '../cli/support.js'
import { refused, wholeJournal } from '../core/verify/journal/scenario.js'
import { cleared, copied } from '../fixtures/older-data.js'
import { decide, person, tool } from '../support/approvals.js'
import { draws } from '../support/draws.js'
import { SMALLEST } from '../support/lines.js'
import { PAYMENTS } from '../support/manifests.js'
import { needs } from '../support/needs.js'
import {
  agreement,
  checkWithPython,
  missingPythonChecker,
  VERIFY_PY,
} from '../support/python-checker.js'
import { refund, rig } from '../support/rig.js'
import { type SealedJournal, sealedJournal } from '../support/sealed-journal.js'
import { keyHolders, otherHead } from './key-holder.js'
import { type Tampering, tamperings } from './tamperings.js'

/** The checker in Python: short enough to read, and of one mind with `verify` in what it checks. */
const SOURCE = readFileSync(VERIFY_PY, 'utf8')
const bytesOf = (journal: SealedJournal): Buffer => Buffer.from(journal.text())
const { describe: runs } = needs(missingPythonChecker())

/** Version 1 with a sealed segment and a line that is signed today, adopted, and gone on with. */
function adoptedJournal(): SealedJournal {
  const journal = sealedJournal()
  const scope = { kind: 'all' } as const
  journal.writeBare(1, journal.event('HALT', { scope, by: 'ops' }))
  journal.writeBare(1, { type: 'RESUME', json: JSON.stringify({ scope, by: 'ops' }) })
  journal.sealVersion1()
  journal.writeBare(1, journal.capsule(refused('denied')))
  journal.adopt({ unsigned: [2], capsules: 1 })
  journal.write(journal.capsule(refused('denied')))
  journal.seal(journal.event('CONFIG_CHANGED', SMALLEST.CONFIG_CHANGED))
  journal.write(journal.event('HALT', { scope, by: 'ops' }))
  return journal
}

type Given = Pick<LedgerVerifyOptions, 'head'> & { readonly keys: SealedJournal['keyring'] }
/** Where the two differ, of all of them; one process of Python. */
async function differences(cases: readonly Tampering[], { keys, head }: Given) {
  const given = head === undefined ? {} : { head }
  const journals = cases.map(({ bytes }) => bytes)
  const answers = await checkWithPython(journals, keys, given)
  const differ = answers.flatMap((answer, index) => {
    const { kind, bytes } = cases[index] as Tampering
    const why = agreement(verifyLedger(bytes, { crypto: nodeCrypto, keys, ...given }), answer)
    return why === null ? [] : [`${index} ${kind}: ${why}`]
  })
  return { differ, statuses: new Set(answers.map(({ status }) => status)) }
}

describe('verify.py as a text', () => {
  it('has at most 210 lines, none too long to read', () => {
    const lines = SOURCE.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(210)
    expect(lines.filter((line) => line.length > 130)).toEqual([])
  })

  it('knows the types of lines that the vocabulary has, and which are signed', () => {
    const names = (name: string): string[] =>
      new RegExp(`^${name} = set\\("+([^"]+)"+\\.split`, 'm').exec(SOURCE)?.[1]?.split(/\s+/) ?? []
    const known = (signed: boolean): string[] =>
      Object.entries(LINES).flatMap(([type, line]) => (line.signed === signed ? [type] : []))
    expect(names('SIGNED').sort()).toEqual(known(true).sort())
    expect(names('UNSIGNED').sort()).toEqual(known(false).sort())
  })
})

runs('verify.py on journals as they were written', () => {
  afterEach(cleared)

  it.each([
    ['of every kind of line', wholeJournal],
    ['of version 1, adopted', adoptedJournal],
  ])('says whole of one %s', async (_, make) => {
    const journal = make()
    const [answer] = await checkWithPython([bytesOf(journal)], journal.keyring)
    const { upto, time } = journal.heads.at(-1) ?? {}
    expect(answer).toEqual({ file: '0', status: 'whole', findings: [], head: { upto, time } })
  })

  it("says whole of a real gate's journal, in words too, and exits as it says", async () => {
    const at = await rig({ manifest: PAYMENTS })
    await at.gate.govern(refund('5.00'), tool().dispatch)
    await at.gate.govern(refund('900.00'), tool().dispatch)
    const asked = await at.gate.govern(refund('150.00'), tool().dispatch)
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    await decide(at.gate, asked.actionId, person('dora'), { kind: 'approve' })
    await at.gate.govern(refund('150.00'), tool().dispatch)
    await at.gate.halt({ kind: 'all' }, 'olga')
    const { keys } = exportKeyring(join(at.dir, 'data', 'keys'))
    const bytes = readFileSync(join(at.dir, 'data', 'journal', '00000001.jsonl'))
    const head = readFileSync(join(at.dir, 'head'), 'utf8')
    await at.close()
    const [answer] = await checkWithPython([bytes], keys, { head })
    expect(answer).toMatchObject({ status: 'whole', findings: [] })

    const dir = mkdtempSync(join(tmpdir(), 'verify-python-'))
    writeFileSync(join(dir, 'keyring.json'), JSON.stringify({ keys }))
    const run = (input: Buffer) =>
      spawnSync('python3', [VERIFY_PY, '--keys', 'keyring.json', '-'], { cwd: dir, input })
    const whole = run(bytes)
    expect([whole.status, String(whole.stdout)]).toEqual([
      0,
      expect.stringMatching(/^-: whole up to head \d+ of 20.+Z, \d+ lines, \d+ capsules\n$/),
    ])
    const broken = run(Buffer.from(String(bytes).replace('"support-bot', '"support-bat')))
    expect([broken.status, String(broken.stdout)]).toEqual([
      1,
      expect.stringMatching(/^-: broken: line \d+: [a-z_]+ /),
    ])
    expect(run(bytes.subarray(0, bytes.lastIndexOf('\n', -2) + 1)).status).toBe(3)
    writeFileSync(join(dir, 'keyring.json'), '{}')
    expect(run(bytes).status).toBe(2)
    rmSync(dir, { recursive: true })
  })

  it('says whole of a journal of 0.1 that was adopted, and not before', async () => {
    const root = copied()
    const folder = join(root, 'data', 'journal')
    const read = (): Buffer =>
      Buffer.concat(
        readdirSync(folder)
          .filter((name) => name.endsWith('.jsonl'))
          .sort()
          .map((name) => readFileSync(join(folder, name))),
      )
    const before = read()
    const adopt = ['journal', 'adopt', '--data', join(root, 'data'), '--accept']
    expect(await cli(adopt)).toMatchObject({ code: 0, err: '' })
    const { keys } = exportKeyring(join(root, 'data', 'keys'))
    const [old, adopted] = await checkWithPython([before, read()], keys)
    expect([old?.status, old?.findings.map(({ code }) => code)]).toEqual([
      'cannot_tell',
      ['journal_version_1'],
    ])
    expect([adopted?.status, adopted?.findings]).toEqual(['whole', []])
  })
})

runs('verify.py and verify on journals that were changed', () => {
  const SEED = 20261118
  const every = new Set(['whole', 'broken', 'cannot_tell'])

  it('agree on those of every kind of line', async () => {
    const journal = wholeJournal()
    const cases = tamperings(journal, draws(400, 160), SEED)
    const found = await differences(cases, { keys: journal.keyring })
    expect(found).toEqual({ differ: [], statuses: every })
  })

  it('agree on those with a version 1 before its adoption', async () => {
    const journal = adoptedJournal()
    const cases = tamperings(journal, draws(200, 80), SEED + 1)
    const found = await differences(cases, { keys: journal.keyring })
    expect(found).toEqual({ differ: [], statuses: every })
  })

  it('agree on what only a key holder can write', async () => {
    const { keys, keyring } = sealedJournal()
    expect((await differences(keyHolders(keys), { keys: keyring })).differ).toEqual([])
  })

  it.each([
    ['events', 0],
    ['statements', 1],
  ])('agree where the key of %s is not in the keyring', async (_, only) => {
    for (const journal of [wholeJournal(), adoptedJournal()]) {
      const keys = [journal.keyring[only]] as SealedJournal['keyring']
      const { differ, statuses } = await differences(tamperings(journal, draws(80, 40), SEED + 2), {
        keys,
      })
      // Of a statement whose key it does not have verify.py reads no claims, which verify may find malformed.
      const unread =
        /verify: broken \(signature_malformed.*verify\.py: cannot_tell \(signature_kid_unknown/
      const others = differ.filter((each) => !unread.test(each))
      expect([others, statuses]).toEqual([[], new Set(['broken', 'cannot_tell'])])
    }
  })

  it.each<[string, (journal: SealedJournal) => string | undefined]>([
    ['an older head', ({ heads }) => JSON.stringify(heads.at(3))],
    ['the newest, in a webhook', ({ heads }) => JSON.stringify({ data: { head: heads.at(-1) } })],
    ['a seal', ({ seals }) => seals.at(-1)],
    ['one of another gate', () => JSON.stringify(wholeJournal().heads.at(-1))],
    ['one of another history', ({ keys }) => otherHead(keys)],
    ['two that differ', ({ keys, heads }) => `${otherHead(keys)}\n${JSON.stringify(heads[0])}`],
    ['nothing that is a head', () => '{"upto": 3}'],
  ])('agree with %s given', async (_, headOf) => {
    const journal = wholeJournal()
    const head = headOf(journal) ?? ''
    const cases = tamperings(journal, draws(80, 40), SEED + 3)
    const { differ } = await differences(cases, { keys: journal.keyring, head })
    expect(differ).toEqual([])
  })
})
