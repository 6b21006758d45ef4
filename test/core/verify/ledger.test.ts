import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { payloadOf } from '../../../src/core/capsule/build.js'
import { type Class1Result, verifyLedger, verifyLedgerStream } from '../../../src/verify.js'
import { sealedJournal } from '../../support/sealed-journal.js'
import { build, input, outcomeSample, samples } from '../capsule/samples.js'
import { dispatched, wholeJournal } from './journal/scenario.js'

const all = samples().map(({ capsule }) => capsule)
const payloads = all.map(payloadOf)
const options = { crypto: nodeCrypto } as const
const { identity } = input({ kind: 'timed_out' })
const journal = wholeJournal()
const { lines } = journal
const keyed = { crypto: nodeCrypto, keys: journal.keyring } as const
const capsules = lines.filter((line) => line.includes('"type":"CAPSULE"')).length
const codes = (results: readonly Class1Result[]): string[] =>
  results.flatMap(({ findings }) =>
    findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
  )
const oks = (results: readonly Class1Result[]): boolean => results.every(({ ok }) => ok)

async function* chunks(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1)
    yield bytes.slice(at, at + size)
    at += size
  }
}
async function streamed(text: string, sizes: readonly number[] = [65536], given = {}) {
  const results: Class1Result[] = []
  const stream = verifyLedgerStream(chunks(text, sizes), { ...options, ...given })
  for (;;) {
    const next = await stream.next()
    if (next.done) return { results, ...next.value }
    results.push(next.value)
  }
}

describe('forms of a ledger', () => {
  const forms: Record<string, string> = {
    'a JSON array': `[${payloads.join(',')}]`,
    'a spaced JSON array': JSON.stringify(
      payloads.map((text) => JSON.parse(text)),
      null,
      2,
    ),
    'JSON Lines': payloads.join('\n'),
    'JSON Lines that end in a line break, with CRLF': `${payloads.join('\r\n')}\r\n`,
    'the journal of a gate': `${lines.join('\n')}\n`,
  }
  for (const [name, text] of Object.entries(forms)) {
    it(`${name}: every capsule holds, whole and streamed alike`, async () => {
      const whole = verifyLedger(text, options)
      const count = name.startsWith('the journal') ? capsules : all.length
      expect([whole.results.length, codes(whole.results)]).toEqual([count, []])
      expect(await streamed(text)).toEqual(whole)
    })
    it(`${name}: gives the same results however the bytes are cut`, async () => {
      const want = verifyLedger(text, options)
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1 }),
          async (sizes) => {
            expect(await streamed(text, sizes)).toEqual(want)
          },
        ),
        { numRuns: 4 },
      )
    })
  }
  it('brackets, commas and quotes inside strings do not cut an array', async () => {
    const awkward = ['a"],["b', 'c\\', '\\",{', '}]'].map((operator) =>
      payloadOf(build({ ...input({ kind: 'timed_out' }), identity: { ...identity, operator } })),
    )
    const text = `[${awkward.join(',')}]`
    for (const sizes of [[65536], [1], [7, 3]])
      expect((await streamed(text, sizes)).results.map(({ ok }) => ok)).toEqual([
        true,
        true,
        true,
        true,
      ])
  })
  it('one capsule over several lines is a ledger of one', () => {
    const text = JSON.stringify(JSON.parse(payloads[0] ?? ''), null, 2)
    expect(verifyLedger(text, options).results.map(({ ok }) => ok)).toEqual([true])
  })
  it('{"ledger": […]} is read as its array', () => {
    expect(oks(verifyLedger(`{"ledger":[${payloads.join(',')}]}`, options).results)).toBe(true)
  })

  const broken: Record<string, string> = {
    nothing: '',
    'space only': ' \n ',
    'an array that never ends': `[${payloads[0]}`,
    'an array with a trailing comma': `[${payloads[0]},]`,
    'an array with a leading comma': `[,${payloads[0]}]`,
    'text after the array': `[${payloads[0]}] x`,
    'two values in one element': `[${payloads[0]} 1]`,
    'an unclosed string': '["abc]',
    'a bracket too many': `[${payloads[0]}]]`,
    'a line that is no JSON': `${payloads[0]}\nnot json\n${payloads[1]}`,
    'a lone surrogate': `[${payloads[0]},"\ud800"]`,
    'a duplicate name': `[{"a":1,"a":2}]`,
    'a number': '7',
    'an array of numbers': '[1,2]',
  }
  for (const [name, text] of Object.entries(broken))
    it(`${name}: ends in a finding`, async () => {
      expect(oks(verifyLedger(text, options).results)).toBe(false)
      expect(verifyLedger(text, options).results.length).toBeGreaterThan(0)
      if (!/\p{Surrogate}/u.test(text)) expect(oks((await streamed(text)).results)).toBe(false)
    })
})

