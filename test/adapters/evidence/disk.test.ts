import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { bytesPart, jsonPart, recordOf } from '../../contract/evidence.js'
import { missingMount, needs } from '../../support/needs.js'
import { type Bench, openBench } from './bench.js'

/** Disks that really are full or read-only, where mounting one is allowed. */
const KIB = 1024
const RESERVE = 64 * KIB
const mount = (...args: string[]): boolean => spawnSync('mount', args).status === 0

async function smallDisk(): Promise<string | null> {
  const place = await mkdtemp(join(tmpdir(), 'small-disk-'))
  if (mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place)) return place
  await rm(place, { recursive: true })
  return null
}
const probe = await smallDisk()
if (probe !== null) {
  spawnSync('umount', [probe])
  await rm(probe, { recursive: true })
}
const { describe: onRealDisk } = needs(missingMount(probe !== null))

const noise = (i: number, size: number) => bytesPart(new Uint8Array(size).fill(i))
const record = (i: number, size = 8 * KIB) => recordOf(`a${i}`, [noise(i, size)])

onRealDisk('a full disk', () => {
  let place: string
  let bench: Bench
  const filler = () => join(place, 'filler')
  /** Takes all the room but about `leave` bytes. */
  function fill(leave: number): void {
    for (const size of [64 * KIB, 4 * KIB]) {
      for (;;) {
        try {
          writeFileSync(filler(), Buffer.alloc(size), { flag: 'a' })
        } catch {
          break
        }
      }
    }
    const { size } = statSync(filler())
    spawnSync('truncate', ['-s', String(Math.max(0, size - leave)), filler()])
  }
  beforeEach(async () => {
    place = (await smallDisk()) as string
    bench = await openBench({ dir: join(place, 'evidence'), reserveBytes: RESERVE })
  })
  afterEach(async () => {
    await bench.dispose()
    spawnSync('umount', [place])
    await rm(place, { recursive: true, force: true })
  })
  const segmentSize = () => statSync(join(bench.dir, 'segments', '0000000001.seg')).size

  /** Puts until one is refused; how many were kept. */
  async function putUntilFull(): Promise<number> {
    for (let i = 0; ; i++) {
      const before = segmentSize()
      try {
        await bench.evidence.put(record(i))
      } catch (error) {
        expect(error).toMatchObject({ code: 'disk_full' })
        expect(segmentSize()).toBe(before)
        return i
      }
    }
  }

  it('rejects, keeps nothing of the record, says so, and recovers when there is room', async () => {
    fill(40 * KIB)
    const kept = await putUntilFull()
    expect(kept).toBeGreaterThan(1)
    expect(bench.evidence.health()).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/space/),
    })
    expect(await bench.evidence.byAction(`a${kept}`)).toEqual({ state: 'missing' })
    rmSync(filler())
    await bench.evidence.put(record(kept))
    expect(bench.evidence.health()).toEqual({ ok: true, reason: null })
    await bench.reopen()
    for (let i = 0; i <= kept; i++) {
      expect(await bench.evidence.byAction(`a${i}`)).toEqual({
        state: 'present',
        value: [noise(i, 8 * KIB)],
      })
    }
    expect(bench.evidence.findings()).toEqual([])
  })

  it('still takes conclusions, out of the reserve, with a new key among them', async () => {
    fill(20 * KIB)
    const kept = await putUntilFull()
    fill(0)
    for (const n of [1, 2, 3]) {
      await bench.evidence.put(recordOf(`urgent${n}`, [jsonPart({ n })], { subject: `new-${n}` }), {
        urgent: true,
      })
    }
    await bench.evidence.put(record(99, 16 * KIB), { urgent: true })
    expect(bench.evidence.health().ok).toBe(false)
    await expect(bench.evidence.put(recordOf('small', []))).rejects.toMatchObject({
      code: 'disk_full',
    })
    await bench.reopen()
    expect(bench.evidence.health().ok).toBe(false)
    for (const action of ['urgent1', 'urgent2', 'urgent3', 'a99', `a${kept - 1}`]) {
      expect(await bench.evidence.byAction(action)).toMatchObject({ state: 'present' })
    }
    expect(await bench.evidence.byAction('small')).toEqual({ state: 'missing' })
    rmSync(filler())
    await bench.evidence.put(recordOf('small', []))
    expect(bench.evidence.health().ok).toBe(true)
    expect(statSync(join(bench.dir, 'reserve')).size).toBe(RESERVE)
  })

  it('rejects a conclusion too when even the reserve is used up, and leaves nothing of it', async () => {
    fill(0)
    let i = 0
    for (; ; i++) {
      const before = segmentSize()
      const failed = await bench.evidence.put(record(i), { urgent: true }).catch((error) => error)
      if (failed === undefined) continue
      expect(failed).toMatchObject({ code: 'disk_full' })
      expect(segmentSize()).toBe(before)
      break
    }
    expect(i).toBeGreaterThan(3)
    rmSync(filler())
    await bench.evidence.put(record(i))
    await bench.reopen()
    expect(bench.evidence.findings()).toEqual([])
  })

  it('goes on in the old segment when there is no room for the index, and catches up later', async () => {
    await bench.reopen({ segmentBytes: 4 * KIB })
    await bench.evidence.put(record(0))
    fill(0)
    for (let i = 1; i < 5; i++) await bench.evidence.put(record(i, 1 * KIB), { urgent: true })
    rmSync(filler())
    for (let i = 5; i < 9; i++) await bench.evidence.put(record(i))
    await bench.reopen()
    for (let i = 0; i < 9; i++) {
      expect(await bench.evidence.byAction(`a${i}`)).toMatchObject({ state: 'present' })
    }
  })

  it('refuses to publish, leaving no half file', async () => {
    fill(0)
    const part = noise(1, 64 * KIB)
    const bytes = part.bytes as Uint8Array
    await expect(bench.evidence.putPublic(part.digest, bytes)).rejects.toMatchObject({
      code: 'ENOSPC',
    })
    expect(await bench.evidence.getPublic(part.digest)).toBeNull()
    rmSync(filler())
    await bench.evidence.putPublic(part.digest, bytes)
    expect(await bench.evidence.getPublic(part.digest)).toEqual(bytes)
  })

  it('does not open on a read-only disk, harms nothing, and opens once it can be written again', async () => {
    await bench.evidence.put(record(0))
    await bench.evidence.close()
    expect(mount('-o', 'remount,ro', place)).toBe(true)
    await expect(bench.reopen()).rejects.toMatchObject({ code: 'EROFS' })
    expect(mount('-o', 'remount,rw', place)).toBe(true)
    await bench.reopen()
    expect(await bench.evidence.byAction('a0')).toMatchObject({ state: 'present' })
  })
})

