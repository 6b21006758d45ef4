import { randomBytes } from 'node:crypto'
import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RESERVE_BYTES } from '../../../src/adapters/journal/model.js'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import { systemClock } from '../../../src/app/clock.js'
import { type Data, openData } from '../../../src/app/data/open.js'
import { ownSecret } from '../../../src/app/data/secrets.js'
import { tenantKeys } from '../../../src/app/tenant/keys.js'
import { GateError } from '../../../src/core/error.js'
import { isHeadType, type JournalLine, readLine } from '../../../src/core/journal/vocabulary.js'
import { canonicalOf } from '../../../src/core/json/build.js'
import {
  type Files,
  HEAD_FILE,
  journalOf,
  quickFolder,
  readFolder,
  sameFiles,
  writeFolder,
} from './folder.js'
import type { World } from './operations/operation.js'
import { rowsOf } from './rows.js'
import { isJournalFile } from './world.js'

/** How a gate starts on a folder, and whether it may. */
export type StartJudge = {
  /** Null where all is as it must be; else what is not. */
  judge(files: Files, told?: string[]): Promise<string | null>
  readonly counts: Record<string, number>
  close(): void
}

const EVIDENCE_RESERVE_BYTES = 1024 * 1024

export async function createStartJudge(world: World): Promise<StartJudge> {
  const root = quickFolder('start')
  // Filled once: each start would fill five megabytes of its own.
  const reserves = { journal: RESERVE_BYTES, evidence: EVIDENCE_RESERVE_BYTES }
  for (const [store, bytes] of Object.entries(reserves)) {
    writeFileSync(join(root, store), randomBytes(bytes))
  }
  const { files: honest } = world.story
  const states = statesAtHeads(world, root)
  const counts: Record<string, number> = {}
  const count = (kind: string): void => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  let made = 0

  async function judge(files: Files, told: string[] = []): Promise<string | null> {
    const dir = join(root, String(made++))
    writeFolder(dir, files)
    for (const store of Object.keys(reserves)) {
      linkSync(join(root, store), join(dir, 'data', store, 'reserve'))
    }
    try {
      return await start(dir, files, told)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  }

  async function start(dir: string, files: Files, told: string[]): Promise<string | null> {
    let data: Data
    try {
      data = await openData({
        ...{
          dir: join(dir, 'data'),
          headFile: join(dir, HEAD_FILE),
          recorder: { in: 'this_thread' },
        },
        ...{
          segmentBytes: 64 * 1024 * 1024,
          snapshotEvery: 1_000_000,
          idempotencyTtlSeconds: 86_400,
        },
        ...{ clock: systemClock, report: (event) => told.push(JSON.stringify(event)) },
      })
    } catch (error) {
      count('refused')
      return refusalFault(error, dir, files)
    }
    try {
      const { damage } = await data.journal.verified
      const { seq } = data.journal.head()
      const state = canonicalOf(data.state.dump())
      const kind = damage !== null ? 'damage found behind the start' : 'told'
      const untold = damage === null && told.length === 0
      const fault = stateFault(seq, state) ?? (untold ? silenceFault(files) : null)
      count(untold ? 'silent, unchanged or cut back' : kind)
      return fault ?? keptFault(dir, files)
    } finally {
      await data.close()
    }
  }

  /** Nothing that the honest lines up to that head did not say. */
  function stateFault(seq: number, state: string): string | null {
    const then = states.get(seq)
    if (then === undefined) return `it starts at line ${seq}, where the honest journal has no head`
    return then === state ? null : `its state is not that of the honest journal at line ${seq}`
  }

  function silenceFault(files: Files): string | null {
    if (sameFiles(files, honest, isJournalFile)) return null
    const journal = journalOf(files)
    const whole = journalOf(honest)
    const cut = journal.length < whole.length && whole.subarray(0, journal.length).equals(journal)
    // A cut is silent only where no other head is left to tell of it.
    const older = world.story.earlier.some(({ head }) => files.get(HEAD_FILE)?.equals(head))
    return cut && older ? null : 'it starts and says nothing'
  }

  return { judge, counts, close: () => rmSync(root, { recursive: true, force: true }) }
}

/** A refusal names the place, and leaves everything as it found it. */
function refusalFault(error: unknown, dir: string, before: Files): string | null {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof GateError)) return `it is refused by ${String(error)}`
  if (error.file === null || !message.includes(dir)) return `the refusal names no file: ${message}`
  const after = readFolder(dir)
  // A journal that opened before its lines could not be folded has put its newest head into both slots.
  const [head, now] = [before, after].map((files) => newestIn(files.get(HEAD_FILE)))
  const same = sameFiles(before, after, (name) => isJournalFile(name) && name !== HEAD_FILE)
  return same && head === now ? null : `it is refused (${message}), and files are not as they were`
}

/** The slot with the newest head, as text. */
const newestIn = (bytes: Buffer | undefined): string =>
  (bytes?.toString('latin1') ?? '')
    .split('\n')
    .reduce((one, other) => (uptoIn(other) > uptoIn(one) ? other : one), '')
    .trimEnd()
const uptoIn = (slot: string): number => Number(/"upto":(\d+)/.exec(slot)?.[1] ?? -1)

/** What a start cuts off is kept aside: no octet of a line is lost. */
function keptFault(dir: string, before: Files): string | null {
  const after = readFolder(dir)
  const torn = [...after].filter(([name]) => name.endsWith('.torn')).map(([, bytes]) => bytes)
  const now = Buffer.concat([journalOf(after), ...torn])
  return now.equals(journalOf(before)) ? null : 'octets of lines are gone after the start'
}

/** The state at each head of the honest journal, by the head's own line. */
function statesAtHeads({ story }: World, root: string): ReadonlyMap<number, string> {
  writeFolder(root, new Map([...story.files].filter(([name]) => name.startsWith('data/keys/'))))
  const tenant = tenantKeys(ownSecret(join(root, 'data', 'keys', 'tenant.salt'), 32))
  const state = createEmbeddedState({ tenant, keyTtlSeconds: 86_400 })
  const states = new Map([[0, canonicalOf(state.dump())]])
  for (const { text, type } of rowsOf(story.files) ?? []) {
    const raw = JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as JournalLine
    const line = readLine(raw)
    if (line !== null) state.apply(line)
    if (isHeadType(type)) states.set(raw.seq, canonicalOf(state.dump()))
  }
  return states
}