describe('chains', () => {
  const childAt = all.findIndex((capsule) => capsule.chain !== undefined)
  const child = all[childAt]
  const parent = all.find((capsule) => capsule.capsule_id === child?.chain?.parent_capsule_id)
  if (child === undefined || parent === undefined) throw new Error('no chain in the samples')
  const [c, p] = [payloadOf(child), payloadOf(parent)]

  it('a missing parent fails, unless the store outside holds it', () => {
    expect(codes(verifyLedger(`[${c}]`, options).results)).toEqual(['chain_parent_missing'])
    const store = new Set([parent.capsule_id])
    expect(oks(verifyLedger(`[${c}]`, { ...options, store }).results)).toBe(true)
  })

  it('a parent after its child fails in strict and passes in compat', async () => {
    expect(codes(verifyLedger(`[${c},${p}]`, options).results)).toEqual(['chain_parent_later'])
    expect(oks(verifyLedger(`[${c},${p}]`, { ...options, profile: 'compat' }).results)).toBe(true)
    expect(oks((await streamed(`[${c},${p}]`)).results)).toBe(false)
  })

  it('a parent whose content was changed is no parent', () => {
    const forged = p.replace('"operator":"acme"', '"operator":"evil"')
    expect(codes(verifyLedger(`[${forged},${c}]`, options).results)).toEqual([
      'capsule_id_mismatch',
      'chain_parent_missing',
    ])
  })

  it('the second of two supersedes is valid and reported; the item is closed once', () => {
    const second = payloadOf(
      all.find((capsule) => capsule.chain !== undefined && capsule !== child) ?? child,
    ).replace(/"parent_capsule_id":"[0-9a-f]{64}"/, `"parent_capsule_id":"${parent.capsule_id}"`)
    const { results, open_items } = verifyLedger(`[${p},${c},${second}]`, options)
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true])
    expect(
      results.map(({ findings }) => findings.some((f) => f.code === 'concurrent_supersedes')),
    ).toEqual([false, false, true])
    expect(open_items).not.toContain(parent.capsule_id)
  })

  it('a capsule that does not verify closes nothing', () => {
    const forged = c.replace('"operator":"acme"', '"operator":"evil"')
    expect(verifyLedger(`[${p}]`, options).open_items).toEqual([parent.capsule_id])
    expect(verifyLedger(`[${p},${forged}]`, options).open_items).toContain(parent.capsule_id)
    expect(verifyLedger(`[${p},${c}]`, options).open_items).not.toContain(parent.capsule_id)
  })

  it('the same capsule twice fails in strict', () => {
    expect(codes(verifyLedger(`[${p},${p}]`, options).results)).toEqual(['capsule_repeated'])
    expect(oks(verifyLedger(`[${p},${p}]`, { ...options, profile: 'compat' }).results)).toBe(true)
  })

  it('an outcome needs its original before it', () => {
    const original = all[0] ?? child
    const outcome = payloadOf(outcomeSample(original))
    expect(codes(verifyLedger(`[${outcome}]`, options).results)).toEqual([
      'outcome_original_missing',
    ])
    expect(oks(verifyLedger(`[${payloadOf(original)},${outcome}]`, options).results)).toBe(true)
  })
})

