import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, jest } from '@jest/globals'
import { byChance } from '../../support/power-loss/chance.js'
import { door, mountAfterKill, mountDisk } from '../../support/power-loss/door.js'
import { AT_WORST, type Image, type Keep } from '../../support/power-loss/inodes.js'
import { randomFrom } from '../../support/power-loss/random.js'
import type { DiskOptions, TestDisk } from '../../support/power-loss/test-disk.js'

jest.unstable_mockModule('../../../src/adapters/disk/files.js', () => door)
const { makeFolder } = await import('../../../src/adapters/disk/folder.js')
const { createFileSync, removeFileSync, replaceFile, replaceFileSync } = await import(
  '../../../src/adapters/disk/replace-file.js'
)

/** The power goes at each operation in turn, and what is left is looked at: at the worst, and in many ways by chance. */
const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})
function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'gate-disk-power-'))
  made.push(root)
  return root
}
const newDisk = (options?: DiskOptions): TestDisk => mountDisk(newRoot(), options)
const killed = (disk: TestDisk): TestDisk => mountAfterKill(disk, newRoot())

type Work = (root: string) => void | Promise<void>
/** Whether the work was done before the power went. */
async function isDone(disk: TestDisk, work: Work): Promise<boolean> {
  try {
    await work(disk.root)
    return !disk.isCut()
  } catch (error) {
    if (!disk.isCut()) throw error
    return false
  } finally {
    disk.release()
  }
}
/** Disks with some work done on each, whose power went at the first operation of other work, the second, and so on. */
async function* cutEverywhere(before: Work, work: Work): AsyncGenerator<TestDisk> {
  for (let operation = 1; ; operation++) {
    const disk = newDisk()
    await before(disk.root)
    disk.cutAt(disk.operations() + operation)
    if (await isDone(disk, work)) return
    yield disk
  }
}
const KEEPS: readonly Keep[] = [
  AT_WORST,
  ...Array.from({ length: 30 }, (_, seed) => byChance(randomFrom(seed + 1))),
]
const textIn = (image: Image, path: string): string | null =>
  image.get(path)?.toString('utf8') ?? null
const counted = async <T>(all: AsyncGenerator<T>, look: (one: T) => unknown): Promise<number> => {
  let count = 0
  for await (const one of all) {
    await look(one)
    count += 1
  }
  return count
}

describe('a folder', () => {
  const PATH = join('a', 'b', 'c')
  const make = (root: string): void => makeFolder(join(root, PATH))
  const nothing = (): void => undefined

  it('that was made is there after a power loss, with all that lead to it', () => {
    const disk = newDisk()
    make(disk.root)
    expect([...disk.image(AT_WORST).keys()]).toEqual(['a', 'a/b', 'a/b/c'])
  })

  it('is there after a power loss if it was made in one that was there', () => {
    const disk = newDisk()
    makeFolder(join(disk.root, 'a'))
    make(disk.root)
    makeFolder(join(disk.root, 'a', 'b', 'other'))
    expect(disk.image(AT_WORST).has('a/b/c')).toBe(true)
    expect(disk.image(AT_WORST).has('a/b/other')).toBe(true)
  })

  it('half made by a process that was killed is made safe by the next, wherever that was', async () => {
    const times = await counted(cutEverywhere(nothing, make), (first) => {
      const disk = killed(first)
      make(disk.root)
      expect(disk.image(AT_WORST).has(PATH)).toBe(true)
    })
    expect(times).toBeGreaterThanOrEqual(6)
  })

  it('half made by two that were killed, one after the other, is made safe by the third', async () => {
    await counted(cutEverywhere(nothing, make), async (first) => {
      for (let operation = 1; operation < 8; operation++) {
        // The same disk as often as needed: each try begins with what the first one left.
        const again = newDisk()
        again.cutAt(first.operations())
        await isDone(again, make)
        const second = killed(again)
        second.cutAt(operation)
        await isDone(second, make)
        const third = killed(second)
        make(third.root)
        expect(third.image(AT_WORST).has(PATH)).toBe(true)
      }
    })
  })

  it('half made by one that was killed is safe for another that makes a folder below it', async () => {
    await counted(cutEverywhere(nothing, make), (first) => {
      const disk = killed(first)
      makeFolder(join(disk.root, PATH, 'd'))
      expect(disk.image(AT_WORST).has(join(PATH, 'd'))).toBe(true)
    })
  })

  it('is lost where a disk only says that it synced a name', () => {
    const disk = newDisk({ lies: (path, kind) => kind === 'folder' && path === 'a' })
    make(disk.root)
    expect([...disk.image(AT_WORST).keys()]).toEqual(['a'])
  })
})

