import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { appendFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { openEvidence } from '../../../src/adapters/evidence/open.js'
import { bytesPart, digestOf, jsonPart, recordOf, sha256 } from '../../contract/evidence.js'
import { type Bench, MASTER, openBench } from './bench.js'

/** Bytes changed behind the store's back: told, never handed out, and never more lost than was hit. */
let bench: Bench
beforeEach(async () => {
  bench = await openBench()
})
afterEach(() => bench.dispose())

const segment = (number = 1) =>
  join(bench.dir, 'segments', `${String(number).padStart(10, '0')}.seg`)
const parts = ['one', 'two', 'six'].map((text) => jsonPart({ text }))
const [one, two, three] = parts as [(typeof parts)[0], (typeof parts)[0], (typeof parts)[0]]

/** Three records of the same size, in one segment; where each begins. */
async function threeRecords(): Promise<number> {
  const sameSize = [one, two, three].map((part) => ({ ...part, name: 'x' }))
  for (const [i, part] of sameSize.entries()) await bench.evidence.put(recordOf(`a${i}`, [part]))
  return statSync(segment()).size
}
function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(file, bytes)
}
const states = async (): Promise<string[]> =>
  Promise.all(
    [one, two, three].map(async ({ digest }) => (await bench.evidence.byDigest(digest)).state),
  )

describe('a changed byte', () => {
  it('anywhere in a record hides that record at most, and never changes what is read', async () => {
    const size = await threeRecords()
    const good = readFileSync(segment())
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: size - 1 }), async (at) => {
        writeFileSync(segment(), good)
        flip(segment(), at)
        const answers = await Promise.all(
          parts.map(({ digest }) => bench.evidence.byDigest(digest)),
        )
        const hurt = answers.filter(({ state }) => state !== 'present')
        expect(hurt).toHaveLength(1)
        expect(hurt[0]?.state).toBe('damaged')
        answers.forEach((answer, i) => {
          if (answer.state === 'present') expect(answer.value.value).toEqual(parts[i]?.value)
        })
      }),
      { numRuns: 150 },
    )
    writeFileSync(segment(), good)
  })

  it('is found at the next start too; what stands before and behind it is still read', async () => {
    const size = await threeRecords()
    await bench.evidence.close()
    flip(segment(), Math.floor(size / 2))
    await bench.reopen()
    expect(await states()).toEqual(['present', 'damaged', 'present'])
    expect(bench.evidence.findings().join()).toMatch(/damaged bytes at \d+; the records after/)
  })

  it('in the head of a record loses that record alone, and says where', async () => {
    const size = await threeRecords()
    await bench.evidence.close()
    flip(segment(), Math.floor(size / 3) + 20)
    await bench.reopen()
    const [first, second, third] = await states()
    expect([first, third]).toEqual(['present', 'present'])
    expect(second).toBe('missing')
    expect(bench.evidence.findings().join()).toMatch(/damaged bytes/)
  })

  it('in a part of an action makes the whole action damaged', async () => {
    await bench.evidence.put(recordOf('a', [bytesPart(new Uint8Array(500))]))
    await bench.evidence.put(recordOf('a', [jsonPart('good')]))
    flip(segment(), 300)
    expect(await bench.evidence.byAction('a')).toMatchObject({ state: 'damaged' })
    expect(await bench.evidence.byDigest(digestOf('good'))).toMatchObject({ state: 'present' })
  })
})

describe('a forged head', () => {
  /** Rewrites what stands in clear, checksum included, as somebody with the disk but no key could. */
  async function forge(at: number, bytes: Uint8Array): Promise<void> {
    await bench.evidence.close()
    const file = readFileSync(segment())
    Buffer.from(bytes).copy(file, at)
    const end = 12 + file.readUInt32BE(4)
    file.writeUInt32BE(crc32(file.subarray(0, end)), end)
    writeFileSync(segment(), file)
    await bench.reopen()
  }

  it('does not pass one action’s evidence off as another’s', async () => {
    await bench.evidence.put(recordOf('mine', [one]))
    await forge(12, sha256('victim'))
    expect(await bench.evidence.byAction('victim')).toMatchObject({ state: 'damaged' })
    expect(await bench.evidence.byAction('mine')).toEqual({ state: 'missing' })
  })

  it('does not pass one content off as another', async () => {
    await bench.evidence.put(recordOf('mine', [one]))
    await forge(12 + 32 + 16, Buffer.from(two.digest, 'hex'))
    expect(await bench.evidence.byDigest(two.digest)).toMatchObject({ state: 'damaged' })
  })

  it('that names an erased key makes a record read as erased: who can write the disk can destroy', async () => {
    await bench.evidence.put(recordOf('gone', [two], { subject: 'ada' }))
    await bench.evidence.erase({ subject: 'ada' })
    await bench.evidence.put(recordOf('mine', [one]))
    const keyId = readFileSync(join(bench.dir, 'keys')).subarray(128 + 4, 128 + 20)
    // A limit, stated: without the key nobody can tell. What was erased is in the journal, to compare.
    await bench.evidence.close()
    const file = readFileSync(segment())
    const start = file.lastIndexOf('CGE1')
    keyId.copy(file, start + 12 + 32)
    const end = start + 12 + file.readUInt32BE(start + 4)
    file.writeUInt32BE(crc32(file.subarray(start, end)), end)
    writeFileSync(segment(), file)
    await bench.reopen()
    expect(await bench.evidence.byAction('mine')).toEqual({ state: 'erased' })
  })
})

