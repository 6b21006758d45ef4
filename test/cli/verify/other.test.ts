import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { receiptOf } from '../../../src/capseal.js'
import { sealCps } from '../../../src/cps.js'
import { AT, bundleOf, canonicalOf, chainOf, parts, signer } from '../../core/cps/made.js'
import { cli } from '../support.js'

/** Records of other makers, as files. */
const ours = signer()
const fingerprint = ours.publicKey.slice(0, 16)
let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'capsule-gate-other-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const put = (name: string, content: string): string => {
  const path = join(root, name)
  writeFileSync(path, content)
  return path
}
const keys = (): string[] => [
  '--keys',
  put('keys.json', JSON.stringify({ [fingerprint]: ours.publicKey })),
]
async function verify(path: string, ...more: string[]) {
  const { code, out } = await cli(['verify', path, '--json', ...more])
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const problems = rows.filter(({ type }) => type === 'problem')
  return { code, ...rows.at(-1), problems: problems.map(({ code, record }) => [code, record]) }
}
const chain = chainOf(3, ours)
const sealed = (): string => {
  const made = sealCps(canonicalOf(parts(0, null)), ours, AT)
  if (!made.ok) throw new Error(made.code)
  return made.json
}

describe('a capsule of the Capsule Protocol', () => {
  it('is told by its content, and valid under its key', async () => {
    for (const text of [sealed(), JSON.stringify(chain[2]), JSON.stringify(chain[0], null, 2)]) {
      const path = put('thing.txt', text)
      expect(await verify(path, ...keys())).toMatchObject({
        code: 0,
        kind: 'cps_capsule',
        status: 'valid',
      })
      expect(await verify(path)).toMatchObject({ code: 3, status: 'incomplete' })
    }
    const text = await cli(['verify', put('c.json', sealed()), ...keys()])
    expect(text.out).toMatch(/c\.json {2}cps_capsule {2}VALID/)
    expect(text.out).toMatch(/whether what a record says is true/)
  })

  it('is invalid after one changed byte, whatever keys there are', async () => {
    const path = put('c.json', sealed().replace('step 0', 'step 1'))
    for (const more of [[], keys()]) {
      expect(await verify(path, ...more)).toMatchObject({
        code: 1,
        problems: [['hash_mismatch', undefined]],
      })
    }
  })
})

describe('a chain', () => {
  const forms = (of: readonly object[]): [string, string][] => [
    ['chain.json', JSON.stringify(of)],
    ['chain.jsonl', of.map((each) => `${JSON.stringify(each)}\n`).join('')],
    [
      'bot-s1.json',
      JSON.stringify({ id: 'bot-s1', length: of.length, head_hash: '', capsules: of }),
    ],
  ]

  it('is one as an array, as lines and as a file of an export', async () => {
    for (const [name, text] of forms(chain)) {
      expect(await verify(put(name, text), ...keys())).toMatchObject({
        code: 0,
        kind: 'cps_chain',
        other: { capsules: 3, head: chain[2]?.hash, signers: [ours.publicKey] },
      })
    }
  })

  it('is red with code and index', async () => {
    const [first, , third] = chain
    for (const [name, text] of forms([first, third] as object[])) {
      expect(await verify(put(name, text), ...keys())).toMatchObject({
        code: 1,
        problems: [
          ['sequence', 1],
          ['link', 1],
        ],
      })
    }
  })

  it('is followed by its links alone where that is asked for', async () => {
    const changed = chain.map((each) => ({
      ...each,
      canonical: each.canonical.replace('step', 'STEP'),
    }))
    const path = put('chain.json', JSON.stringify(changed))
    expect(await verify(path, '--level', 'structural')).toMatchObject({ code: 0, status: 'valid' })
    expect(await verify(path)).toMatchObject({ code: 1 })
  })
})

describe('an export', () => {
  const folder = (files: ReadonlyMap<string, string>): string => {
    const path = join(root, 'export')
    mkdirSync(path)
    for (const [name, text] of files) writeFileSync(join(path, name), text)
    return path
  }

  it('is whole under keys that are given; with its own keys alone it is incomplete', async () => {
    const path = folder(bundleOf({ 'bot-s1': chain }, ours))
    expect(await verify(path, ...keys())).toMatchObject({
      code: 0,
      kind: 'cps_bundle',
      other: { chains: 1, capsules: 4 },
    })
    expect(await verify(path)).toMatchObject({ code: 3, status: 'incomplete' })
  })

  it('names chain and index of what is wrong', async () => {
    const files = bundleOf({ 'bot-s1': chain }, ours)
    files.set('bot-s1.json', (files.get('bot-s1.json') ?? '').replace('step 1', 'step 9'))
    const { code, out } = await cli(['verify', folder(files), ...keys()])
    expect(code).toBe(1)
    expect(out).toMatch(/record 1 {2}error {2}hash_mismatch: chain bot-s1/)
  })

  it('is no folder without an index', async () => {
    const { code, err } = await cli(['verify', root])
    expect(code).toBe(2)
    expect(err).toMatch(/directory without index\.json/)
  })
})

describe('actions.jsonl', () => {
  const action = {
    action_id: 'act_0001',
    action_type: 'file_write',
    instruction_hash: '',
    input_hash: 'ab'.repeat(32),
    output_hash: '',
    gate_decision: 'pass',
    success: true,
    duration_ms: 3,
    timestamp: '2026-11-19T12:00:00Z',
  }

  it.each([12, 13] as const)(
    'is verified over %i fields, which the result names',
    async (fields) => {
      const receipt = receiptOf(JSON.stringify(action), fields)
      if (!receipt.ok) throw new Error(receipt.code)
      const { receipt_hash } = receipt
      const line = { ...action, receipt_hash }
      expect(await verify(put('actions.jsonl', `${JSON.stringify(line)}\n`))).toMatchObject({
        code: 0,
        kind: 'receipts',
        other: { actions: 1, fields, head: receipt_hash },
      })
      const rewritten = { ...line, success: false }
      expect(await verify(put('actions.jsonl', `${JSON.stringify(rewritten)}\n`))).toMatchObject({
        code: 1,
        problems: [['receipt_mismatch', 0]],
      })
    },
  )
})
