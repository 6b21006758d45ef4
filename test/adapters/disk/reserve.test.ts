import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { openReserve, type Reserve } from '../../../src/adapters/disk/reserve.js'
import { missingMount, needs } from '../../support/needs.js'

const KIB = 1024
const WHOLE = 1024 * KIB
const HEADROOM = 256 * KIB

function smallDisk(): string | null {
  const place = mkdtempSync(join(tmpdir(), 'reserve-disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', place])
  if (status === 0) return place
  rmSync(place, { recursive: true })
  return null
}
function removeDisk(place: string): void {
  spawnSync('umount', [place])
  rmSync(place, { recursive: true })
}
const probe = smallDisk()
if (probe !== null) removeDisk(probe)
const { describe: onSmallDisk } = needs(missingMount(probe !== null))

let dir: string
let reserve: Reserve
let umask: number
const sizeIn = (folder: string): number => statSync(join(folder, 'reserve')).size
const open = (bytes = WHOLE, headroom = HEADROOM): Reserve => {
  reserve = openReserve(dir, bytes, headroom)
  return reserve
}
async function reopen(bytes = WHOLE): Promise<Reserve> {
  await reserve.close()
  return open(bytes)
}

describe('a reserve', () => {
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gate-reserve-'))
    umask = process.umask(0)
  })
  afterEach(async () => {
    process.umask(umask)
    await reserve.close()
    rmSync(dir, { recursive: true })
  })
  const size = (): number => sizeIn(dir)

  it('is private, and not whole until it was restored', () => {
    open()
    expect([reserve.whole(), size()]).toEqual([false, 0])
    expect(statSync(join(dir, 'reserve')).mode & 0o777).toBe(0o600)
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('holds octets that no file system can store as less, and that are not the same twice', () => {
    open(512 * KIB).restore()
    const content = readFileSync(join(dir, 'reserve'))
    expect(deflateRawSync(content).length).toBeGreaterThanOrEqual(content.length)
    const pieces = new Set<string>()
    for (let at = 0; at < content.length; at += 4 * KIB) {
      pieces.add(content.toString('latin1', at, at + 4 * KIB))
    }
    expect(pieces.size).toBe(128)
  })

  it('is whole again when it is opened again, and keeps its octets', async () => {
    open().restore()
    const before = readFileSync(join(dir, 'reserve'))
    await reopen()
    expect(reserve.whole()).toBe(true)
    reserve.restore()
    expect(readFileSync(join(dir, 'reserve')).equals(before)).toBe(true)
  })

  it.each<[string, number]>([
    ['a smaller setting than last time', WHOLE - 12_345],
    ['a setting of nothing', 0],
  ])('that is too large, by %s, is cut when it is opened', async (_, bytes) => {
    open().restore()
    await reopen(bytes)
    expect([reserve.whole(), size()]).toEqual([true, bytes])
  })

  it('that a crash left larger, while it proved that there is headroom, is cut when it is opened', async () => {
    open().restore()
    truncateSync(join(dir, 'reserve'), WHOLE + HEADROOM)
    await reopen()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('that is smaller than asked for is not whole, and grows to what is asked for', async () => {
    open().restore()
    await reopen(WHOLE + 1)
    expect([reserve.whole(), size()]).toEqual([false, WHOLE])
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE + 1])
  })

  it('of nothing is whole, and has nothing to give', () => {
    open(0)
    expect([reserve.whole(), reserve.release(1), reserve.release(Infinity)]).toEqual([
      true,
      false,
      false,
    ])
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, 0])
  })

  it('gives all of it for Infinity, and nothing after that', () => {
    open().restore()
    expect(reserve.release(Infinity)).toBe(true)
    expect([reserve.whole(), size(), reserve.release(1)]).toEqual([false, 0, false])
  })

  it('gives each time at least what is wanted, or all it has, until it has nothing', () => {
    const releases = fc.array(fc.nat({ max: 300 * KIB }), { minLength: 1, maxLength: 40 })
    const property = fc.property(releases, fc.nat({ max: WHOLE }), (wanted, bytes) => {
      const own = openReserve(dir, bytes, 0)
      try {
        own.restore()
        for (const one of wanted) {
          const before = size()
          expect(own.release(one)).toBe(before > 0)
          const given = before - size()
          expect(given >= one || size() === 0).toBe(true)
          // Something is given even where nothing is wanted, so that who asks again and again comes to an end.
          if (before > 0) expect(given).toBeGreaterThan(0)
          expect(own.whole()).toBe(size() === bytes)
        }
      } finally {
        void own.close()
      }
    })
    open(0)
    fc.assert(property, { numRuns: 30 })
  })

  it('does not give all of it away for a little', () => {
    open().restore()
    reserve.release(1)
    expect(size()).toBeGreaterThan(WHOLE / 2)
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('released in part is as large when it is opened again, and not whole', async () => {
    open().restore()
    reserve.release(100 * KIB)
    const left = size()
    await reopen()
    expect([reserve.whole(), size()]).toEqual([false, left])
  })
})

