import { spawn } from 'node:child_process'
import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { appendFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { SeamName } from '../../../src/adapters/journal/model.js'
import { allLines, checkChain, makePlace, note, type Place, rawLines } from './harness.js'

let place: Place
afterEach(() => place.clean())

const { privateKey } = generateKeyPairSync('ed25519')
const raw = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32)
const kid = createHash('sha256').update(raw).digest()
const signer = { kid: () => kid, sign: (_: string, m: Uint8Array) => sign(null, m, privateKey) }
const keys = [
  {
    kid: kid.toString('hex'),
    alg: -8,
    public_key: raw.toString('hex'),
    purpose: 'event' as const,
    status: 'active' as const,
  },
]

type Acknowledged = { readonly n: number; readonly seq: number; readonly hash: string }

/** Runs the writer until it is killed; what it was told of before that. */
function runUntilKilled(seam: SeamName, visit: number): Promise<Acknowledged[]> {
  const script = join(import.meta.dirname, 'crash-child.mjs')
  const privatePem = privateKey.export({ format: 'pem', type: 'pkcs8' })
  const { dir, headFile } = place
  const settings = { dir, headFile, seam, visit, segmentBytes: 1500, privatePem }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (text) => {
      out += text
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`ended with ${code ?? signal}`))
      const lines = out.split('\n').slice(0, -1)
      resolve(lines.map((line) => JSON.parse(line)))
    })
  })
}

describe('kill -9', () => {
  const cases: [SeamName, number][] = [
    ['before_write', 1],
    ['before_write', 13],
    ['after_write', 1],
    ['after_write', 13],
    ['before_sync', 13],
    ['after_sync', 1],
    ['after_sync', 13],
    ['before_seal', 1],
    ['before_seal', 3],
    ['after_seal', 1],
    ['after_seal', 3],
    ['before_snapshot', 2],
    ['after_snapshot', 1],
    ['after_snapshot', 3],
  ]
  it.each(cases)('at %s, visit %i, loses nothing that was acknowledged', async (seam, visit) => {
    place = await makePlace()
    const acknowledged = await runUntilKilled(seam, visit)
    const journal = await place.open({ signer, keys, segmentBytes: 1500 })
    const lines = await allLines(journal)
    const dispatched = lines.filter(({ type }) => type === 'ACTION_DISPATCHED')
    // At most the one line in flight is there besides.
    expect(dispatched.length - acknowledged.length).toBeGreaterThanOrEqual(0)
    expect(dispatched.length - acknowledged.length).toBeLessThanOrEqual(1)
    acknowledged.forEach(({ n, seq }, i) => {
      expect(dispatched[i]).toMatchObject({ n, seq, action_id: `act-${n}` })
    })
    for (const { n } of acknowledged) expect(await journal.find(`act-${n}`)).toHaveLength(1)
    const snapshot = journal.snapshot?.state
    if (snapshot !== undefined) expect([10, 20, 30]).toContain((snapshot as { n: number }).n)
    if (seam === 'after_snapshot') expect(snapshot).toEqual({ n: 10 * visit })
    await journal.append([note(99)])
    expect(await journal.verified).toMatchObject({ damage: null })
    await journal.close()
    checkChain(await rawLines(place.dir))
    const again = await place.open({ signer, keys })
    expect(again.health()).toEqual({ ok: true, reason: null })
  })
})

describe('a torn last line', () => {
  it('is cut at every length, reported, and its bytes are kept', async () => {
    place = await makePlace()
    let journal = await place.open()
    await journal.append([note(1)])
    await journal.append([note(2)])
    const [first, second] = await rawLines(place.dir)
    await journal.close()
    const file = join(place.dir, '00000001.jsonl')
    const firstLength = Buffer.byteLength(`${first}`) + 1
    const secondLength = Buffer.byteLength(`${second}`)
    for (let kept = 1; kept <= secondLength; kept += 7) {
      await truncate(file, firstLength)
      await appendFile(file, `${second}`.slice(0, kept))
      place.reports.length = 0
      journal = await place.open({ headFile: null })
      expect(journal.head().seq).toBe(1)
      expect(place.reports).toEqual([
        { kind: 'torn_tail', file, bytes: kept, kept: `${file}.${firstLength}.torn` },
      ])
      await journal.close()
    }
  })

  it('of NUL bytes, as some file systems leave it, is cut too', async () => {
    place = await makePlace()
    let journal = await place.open()
    await journal.append([note(1)])
    await journal.close()
    await appendFile(join(place.dir, '00000001.jsonl'), Buffer.alloc(5000))
    journal = await place.open()
    expect(place.reports).toMatchObject([{ kind: 'torn_tail', bytes: 5000 }])
    await journal.append([note(2)])
    await journal.close()
    checkChain(await rawLines(place.dir))
  })

  it('that the second head knows as durable is no torn line: the journal refuses, and cuts nothing', async () => {
    place = await makePlace()
    const journal = await place.open()
    await journal.append([note(1)])
    await journal.append([note(2)])
    await journal.close()
    const file = join(place.dir, '00000001.jsonl')
    const whole = Buffer.byteLength(`${(await rawLines(place.dir)).join('\n')}\n`)
    await truncate(file, whole - 5)
    await expect(place.open()).rejects.toMatchObject({ code: 'behind' })
    await expect(place.open()).rejects.toThrow(/expected line 2; found line 1 as the last/)
    await appendFile(file, 'restored')
    await expect(place.open()).rejects.toMatchObject({ code: 'behind' })
  })
})
