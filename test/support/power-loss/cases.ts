import { mkdtempSync, readdirSync, rmSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { draws } from '../draws.js'
import { byChance } from './chance.js'
import { mountDisk } from './door.js'
import { writeImage } from './inodes.js'
import type { Random } from './random.js'
import { randomFrom } from './random.js'
import type { DiskOptions, TestDisk } from './test-disk.js'

/**
 * Seeded runs. Those of a failure are told, and can be had alone:
 * POWER_CASE='gate at after_sync' POWER_SEED=7 npm run jest -- test/e2e/power-loss-gate.long.test.ts
 */
const { POWER_CASE, POWER_SEED, POWER_ROUNDS } = process.env
const ROUNDS = Number(POWER_ROUNDS ?? 1)

export type Run = {
  readonly random: Random
  readonly folders: Folders
  /** A new folder as a disk whose power may go; what `prepare` puts there is safe. */
  disk(options?: DiskOptions, prepare?: (root: string) => void): TestDisk
  /** What the power loss left of it, as a disk of its own. */
  afterPowerLoss(disk: TestDisk): TestDisk
  /** To be called when the power went before the work was done. */
  interrupted(): void
}
export type Folders = { make(): string; clear(): void }

/** What went wrong in so many runs of a case, with the seeds that show it. */
export async function wrongIn(
  name: string,
  count: number,
  once: (run: Run) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (POWER_CASE !== undefined && POWER_CASE !== name) return []
  const first = Number(POWER_SEED ?? 1)
  const drawn = draws(count, Math.ceil(count / 6)) * ROUNDS
  const seeds = POWER_CASE !== undefined && POWER_SEED !== undefined ? 1 : drawn
  const wrong: string[] = []
  let interrupted = 0
  for (let seed = first; seed < first + seeds; seed++) {
    const found = await wrongWith(name, seed, once, () => {
      interrupted += 1
    })
    wrong.push(...found.map((what) => `POWER_CASE='${name}' POWER_SEED=${seed}: ${what}`))
  }
  runs += seeds
  // Else the point was never reached, and nothing was tried. A few draws may miss it more often than half the time.
  const least = seeds < count ? 1 : seeds / 2
  if (seeds > 1 && interrupted < least) wrong.push(`interrupted in ${interrupted} of ${seeds}`)
  return wrong
}
let runs = 0
export const runsSoFar = (): number => runs

/** The first thing that goes wrong in so many runs, of a disk that should be found out; null if none does. */
export async function firstWrong(
  name: string,
  most: number,
  once: (run: Run) => Promise<readonly string[]>,
): Promise<string | null> {
  for (let seed = 1; seed <= most; seed++) {
    const [what] = await wrongWith(name, seed, once)
    if (what !== undefined) return what
  }
  return null
}

/** What goes wrong in one run; an error is something too. */
async function wrongWith(
  name: string,
  seed: number,
  once: (run: Run) => Promise<readonly string[]>,
  interrupted: () => void = () => undefined,
): Promise<readonly string[]> {
  const folders = newFolders()
  const disks: TestDisk[] = []
  // Cases with equal seeds have nothing in common.
  const random = randomFrom(
    [...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), seed * 7919),
  )
  const mounted = (root: string, options?: DiskOptions): TestDisk => {
    const disk = mountDisk(root, options)
    disks.push(disk)
    return disk
  }
  try {
    return await once({
      random,
      folders,
      interrupted,
      disk(options, prepare) {
        const root = folders.make()
        prepare?.(root)
        return mounted(root, options)
      },
      afterPowerLoss(disk) {
        disk.cut()
        const root = folders.make()
        writeImage(disk.image(byChance(random)), root)
        return mounted(root)
      },
    })
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)]
  } finally {
    for (const disk of disks) {
      disk.cut()
      disk.release()
    }
    folders.clear()
  }
}

const made: string[] = []
/** Locks are named after a folder's inode, and a gate without power keeps its own: folders stay to the end. */
function newFolders(): Folders {
  const own: string[] = []
  return {
    make() {
      const root = mkdtempSync(join(tmpdir(), 'gate-power-'))
      own.push(root)
      made.push(root)
      return root
    },
    clear() {
      for (const root of own) {
        for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
          if (!entry.isDirectory()) unlinkSync(join(entry.parentPath, entry.name))
        }
      }
    },
  }
}
export function removeFolders(): void {
  for (const root of made.splice(0)) rmSync(root, { recursive: true, force: true })
}

/** Calls that throw once their turn has come so many times. */
export function cutter(disk: TestDisk, at: string | null, hits: number): (name: string) => void {
  let left = hits
  return (name) => {
    if (disk.isCut()) throw new Error('the power is gone')
    if (name !== at || --left > 0) return
    disk.cut()
    throw new Error(`the power goes at ${name}`)
  }
}

/** A cutter as the stores take their seams: whatever point one asks for, the name decides. */
export const everySeam = (hit: (name: string) => void): object =>
  new Proxy({}, { get: (_, name) => () => hit(String(name)) })