onSmallDisk('a reserve on a full disk', () => {
  const size = (): number => sizeIn(dir)
  const filler = (): string => join(dir, 'filler')
  /** Takes all the room there is but so many octets. */
  function fill(leave = 0): void {
    for (const step of [64 * KIB, 4 * KIB]) {
      for (;;) {
        try {
          writeFileSync(filler(), Buffer.alloc(step, 1), { flag: 'a' })
        } catch {
          break
        }
      }
    }
    truncateSync(filler(), Math.max(0, statSync(filler()).size - leave))
  }
  const write = (bytes: number): void =>
    writeFileSync(join(dir, 'conclusion'), Buffer.alloc(bytes, 2), { flag: 'a' })
  const full = expect.objectContaining({ code: 'ENOSPC' })

  beforeEach(() => {
    dir = smallDisk() as string
    umask = process.umask()
  })
  afterEach(async () => {
    await reserve.close()
    removeDisk(dir)
  })

  it('gives room for what is wanted, again and again, until it has nothing', () => {
    open().restore()
    fill()
    expect(() => write(4 * KIB)).toThrow(full)
    let written = 0
    while (reserve.release(100 * KIB)) {
      write(100 * KIB)
      written += 100 * KIB
      fill()
      if (size() < 300 * KIB) break
    }
    expect(written).toBeGreaterThan(200 * KIB)
    expect(reserve.release(Infinity)).toBe(true)
    write(64 * KIB)
    expect(reserve.release(1)).toBe(false)
  })

  it('gives all of its room for Infinity', () => {
    open().restore()
    fill()
    reserve.release(Infinity)
    expect(() => write(WHOLE)).not.toThrow()
  })

  it('cannot be restored, says so, and takes none of the room that a conclusion needs', () => {
    open().restore()
    fill()
    reserve.release(200 * KIB)
    const left = size()
    for (let nth = 0; nth < 3; nth++) {
      expect(() => reserve.restore()).toThrow(full)
      expect([reserve.whole(), size()]).toEqual([false, left])
    }
    expect(() => write(200 * KIB)).not.toThrow()
  })

  it('is not restored where there is room for it and none beyond it', () => {
    open()
    fill(WHOLE + HEADROOM / 2)
    expect(() => reserve.restore()).toThrow(full)
    expect([reserve.whole(), size()]).toEqual([false, 0])
    fill(WHOLE + 2 * HEADROOM)
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('that is whole stays whole where there is no room beyond it, though the proof fails', () => {
    open().restore()
    fill(HEADROOM / 2)
    expect(() => reserve.restore()).toThrow(full)
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('is whole again once there is room', () => {
    open().restore()
    fill()
    reserve.release(Infinity)
    expect(() => write(2 * WHOLE)).toThrow(full)
    expect(() => reserve.restore()).toThrow(full)
    rmSync(filler())
    rmSync(join(dir, 'conclusion'))
    reserve.restore()
    expect([reserve.whole(), size()]).toEqual([true, WHOLE])
  })

  it('opens where there is no room, with what it had', async () => {
    open().restore()
    fill()
    reserve.release(300 * KIB)
    fill()
    const left = size()
    await reopen()
    expect([reserve.whole(), size()]).toEqual([false, left])
    expect(reserve.release(1)).toBe(true)
  })
})
