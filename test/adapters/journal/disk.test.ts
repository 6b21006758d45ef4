import { spawnSync } from 'node:child_process'
import { fdatasync, ftruncateSync, writeSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { JournalReport, OpenedJournal } from '../../../src/adapters/journal/model.js'
import { readJournal } from '../../../src/adapters/journal/read/read-journal.js'
import { missingMount, needs } from '../../support/needs.js'
import { allLines, checkChain, makePlace, note, type Place, rawLines } from './harness.js'

const mounts = spawnSync('mount', ['--version']).status === 0 && process.getuid?.() === 0
let mounted: string | null = null
async function mountSmallDisk(size: string): Promise<string | null> {
  const at = await mkdtemp(join(tmpdir(), 'journal-disk-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at]).status !== 0) {
    await rm(at, { recursive: true })
    return null
  }
  mounted = at
  return at
}
afterEach(async () => {
  if (mounted === null) return
  spawnSync('umount', [mounted])
  await rm(mounted, { recursive: true, force: true })
  mounted = null
})

const probe = mounts ? await mountSmallDisk('64k') : null
if (probe !== null) {
  spawnSync('umount', [probe])
  await rm(probe, { recursive: true, force: true })
  mounted = null
}
const { it: onSmallDisk } = needs(missingMount(probe !== null))

/** What was appended, without the journal's own lines. */
const notes = async (journal: OpenedJournal): Promise<unknown[]> =>
  (await allLines(journal)).filter(({ type }) => type === 'NOTE').map(({ n }) => n)

describe('a full disk', () => {
  let place: Place
  let journal: OpenedJournal
  let told: (report: JournalReport) => void
  const heard = (kind: JournalReport['kind']): Promise<void> =>
    new Promise((resolve) => {
      told = (report) => {
        if (report.kind === kind) resolve()
      }
    })
  // Before the disk is unmounted, however the test ended.
  afterEach(async () => {
    if (mounted !== null) spawnSync('mount', ['-o', 'remount,rw', mounted])
    await place.clean()
  })
  const SIZE = 2 * 1024 * 1024
  const start = async (): Promise<void> => {
    const disk = await mountSmallDisk(String(SIZE))
    if (disk === null) throw new Error('mounting was permitted a moment ago')
    place = await makePlace(disk)
    told = () => {}
    journal = await place.open({
      reserveBytes: 256 * 1024,
      report: (report) => {
        place.reports.push(report)
        told(report)
      },
    })
  }
  const ballast = (): string => join(place.root, 'ballast')
  /** Everything but the reserve. */
  const fillDisk = async (): Promise<void> => {
    await expect(writeFile(ballast(), Buffer.alloc(SIZE))).rejects.toThrow(/ENOSPC/)
  }
  const big = note(0, 100_000)

  onSmallDisk(
    'refuses ordinary lines, takes conclusions from the reserve, and resumes when there is room',
    async () => {
      await start()
      await journal.append([note(1)])
      await fillDisk()
      await expect(journal.append([big])).rejects.toMatchObject({ code: 'disk_full' })
      expect(journal.health()).toMatchObject({ ok: false })
      await expect(journal.append([note(2)])).rejects.toMatchObject({ code: 'disk_full' })
      await journal.append([note(3, 5000)], { urgent: true })
      const [conclusion] = await journal.append([note(4, 50_000)], { urgent: true })
      expect(journal.head().seq).toBe(conclusion?.head.seq)
      expect(journal.health()).toMatchObject({ ok: false })
      const resumed = heard('resumed')
      await rm(ballast())
      await resumed
      expect(journal.health()).toEqual({ ok: true, reason: null })
      expect((await stat(join(place.dir, 'reserve'))).size).toBe(256 * 1024)
      await journal.append([note(5)])
      expect(await notes(journal)).toEqual([1, 3, 4, 5])
      await journal.close()
      checkChain(await rawLines(place.dir))
    },
  )

  onSmallDisk('in a mixed batch writes the conclusions only', async () => {
    await start()
    await fillDisk()
    const results = await Promise.allSettled([
      journal.append([big]),
      journal.append([note(1, 20_000)], { urgent: true }),
      journal.append([note(2, 20_000)]),
      journal.append([note(3, 20_000)], { urgent: true }),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(await notes(journal)).toEqual([1, 3])
  })

  onSmallDisk(
    'with the reserve used up refuses conclusions too, and keeps every line it took',
    async () => {
      await start()
      await fillDisk()
      let taken = 0
      for (;;) {
        try {
          await journal.append([note(taken, 30_000)], { urgent: true })
          taken++
        } catch (error) {
          expect(error).toMatchObject({ code: 'disk_full' })
          break
        }
      }
      expect(taken).toBeGreaterThan(4)
      await journal.close()
      journal = await place.open({ reserveBytes: 256 * 1024 })
      expect(journal.health()).toMatchObject({ ok: false, reason: expect.stringContaining('full') })
      expect(await notes(journal)).toHaveLength(taken)
      checkChain(await rawLines(place.dir))
    },
  )

  onSmallDisk('that is read-only refuses to open for writing and can still be read', async () => {
    await start()
    await journal.append([note(1)])
    await journal.close()
    expect(spawnSync('mount', ['-o', 'remount,ro', mounted ?? '']).status).toBe(0)
    await expect(place.open()).rejects.toThrow(/EROFS/)
    const read: unknown[] = []
    for await (const { line } of readJournal(place.dir)) {
      if (line.type === 'NOTE') read.push(line.n)
    }
    expect(read).toEqual([1])
    spawnSync('mount', ['-o', 'remount,rw', mounted ?? ''])
    journal = await place.open()
    await journal.append([note(2)])
  })
})

describe('a failing disk', () => {
  let place: Place
  beforeEach(async () => {
    place = await makePlace()
  })
  afterEach(() => place.clean())
  const failure = (code: string): Error => Object.assign(new Error(`${code}: as asked`), { code })
  const file = (): string => join(place.dir, '00000001.jsonl')

  it('that writes a few bytes at a time gets the whole line in the end', async () => {
    const journal = await place.open({
      files: {
        write: (fd, buffer, start, length) => writeSync(fd, buffer, start, Math.min(7, length)),
      },
    })
    await journal.append([note(1), note(2)])
    await journal.close()
    checkChain(await rawLines(place.dir))
  })

  it('whose sync fails: the batch is rejected and nothing of it stays', async () => {
    let fail = false
    const sync = promisify(fdatasync)
    const journal = await place.open({
      files: { sync: (fd) => (fail ? Promise.reject(failure('EIO')) : sync(fd)) },
    })
    await journal.append([note(1)])
    const before = await readFile(file())
    fail = true
    const both = [journal.append([note(2)]), journal.append([note(3)], { urgent: true })]
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
    ])
    expect(await readFile(file())).toEqual(before)
    expect(journal.health()).toMatchObject({ ok: false })
    fail = false
    const [line] = await journal.append([note(4)], { urgent: true })
    expect(line?.seq).toBe(3)
    expect(line?.head.signed).toMatchObject({ upto: 3, lines: 2 })
    await journal.close()
    checkChain(await rawLines(place.dir))
  })

  it('that will not even take a batch back poisons the journal, for good', async () => {
    let fail = true
    const journal = await place.open({
      files: {
        sync: () => Promise.reject(failure('EIO')),
        truncate: (fd, length) => {
          if (fail) throw failure('EIO')
          ftruncateSync(fd, length)
        },
      },
    })
    await expect(journal.append([note(1)])).rejects.toMatchObject({ code: 'poisoned' })
    fail = false
    await expect(journal.append([note(2)], { urgent: true })).rejects.toMatchObject({
      code: 'poisoned',
    })
    expect(journal.health().reason).toContain('could not be taken back')
    expect(journal.head().seq).toBe(0)
  })

  it('in whatever way it fails leaves nobody waiting, and the next one is served', async () => {
    let fail = true
    const journal = await place.open({
      files: {
        write(fd, buffer, start, length) {
          if (fail) throw 'not even an error'
          return writeSync(fd, buffer, start, length)
        },
      },
    })
    await expect(journal.append([note(1)], { urgent: true })).rejects.toBeDefined()
    fail = false
    await journal.append([note(2)], { urgent: true })
    expect(await notes(journal)).toEqual([2])
  })

  it('under a seal leaves the segment open, tells, and seals it later', async () => {
    let fail = false
    const journal = await place.open({
      segmentBytes: 1500,
      files: {
        write(fd, buffer, start, length) {
          if (
            fail &&
            Buffer.from(buffer.subarray(start, start + length)).includes('SEGMENT_SEALED')
          )
            throw failure('EIO')
          return writeSync(fd, buffer, start, length)
        },
      },
    })
    for (let n = 1; n <= 3; n++) await journal.append([note(n)])
    fail = true
    await journal.append([note(4)])
    expect(place.reports.map(({ kind }) => kind)).toContain('seal_failed')
    fail = false
    for (let n = 5; n <= 8; n++) await journal.append([note(n)])
    const notes = (await allLines(journal)).filter(({ type }) => type === 'NOTE')
    expect(notes.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    await journal.close()
    checkChain(await rawLines(place.dir))
    expect((await (await place.open()).verified).damage).toBeNull()
  })

  onSmallDisk('under the second head is reported and does not stop the journal', async () => {
    const disk = await mountSmallDisk('64k')
    const headFile = join(disk ?? '', 'head')
    await expect(writeFile(join(disk ?? '', 'ballast'), Buffer.alloc(100_000))).rejects.toThrow(
      /ENOSPC/,
    )
    const journal = await place.open({ headFile })
    await journal.append([note(1)])
    await journal.close()
    // The head before the first line, and the one behind it.
    const failed = { kind: 'head_file_failed', file: headFile }
    expect(place.reports).toMatchObject([failed, failed])
  })

  it('under the snapshot is reported and leaves the old one', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await journal.writeSnapshot({ n: 1 })
    await mkdir(join(place.dir, 'snapshot.tmp'))
    await expect(journal.writeSnapshot({ n: 2 })).rejects.toMatchObject({ code: 'write_failed' })
    expect(place.reports).toMatchObject([{ kind: 'snapshot_failed' }])
    await journal.close()
    expect((await place.open()).snapshot?.state).toEqual({ n: 1 })
  })
})