describe('a torn tail', () => {
  it('is cut at any byte of the last record, kept aside, reported; earlier ones stay', async () => {
    const size = await threeRecords()
    const good = readFileSync(segment())
    const last = (size / 3) * 2
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: last + 1, max: size - 1 }), async (cut) => {
        await bench.evidence.close()
        writeFileSync(segment(), good.subarray(0, cut))
        await bench.reopen()
        expect(await states()).toEqual(['present', 'present', 'missing'])
        expect(statSync(segment()).size).toBe(last)
        expect(bench.evidence.findings().join()).toContain(`${cut - last} torn bytes at ${last}`)
        const aside = readFileSync(`${segment()}.torn-${last}`)
        expect(aside.equals(good.subarray(last, cut))).toBe(true)
      }),
      { numRuns: 40 },
    )
    await bench.evidence.put(recordOf('after', [three]))
    await bench.reopen()
    expect(await states()).toEqual(['present', 'present', 'present'])
    expect(bench.evidence.findings()).toEqual([])
  })

  it('of zeros or noise is cut too', async () => {
    for (const tail of [Buffer.alloc(4096), Buffer.from('CGE1 and then nothing of the kind')]) {
      await bench.evidence.put(recordOf('a', [one]))
      await bench.evidence.close()
      await appendFile(segment(), tail)
      await bench.reopen()
      expect(await bench.evidence.byDigest(one.digest)).toMatchObject({ state: 'present' })
      expect(bench.evidence.findings()).toHaveLength(1)
    }
  })
})