type Way = (path: string, content: string) => void | Promise<void>
const [OLD, NEW] = ['old '.repeat(3000), 'new '.repeat(4000)]

describe.each<[string, Way]>([
  ['later', replaceFile],
  ['at once', replaceFileSync],
])('a file replaced %s', (_, replace) => {
  const writing =
    (content: string): Work =>
    (root) =>
      replace(join(root, 'file'), content)

  it('has its new content after a power loss', async () => {
    const disk = newDisk()
    await writing(OLD)(disk.root)
    expect(textIn(disk.image(AT_WORST), 'file')).toBe(OLD)
    await writing(NEW)(disk.root)
    for (const keep of KEEPS) expect(textIn(disk.image(keep), 'file')).toBe(NEW)
  })

  it('has all of the old or all of the new, whenever the power goes', async () => {
    const found = new Set<string | null>()
    const times = await counted(cutEverywhere(writing(OLD), writing(NEW)), (disk) => {
      for (const keep of KEEPS) found.add(textIn(disk.image(keep), 'file'))
    })
    expect(times).toBeGreaterThanOrEqual(5)
    // Told short: the texts are long.
    expect([...found].map((one) => one?.slice(0, 4))).toEqual(['old ', 'new '])
    expect([...found].map((one) => one?.length).sort()).toEqual([OLD.length, NEW.length].sort())
  })

  it('that is new is whole or not there, whenever the power goes', async () => {
    const found = new Set<string | null>()
    await counted(
      cutEverywhere(() => undefined, writing(NEW)),
      (disk) => {
        for (const keep of KEEPS) found.add(textIn(disk.image(keep), 'file'))
      },
    )
    expect([...found].map((one) => one?.length)).toEqual([undefined, NEW.length])
  })

  it('has all of the old or all of the new after a kill, and the next replaces it', async () => {
    await counted(cutEverywhere(writing(OLD), writing(NEW)), async (first) => {
      const disk = killed(first)
      const found = readFileSync(join(disk.root, 'file'), 'utf8')
      expect(found === OLD || found === NEW).toBe(true)
      await writing('newest')(disk.root)
      expect([...disk.image(AT_WORST)]).toEqual([['file', Buffer.from('newest')]])
    })
  })

  it('is torn where a disk only says that it synced the content', async () => {
    const disk = newDisk({ lies: (_, kind) => kind === 'file' })
    await writing(NEW)(disk.root)
    expect(textIn(disk.image(AT_WORST), 'file')).toBe('')
  })
})

describe('a file made once', () => {
  const create = (root: string): void => createFileSync(join(root, 'file'), NEW)

  it('is there after a power loss, with nothing beside it', () => {
    const disk = newDisk()
    create(disk.root)
    for (const keep of KEEPS) expect([...disk.image(keep).keys()]).toEqual(['file'])
    expect(textIn(disk.image(AT_WORST), 'file')).toBe(NEW)
  })

  it('is whole or not there, whenever the power goes', async () => {
    const found = new Set<string | null>()
    const times = await counted(
      cutEverywhere(() => undefined, create),
      (disk) => {
        for (const keep of KEEPS) found.add(textIn(disk.image(keep), 'file'))
      },
    )
    expect(times).toBeGreaterThanOrEqual(5)
    expect([...found].map((one) => one?.length)).toEqual([undefined, NEW.length])
  })

  it('is whole or not there after a kill, and then the next makes it', async () => {
    await counted(
      cutEverywhere(() => undefined, create),
      (first) => {
        const disk = killed(first)
        const path = join(disk.root, 'file')
        if (existsSync(path)) expect(() => create(disk.root)).toThrow(/EEXIST/)
        else create(disk.root)
        expect(readFileSync(path, 'utf8') === NEW).toBe(true)
      },
    )
  })
})

describe('a file that was removed', () => {
  it('is not back after a power loss', () => {
    const disk = newDisk()
    createFileSync(join(disk.root, 'file'), 'secret')
    removeFileSync(join(disk.root, 'file'))
    for (const keep of KEEPS) expect([...disk.image(keep).keys()]).toEqual([])
  })
})
