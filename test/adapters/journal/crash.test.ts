import { spawn } from 'node:child_process'
import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
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