describe('sidecars', () => {
  /** Six records in segments of one record each; a stop lets each index reach the disk. */
  async function closedSegments(): Promise<string[]> {
    for (let i = 0; i < 6; i++) {
      await bench.reopen({ segmentBytes: 100 })
      await bench.evidence.put(recordOf(`s${i}`, [jsonPart({ i })]))
    }
    await bench.evidence.close()
    const names = await readdir(join(bench.dir, 'segments'))
    return names
      .filter((name) => name.endsWith('.idx'))
      .map((name) => join(bench.dir, 'segments', name))
  }
  async function allPresent(): Promise<void> {
    for (let i = 0; i < 6; i++) {
      expect(await bench.evidence.byAction(`s${i}`)).toMatchObject({ state: 'present' })
      expect(await bench.evidence.byDigest(digestOf({ i }))).toMatchObject({ state: 'present' })
    }
  }

  it.each([
    ['missing', (file: string) => rm(file)],
    ['cut', async (file: string) => truncateSync(file, 40)],
    ['empty', async (file: string) => truncateSync(file, 0)],
    ['changed in an entry', async (file: string) => flip(file, 35)],
    ['changed in its head', async (file: string) => flip(file, 13)],
    ['no index at all', async (file: string) => writeFileSync(file, 'CGEI0001 but not really')],
  ])('%s: made again, and said', async (_, hurt) => {
    const sidecars = await closedSegments()
    expect(sidecars).toHaveLength(5)
    for (const file of sidecars) await hurt(file)
    await bench.reopen({ segmentBytes: 100 })
    await allPresent()
    expect(bench.evidence.findings().filter((f) => f.includes('made again'))).toHaveLength(5)
    await bench.reopen({ segmentBytes: 100 })
    await allPresent()
    expect(bench.evidence.findings()).toEqual([])
  })

  it("another segment's, or its own from before the segment grew: made again", async () => {
    const sidecars = await closedSegments()
    const [first, second, third, fourth] = sidecars as [string, string, string, string]
    const own = readFileSync(first)
    // Both segments hold one record of one size: nothing but the number tells their indexes apart.
    writeFileSync(first, readFileSync(second))
    writeFileSync(second, own)
    writeFileSync(segment(3), Buffer.concat([readFileSync(segment(3)), readFileSync(segment(4))]))
    expect([third, fourth].every((file) => statSync(file).size > 0)).toBe(true)
    await bench.reopen({ segmentBytes: 100 })
    await allPresent()
    expect(bench.evidence.findings().filter((f) => f.includes('made again'))).toHaveLength(3)
  })

  it('answers for a digest that stands in hundreds of records of one segment', async () => {
    const common = jsonPart({ code: 'over_limit' }, 'reason')
    await Promise.all(
      Array.from({ length: 700 }, (_, i) =>
        bench.evidence.put(recordOf(`c${i}`, [common, jsonPart({ i })], { subject: 'ada' })),
      ),
    )
    await bench.reopen({ segmentBytes: 100 })
    await bench.evidence.put(recordOf('x', []))
    await bench.reopen()
    expect(await bench.evidence.byDigest(common.digest)).toMatchObject({ state: 'present' })
    for (const i of [0, 1, 350, 699]) {
      expect(await bench.evidence.byDigest(digestOf({ i }))).toMatchObject({ state: 'present' })
    }
    expect(await bench.evidence.erase({ subject: 'ada' })).toBe(700)
    expect(await bench.evidence.byDigest(common.digest)).toEqual({ state: 'erased' })
  })

  it('knows every digest of many segments from their indexes, in any order, and which are gone', async () => {
    const digests = Array.from({ length: 40 }, (_, i) => digestOf({ i }))
    await bench.reopen({ segmentBytes: 300 })
    for (let i = 0; i < 40; i++) await bench.evidence.put(recordOf(`m${i}`, [jsonPart({ i })]))
    const states = async (asked: readonly string[]): Promise<readonly string[]> =>
      (await bench.evidence.inIndex(asked)).map(({ state }) => state)
    for (const asked of [digests, digests.toReversed(), digests.filter((_, i) => i % 7 === 3)]) {
      expect(new Set(await states(asked))).toEqual(new Set(['present']))
    }
    await rm(segment(2))
    await bench.reopen({ segmentBytes: 300 })
    const after = await states(digests)
    const byReading = await Promise.all(
      digests.map(async (digest) => (await bench.evidence.byDigest(digest)).state),
    )
    expect(after).toEqual(byReading)
    expect(new Set(after)).toEqual(new Set(['present', 'missing']))
    // One by one, the segment that answered last changes nothing.
    for (const [i, digest] of digests.entries()) expect(await states([digest])).toEqual([after[i]])
  })

  it('names a segment that is gone', async () => {
    await closedSegments()
    await rm(segment(2))
    await bench.reopen({ segmentBytes: 100 })
    expect(bench.evidence.findings().join()).toContain(`${segment(2)} is missing`)
    expect(await bench.evidence.byAction('s0')).toMatchObject({ state: 'present' })
  })
})

