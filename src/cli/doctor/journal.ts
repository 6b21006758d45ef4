import { join } from 'node:path'
import { existsSync } from '../../adapters/disk/files.js'
import { lockFolder } from '../../adapters/disk/lock.js'
import { readHeadFile } from '../../adapters/journal/start/head-file.js'
import type { GateConfig } from '../../config/model.js'
import { lastLine, ledgerFiles } from '../ledger/files.js'
import { attempt, type Check, fail, ok, reasonOf, warn } from './check.js'
import { besides } from './folder.js'

/** The journal's last line against the clock and the second head; who holds it. Nothing is changed. */
export async function checkJournal(config: GateConfig, now: number): Promise<readonly Check[]> {
  const dir = join(config.data_dir, 'journal')
  if (!existsSync(dir)) return [ok('journal', 'none yet')]
  const running = await isHeld(dir)
  const held = ok('gate', running ? 'running on this folder' : 'not running on this folder')
  return [
    held,
    ...(await attempt(
      'journal',
      `capsule-gate ledger verify --data ${config.data_dir}`,
      async () => {
        // Before the line is read: a running gate writes the line first and the head after it.
        const head = (await readHeadFile(config.journal.head_file))?.newest ?? null
        const last = await lastLine(await ledgerFiles(config.data_dir))
        if (last === null) return [ok('journal', 'empty')]
        return [
          ok('journal', `${last.seq} lines, the last at ${last.at}`),
          clock(last.at, now),
          ...secondHead(config, head, last),
        ]
      },
    )),
  ]
}

async function isHeld(dir: string): Promise<boolean> {
  try {
    const lock = await lockFolder(dir, 'journal', () => `pid ${process.pid}, doctor`)
    await lock.release()
    return false
  } catch (error) {
    if (/is held by/.test(reasonOf(error))) return true
    throw error
  }
}

const SKEW_MS = 2_000

/** Timestamps never go back within an origin: a clock behind the last line stamps everything alike. */
function clock(at: string, now: number): Check {
  const ahead = Date.parse(at) - now
  if (ahead <= SKEW_MS) return ok('clock', 'not behind the last line')
  const said = `the last line is ${Math.ceil(ahead / 1000)} s ahead of this machine's clock`
  return fail(
    'clock',
    said,
    'set the clock (timedatectl set-ntp true); until then times stand still',
  )
}

function secondHead(
  { data_dir, journal }: GateConfig,
  head: { readonly seq: number } | null,
  last: { readonly seq: number },
): Check[] {
  const { head_file } = journal
  const verify = `capsule-gate ledger verify --data ${data_dir} --head ${head_file}`
  const found =
    head === null
      ? warn(
          'second head',
          `${head_file} is not there: a restored journal would not be noticed`,
          'start the gate: it is written anew',
        )
      : head.seq > last.seq
        ? fail(
            'second head',
            `the journal ends at line ${last.seq}, line ${head.seq} was written: an older copy`,
            `restore the newest journal; ${verify}`,
          )
        : ok('second head', `${head_file} knows line ${head.seq}`)
  if (besides(data_dir, head_file)) return [found]
  const inside = `${head_file} stands in the data folder and is restored together with it`
  return [found, warn('second head', inside, 'set journal.head_file to another disk or host')]
}