describe('a sync that fails', () => {
  it('rejects everything not yet durable, keeps nothing of it, and goes on after', async () => {
    let failures = 0
    const bench = await openBench({
      seams: {
        before_evidence_sync: () => {
          if (failures > 0 && failures-- > 0) throw new Error('EIO, as a dying disk says it')
        },
      },
    })
    try {
      await bench.evidence.put(recordOf('before', [jsonPart('before')]))
      const file = join(bench.dir, 'segments', '0000000001.seg')
      const durable = readFileSync(file)
      failures = 1
      const answers = await Promise.allSettled(
        [1, 2, 3].map((n) => bench.evidence.put(recordOf(`lost${n}`, [jsonPart(n)]))),
      )
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'write_failed' } })
      }
      expect(readFileSync(file).equals(durable)).toBe(true)
      expect(bench.evidence.health()).toMatchObject({ ok: false })
      await bench.evidence.put(recordOf('after', [jsonPart('after')]))
      expect(bench.evidence.health()).toEqual({ ok: true, reason: null })
      await bench.reopen()
      const states = ['before', 'lost1', 'lost2', 'lost3', 'after'].map(
        async (action) => (await bench.evidence.byAction(action)).state,
      )
      expect(await Promise.all(states)).toEqual([
        'present',
        'missing',
        'missing',
        'missing',
        'present',
      ])
    } finally {
      await bench.dispose()
    }
  })
})