describe('keys', () => {
  const keyFile = () => join(bench.dir, 'keys')

  it('refuses another master key, a short one, and a store whose keys are gone', async () => {
    await bench.evidence.put(recordOf('a', [one]))
    await bench.evidence.close()
    const open = (masterKey: Uint8Array) => openEvidence({ dir: bench.dir, masterKey })
    await expect(open(new Uint8Array(32))).rejects.toMatchObject({ code: 'key_store' })
    await expect(open(new Uint8Array(16))).rejects.toMatchObject({ code: 'master_key' })
    const keys = readFileSync(keyFile())
    await rm(keyFile())
    await expect(open(MASTER)).rejects.toMatchObject({ code: 'key_store' })
    writeFileSync(keyFile(), keys)
    await bench.reopen()
    expect(await bench.evidence.byAction('a')).toMatchObject({ state: 'present' })
  })

  it('calls records under a damaged key damaged, not erased, and others stay readable', async () => {
    await bench.evidence.put(recordOf('a', [one], { subject: 'ada' }))
    await bench.evidence.put(recordOf('b', [two], { subject: 'bob' }))
    await bench.evidence.close()
    flip(keyFile(), 128 + 70)
    await bench.reopen()
    expect(await bench.evidence.byAction('a')).toMatchObject({ state: 'damaged' })
    expect(await bench.evidence.byAction('b')).toMatchObject({ state: 'present' })
    expect(bench.evidence.findings().join()).toMatch(/key 1 is damaged/)
  })

  it('calls a digest damaged, not erased, whose one copy was erased and whose other is damaged', async () => {
    await bench.evidence.put(recordOf('a', [one], { subject: 'ada' }))
    await bench.evidence.put(recordOf('b', [one], { subject: 'bob' }))
    await bench.evidence.erase({ subject: 'bob' })
    await bench.evidence.close()
    flip(keyFile(), 128 + 70)
    await bench.reopen()
    expect(await bench.evidence.byDigest(one.digest)).toMatchObject({ state: 'damaged' })
    expect(await bench.evidence.inIndex([one.digest])).toMatchObject([{ state: 'damaged' }])
  })

  it('cuts a torn last key, which no acknowledged record is sealed under', async () => {
    await bench.evidence.put(recordOf('a', [one]))
    await bench.evidence.close()
    await appendFile(keyFile(), Buffer.alloc(200))
    await bench.reopen()
    expect(bench.evidence.findings().join()).toMatch(/200 torn bytes/)
    await bench.evidence.put(recordOf('b', [two], { subject: 'bob' }))
    await bench.reopen()
    expect(await bench.evidence.byAction('b')).toMatchObject({ state: 'present' })
  })

  it('does not open a key that was copied to another slot', async () => {
    await bench.evidence.put(recordOf('a', [one], { subject: 'ada' }))
    await bench.evidence.put(recordOf('b', [two], { subject: 'bob' }))
    await bench.evidence.close()
    const keys = readFileSync(keyFile())
    keys.copy(keys, 256, 128, 256)
    writeFileSync(keyFile(), keys)
    await bench.reopen()
    expect(await bench.evidence.byAction('b')).toMatchObject({ state: 'damaged' })
  })

  it('leaves nothing of an erased key in its file, nor a name of a subject anywhere', async () => {
    const subject = 'ada.lovelace@example.org'
    await bench.evidence.put(recordOf('a', [jsonPart({ subject })], { subject }))
    const sealed = readFileSync(keyFile()).subarray(128, 256)
    await bench.evidence.erase({ subject })
    const after = readFileSync(keyFile())
    // Everything but the id: the scope's tag, the nonce, the wrapped key and its seal.
    expect(after.subarray(128 + 20, 256 - 4).equals(Buffer.alloc(104))).toBe(true)
    for (let at = 20; at < 112; at += 16)
      expect(after.includes(sealed.subarray(at, at + 16))).toBe(false)
    for (const name of await readdir(bench.dir, { recursive: true })) {
      const file = join(bench.dir, name)
      if (!statSync(file).isFile()) continue
      expect(readFileSync(file).includes(subject)).toBe(false)
      expect(readFileSync(file).includes(sha256(subject))).toBe(false)
      expect(statSync(file).mode & 0o077).toBe(0)
    }
  })

  it('cannot be read back with an old copy of the segments once the key is gone', async () => {
    await bench.evidence.put(recordOf('a', [one], { subject: 'ada' }))
    const copy = readFileSync(segment())
    await bench.evidence.erase({ subject: 'ada' })
    await bench.evidence.put(recordOf('b', [two], { subject: 'ada' }))
    await bench.evidence.close()
    writeFileSync(segment(), copy)
    await bench.reopen()
    expect(await bench.evidence.byAction('a')).toEqual({ state: 'erased' })
  })
})

describe('public files', () => {
  it('rejects a damaged one at read, and a new put repairs it', async () => {
    const bytes = Buffer.from('permit(principal,action,resource);')
    const digest = sha256(bytes).toString('hex')
    await bench.evidence.putPublic(digest, bytes)
    flip(join(bench.dir, 'public', digest), 3)
    await expect(bench.evidence.getPublic(digest)).rejects.toMatchObject({ code: 'damaged' })
    await bench.evidence.putPublic(digest, bytes)
    expect(await bench.evidence.getPublic(digest)).toEqual(new Uint8Array(bytes))
  })
})

describe('a second opener', () => {
  it('is refused while the first one lives, and let in after it', async () => {
    const again = () => openEvidence({ dir: bench.dir, masterKey: MASTER })
    await expect(again()).rejects.toMatchObject({ code: 'locked' })
    await bench.reopen()
    await expect(again()).rejects.toMatchObject({ code: 'locked' })
  })
})