describe('a journal', () => {
  const text = `${lines.join('\n')}\n`

  it('with keys: every statement holds, and signature is no longer unchecked', async () => {
    const { results } = await streamed(text, [4096], keyed)
    expect(codes(results)).toEqual([])
    expect(results.length).toBe(capsules)
    for (const { not_checked } of results) expect(not_checked).not.toContain('signature')
    for (const { not_checked } of verifyLedger(text, options).results)
      expect(not_checked).toContain('signature')
  })

  it('is written bit-exactly: leaf hashes as the format says, computed here independently', () => {
    const bytes = new TextEncoder().encode(lines[0])
    const leaf = hex(nodeCrypto.sha256(Uint8Array.from([0, ...bytes])))
    expect(JSON.parse(lines[1] ?? '').prev).toBe(leaf)
    expect(JSON.parse(lines[0] ?? '').prev).toBe('0'.repeat(64))
  })

  const edits: Record<string, [change: (lines: string[]) => string[], code: string]> = {
    'a line removed': [(l) => l.toSpliced(4, 1), 'journal_seq_broken'],
    'the first line removed': [(l) => l.slice(1), 'none'],
    'two lines swapped': [(l) => l.with(4, l[5] ?? '').with(5, l[4] ?? ''), 'journal_seq_broken'],
    'a line twice': [(l) => l.toSpliced(4, 0, l[4] ?? ''), 'journal_seq_broken'],
    'an event edited': [
      (l) => l.with(3, (l[3] ?? '').replace('"bot@1"', '"bot@2"')),
      'journal_prev_mismatch',
    ],
    'a space added to a line': [(l) => l.with(4, `${l[4]} `), 'journal_prev_mismatch'],
    'another origin': [
      (l) => l.with(4, (l[4] ?? '').replace('gate-1', 'gate-2')),
      'journal_origin_changed',
    ],
    'another version': [
      (l) => l.with(4, (l[4] ?? '').replace('"v":2', '"v":1')),
      'journal_version',
    ],
    'time going back': [
      (l) => l.with(4, (l[4] ?? '').replace('12:00:00.004', '12:00:00.000')),
      'journal_time_went_back',
    ],
    'a line that is a bare capsule': [
      (l) => l.with(4, payloads[0] ?? ''),
      'journal_line_malformed',
    ],
    'a line that is no JSON': [(l) => l.with(4, '{"v":1'), 'not_strict_json'],
    'a first line that claims a later place': [
      (l) => l.with(0, (l[0] ?? '').replace('"seq":1', '"seq":9')),
      'journal_start_forged',
    ],
    'a seq that is a float': [
      (l) => l.with(4, (l[4] ?? '').replace('"seq":5', '"seq":5.0')),
      'journal_envelope_malformed',
    ],
  }
  for (const [name, [change, code]] of Object.entries(edits))
    it(`${name}: ${code === 'none' ? 'named in not_checked' : `found as ${code}`}`, async () => {
      const edited = `${change([...lines]).join('\n')}\n`
      const { results } = await streamed(edited, [4096], keyed)
      if (code === 'none') {
        expect(results[0]?.not_checked).toContain('earlier_journal_lines')
      } else expect(codes(results)).toContain(code)
    })

  it('with a capsule edited, its id repaired and the chain rebuilt: only the keys tell', () => {
    const forged = sealedJournal({ keys: journal.keys })
    const [first, second] = all.filter(({ chain }) => chain !== undefined)
    const parent = all.find(({ capsule_id }) => capsule_id === first?.chain?.parent_capsule_id)
    if (first === undefined || second === undefined || parent === undefined) throw new Error('none')
    const { type, json } = forged.capsule({ ...first, disposition: second.disposition })
    const swapped = json.replace(/"relation":"supersedes"/, '"relation":"amends"')
    forged.write(forged.capsule(parent), { type, json: swapped })
    const unkeyed = verifyLedger(forged.text(), options)
    expect(codes(unkeyed.results).filter((code) => code.startsWith('signature'))).toEqual([])
    expect(codes(verifyLedger(forged.text(), keyed).results)).toContain(
      'signature_signature_invalid',
    )
  })

  it('an outcome line whose statement member lies is found', () => {
    const [original] = all
    if (original === undefined) throw new Error('no samples')
    const written = (change: (json: string) => string): Class1Result[] => {
      const own = sealedJournal({ keys: journal.keys })
      const { type, json } = own.capsule(outcomeSample(original), original)
      own.write(dispatched(original), own.capsule(original), { type, json: change(json) })
      return [...verifyLedger(own.text(), keyed).results]
    }
    expect(codes(written((json) => json))).toEqual([])
    // Without that word it passes for no outcome, so that its effect wants a dispatch too.
    expect(codes(written((json) => json.replace('"outcome"', '"agent_action"')))).toContain(
      'statement_type_mismatch',
    )
  })

  it('tells a line that does not hold what its type must, and one it does not know', () => {
    const bad = {
      type: 'HALT',
      json: '{"scope":{"kind":"agent"},"by":"ops","kid":"aa","sig":"AA"}',
    }
    const own = sealedJournal({ keys: journal.keys })
    own.write(bad, { type: 'SOMETHING_NEW', json: '{"of":"a later version"}' })
    const { results } = verifyLedger(own.text(), keyed)
    expect(results.flatMap(({ findings }) => findings)).toMatchObject([
      { code: 'journal_line_malformed', detail: 'HALT: scope.name is not a string' },
      { code: 'journal_type_unknown', severity: 'warning', detail: 'SOMETHING_NEW' },
    ])
  })

  it('a part of a journal does not call what may stand before it missing', () => {
    const at = lines.findIndex((line) => line.includes('"chain"'))
    const part = `${lines.slice(at).join('\n')}\n`
    const [result] = verifyLedger(part, keyed).results
    expect(result?.ok).toBe(true)
    expect(result?.findings.map(({ code }) => code)).toContain('chain_check_store_level')
    expect(result?.not_checked).toContain('earlier_journal_lines')
  })

  it('any one-byte change anywhere but in the last line is found', () => {
    const bytes = new TextEncoder().encode(text)
    const last = new TextEncoder().encode(lines.at(-1)).length + 1
    fc.assert(
      fc.property(fc.nat(bytes.length - last - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const changed = Uint8Array.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ mask
        const { results } = verifyLedger(changed, options)
        // A line break changed to another space joins two lines, which is no JSON either.
        expect(oks(results)).toBe(false)
      }),
      { numRuns: 120 },
    )
  })
})

describe('memory', () => {
  it('stays flat over a long stream: what is held is an id and three bits per capsule', async () => {
    const many = 20_000
    const [line] = payloads
    async function* long(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < many; i++)
        yield new TextEncoder().encode(`${line?.replace('"acme"', `"acme${i}"`)}\n`)
    }
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    let seen = 0
    let peak = 0
    for await (const result of verifyLedgerStream(long(), options)) {
      seen++
      if (!result.ok && seen % 1000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed)
    }
    process.stdout.write(
      `stream: ${many} records, heap +${Math.round((peak - before) / 2 ** 20)} MiB\n`,
    )
    expect(seen).toBe(many)
    // The text alone is over 30 MiB; holding it would show.
    expect(peak - before).toBeLessThan(120 * 2 ** 20)
  })
})
