import { cutter, type Run } from './cases.js'
import { mountAfterKill } from './door.js'
import type { DiskOptions, TestDisk } from './test-disk.js'

/** When the power goes: at a named point of the product, or in the course of an operation of the disk. */
export type When =
  | { readonly seam: string; readonly within: number }
  /** One of the first so many, not before `from`. */
  | { readonly operation: number; readonly from?: number }
export type Plan = DiskOptions & {
  readonly when: When
  /**
   * Once; after a kill, when the kernel still has what the next start finds and no disk has it; or a second time, in
   * the start that follows the first.
   */
  readonly mode?: 'once' | 'after a kill' | 'again'
  /** Of a second power loss, and of the kill: the last operation it may come in. */
  readonly second?: number
  readonly prepare?: (root: string) => void
}
/** What runs until the power goes; a name given to `hit` is a point at which it may. */
export type Work = (disk: TestDisk, hit: (name: string) => void) => Promise<void>

/** Does the work until the power goes, as planned, and answers with what is left of the disk. */
export async function untilPowerLoss(run: Run, plan: Plan, work: Work): Promise<TestDisk> {
  const { random, folders } = run
  const { when, mode = 'once', second = 60 } = plan
  const seam = 'seam' in when ? when.seam : null
  const early = (): number => 1 + random.below(second)
  let disk = run.disk(plan, plan.prepare)
  const hits = 'seam' in when ? 1 + random.below(when.within) : 0
  if ('operation' in when) disk.cutAt((when.from ?? 1) + random.below(when.operation))
  await ended(disk, work(disk, cutter(disk, seam, hits)))
  if (disk.isCut()) run.interrupted()
  if (mode === 'after a kill') {
    disk.release()
    disk = mountAfterKill(disk, folders.make())
  }
  if (mode === 'again') disk = run.afterPowerLoss(disk)
  if (mode !== 'once') {
    disk.cutAt(early())
    await ended(disk, work(disk, cutter(disk, null, 0)))
  }
  disk.release()
  return run.afterPowerLoss(disk)
}

/** Without power anything may fail, and nothing else may. */
async function ended(disk: TestDisk, working: Promise<void>): Promise<void> {
  try {
    await working
  } catch (error) {
    if (!disk.isCut()) throw error
  }
}
