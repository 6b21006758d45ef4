import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Adoption, Examined } from '../../../src/adapters/journal/start/adopt.js'
import { exportKeyring } from '../../../src/adapters/keys/keyring.js'
import { adoptData } from '../../../src/app/data/adopt.js'
import { leafHash } from '../../../src/core/journal/line.js'
import { verifyLedger } from '../../../src/verify.js'
import { cli } from '../../cli/support.js'
import { cleared, copied, head, opened } from '../../fixtures/older-data.js'

/** A journal of version 1 is taken over once, after every signature in it was checked. */
afterEach(cleared)

const journalOf = (root: string): string => join(root, 'data', 'journal')
const segments = (root: string): readonly string[] =>
  readdirSync(journalOf(root))
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(journalOf(root), name))
const textOf = (root: string): string =>
  segments(root)
    .map((path) => readFileSync(path, 'utf8'))
    .join('')
const linesOf = (root: string): string[] => textOf(root).trimEnd().split('\n')
const adopt = (root: string, accept: (found: Examined) => boolean = () => true) =>
  adoptData(join(root, 'data'), join(root, 'data.head'), accept)
const last = (root: string): string => segments(root).at(-1) ?? ''

/** The last line exchanged for this one, linked as anyone can link it. */
function replaceLast(root: string, change: (line: string) => string): void {
  const lines = readFileSync(last(root), 'utf8').trimEnd().split('\n')
  const changed = change(lines.pop() ?? '')
  writeFileSync(last(root), [...lines, changed].map((line) => `${line}\n`).join(''))
}
function appendLine(root: string, type: string, members: object, v = 1): void {
  const [line = ''] = linesOf(root).slice(-1)
  const { origin, seq, at } = JSON.parse(line)
  const prev = leafHash(Buffer.from(line), nodeCrypto)
  const next = JSON.stringify({ v, origin, seq: seq + 1, prev, at, type, ...members })
  writeFileSync(last(root), `${next}\n`, { flag: 'a' })
}

describe('adopting a journal of version 1', () => {
  it('names its last line in a signed ADOPTED line, under a head, and moves nothing', async () => {
    const root = copied()
    const before = textOf(root)
    const done = (await adopt(root)) as Extract<Adoption, { kind: 'adopted' }>
    expect(done).toMatchObject({
      kind: 'adopted',
      found: { upto: head.seq, hash: head.hash, secondHead: 'holds' },
      head: { upto: head.seq + 1, lines: 1, capsules: 0 },
    })
    expect(textOf(root).startsWith(before)).toBe(true)
    const added = linesOf(root)
      .slice(head.seq)
      .map((line) => JSON.parse(line))
    expect(added).toMatchObject([
      { v: 2, type: 'ADOPTED', seq: head.seq + 1, upto: head.seq, hash: head.hash },
      { v: 2, type: 'HEAD' },
    ])
    const { keys } = exportKeyring(join(root, 'data', 'keys'))
    const { journal } = verifyLedger(textOf(root), { keys, crypto: nodeCrypto })
    // The orphan of the fixture is concluded by the next start.
    expect(journal).toMatchObject({ status: 'incomplete', findings: [] })
    await opened(root)
  })

  it('writes nothing until what no signature vouches for is accepted', async () => {
    const root = copied()
    appendLine(root, 'GRANT_ISSUED', {
      grant: 'g',
      agent: 'support-bot',
      request_digest: 'a'.repeat(64),
      policy_digest: 'a'.repeat(64),
      manifest_digest: 'a'.repeat(64),
      expires_at: '2999-01-01T00:00:00.000Z',
      uses: 1,
    })
    const before = textOf(root)
    const asked: Examined[] = []
    const done = await adopt(root, (found) => {
      asked.push(found)
      return false
    })
    expect(done?.kind).toBe('to_accept')
    expect(asked[0]?.unsigned).toEqual([{ seq: head.seq + 1, type: 'GRANT_ISSUED' }])
    expect(asked[0]?.orphans).toHaveLength(1)
    expect(textOf(root)).toBe(before)
    expect((await adopt(root))?.kind).toBe('adopted')
    const listed = linesOf(root)
      .map((line) => JSON.parse(line))
      .find((line) => line.type === 'ADOPTED')
    expect(listed.unsigned).toEqual([head.seq + 1])
  })

  it.each<[string, (root: string) => void, RegExp]>([
    [
      'a signed line whose signature does not hold',
      (root) => appendLine(root, 'HALT', { scope: { kind: 'all' }, by: 'x', kid: 'aa', sig: 'AA' }),
      /signature does not hold/,
    ],
    [
      'a capsule that was changed',
      (root) => replaceLast(root, (line) => line.replace('"developer":"', '"developer":"x')),
      /signature does not hold|not the one the second head names/,
    ],
    ['a journal behind its second head', (root) => truncateSync(last(root), 0), /missing|behind/],
    ['a line that is missing in the middle', (root) => dropLine(root, 3), /does not link|sequence/],
    [
      'a line of version 2 at its end',
      (root) => appendLine(root, 'RESUME', { scope: { kind: 'all' } }, 2),
      /no way back|version changes/,
    ],
  ])('is refused for %s, and nothing is written', async (_, change, why) => {
    const root = copied()
    change(root)
    const before = textOf(root)
    await expect(adopt(root)).rejects.toThrow(why)
    expect(textOf(root)).toBe(before)
  })

  function dropLine(root: string, n: number): void {
    const [first = ''] = segments(root)
    const lines = readFileSync(first, 'utf8').trimEnd().split('\n')
    writeFileSync(
      first,
      lines
        .toSpliced(n, 1)
        .map((line) => `${line}\n`)
        .join(''),
    )
  }

  it('has no way down: not after any line of version 2, a signed second head, or a snapshot of one', async () => {
    const root = copied()
    const { gate } = await opened(root)
    await gate.close()
    const whole = textOf(root)
    await expect(adopt(root)).rejects.toThrow(/no way back/)
    // Cut back to its lines of version 1: the second head and the snapshot still know.
    for (const path of segments(root)) {
      const lines = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{"v":1'))
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
    }
    await expect(adopt(root)).rejects.toThrow(/no way back/)
    rmSync(join(journalOf(root), 'snapshot'))
    await expect(adopt(root)).rejects.toThrow(/no way back/)
    expect(whole.length).toBeGreaterThan(textOf(root).length)
  })

  it('that was interrupted at any octet is cut back to the last line of version 1 and done again', async () => {
    const done = copied()
    await adopt(done)
    const whole = readFileSync(last(done))
    const from = Buffer.from(whole).indexOf('{"v":2')
    const root = copied()
    const [file, kept] = [last(root), readFileSync(last(root))]
    const second = readFileSync(join(root, 'data.head'))
    for (let size = from + 1; size < whole.length; size += 37) {
      writeFileSync(file, Buffer.concat([kept, whole.subarray(from, size)]))
      writeFileSync(join(root, 'data.head'), second)
      expect((await adopt(root))?.kind).toBe('adopted')
      expect(linesOf(root)).toHaveLength(head.seq + 2)
      expect(readFileSync(file).subarray(0, kept.length).equals(kept)).toBe(true)
    }
    // Both lines were durable, and only the second place was not: that alone is left to do.
    writeFileSync(file, whole)
    writeFileSync(join(root, 'data.head'), second)
    const again = await adopt(root)
    expect(again?.kind).toBe('adopted')
    expect(readFileSync(file).equals(whole)).toBe(true)
  })
})

describe('capsule-gate journal adopt', () => {
  it('tells what it found, wants --accept for it, and serve refuses until then', async () => {
    const root = copied()
    const data = join(root, 'data')
    const flags = ['--data', data, '--head', join(root, 'data.head')]
    const config = join(root, 'gate.yaml')
    mkdirSync(join(root, 'manifests'))
    copyFileSync(join(root, 'manifest.yaml'), join(root, 'manifests', 'payments.yaml'))
    writeFileSync(
      config,
      `upstream: http://127.0.0.1:9\ndata_dir: ${data}\njournal: {head_file: ${join(root, 'data.head')}}\n` +
        `manifests: ${join(root, 'manifests')}\npolicies: ${join(root, 'policies')}\nagents: {}\n`,
    )
    const served = await cli(['serve', '--config', config, '--port', '0', '--admin-port', '0'])
    expect([served.code, served.err]).toEqual([1, expect.stringContaining('journal adopt')])
    const asked = await cli(['journal', 'adopt', ...flags])
    expect([asked.code, asked.out]).toEqual([3, expect.stringContaining('without an end: call ')])
    const told = await cli(['journal', 'adopt', ...flags, '--accept', '--json'])
    expect(told.code).toBe(0)
    expect(JSON.parse(told.out)).toMatchObject({ kind: 'adopted', found: { upto: head.seq } })
    const again = await cli(['journal', 'adopt', ...flags, '--accept'])
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('no way back')])
  })
})
