import { dirname, join } from 'node:path'
import { existsSync } from '../../adapters/disk/files.js'
import { lockFolder } from '../../adapters/disk/lock.js'
import { readHeadFile } from '../../adapters/journal/start/second-head-file.js'
import type { GateConfig } from '../../config/model.js'
import { compareEvidence, describeCounts } from '../ledger/evidence.js'
import { lastLine, ledgerFiles } from '../ledger/files.js'
import { messageOf } from '../output/print.js'
import { attempt, type Check, fail, ok, warn } from './check.js'

/** The journal's last line against the clock and the second head; who holds it. Nothing is changed. */
export async function checkJournal(config: GateConfig, now: number): Promise<readonly Check[]> {
  const dir = join(config.data_dir, 'journal')
  if (!existsSync(dir)) return [ok('journal', 'none yet')]
  const verify = `capsule-gate ledger verify --data ${config.data_dir}`
  return [
    ok('gate', `${(await isHeld(dir)) ? 'running' : 'not running'} on this folder`),
    ...(await attempt('journal', verify, async () => {
      // Before the line is read: a running gate writes the line first and the head after it.
      const head = (await readHeadFile(config.journal.head_file))?.newest ?? null
      const last = await lastLine(await ledgerFiles(config.data_dir))
      if (last === null) return [ok('journal', 'empty')]
      return [
        ok('journal', `${last.seq} lines, the last at ${last.at}`),
        clock(last.at, now),
        ...secondHead(config, head?.seq ?? null, last.seq),
      ]
    })),
  ]
}

async function isHeld(dir: string): Promise<boolean> {
  try {
    const lock = await lockFolder(dir, 'journal', () => `pid ${process.pid}, doctor`)
    await lock.release()
    return false
  } catch (error) {
    if (/is held by/.test(messageOf(error))) return true
    throw error
  }
}

const SKEW_MS = 2_000

/** Timestamps never go back within an origin: a clock behind the last line stamps everything alike. */
function clock(at: string, now: number): Check {
  const ahead = Date.parse(at) - now
  if (ahead <= SKEW_MS) return ok('clock', 'not behind the last line')
  const detail = `the last line is ${Math.ceil(ahead / 1000)} s ahead of this machine's clock`
  const fix = 'set the clock (timedatectl set-ntp true); until then times stand still'
  return fail('clock', detail, fix)
}

function secondHead({ data_dir, journal }: GateConfig, head: number | null, last: number): Check[] {
  const { head_file } = journal
  const verify = `capsule-gate ledger verify --data ${data_dir} --head ${head_file}`
  const checks: Check[] = []
  if (head === null) {
    const detail = `${head_file} is not there: a restored journal would not be noticed`
    checks.push(warn('second head', detail, 'start the gate: it is written anew'))
  } else if (head > last) {
    const detail = `the journal ends at line ${last}, line ${head} was written: an older copy`
    checks.push(fail('second head', detail, `restore the newest journal; ${verify}`))
  } else checks.push(ok('second head', `${head_file} knows line ${head}`))
  // Restored together with the journal, a head file notices nothing.
  if (`${dirname(head_file)}/`.startsWith(`${data_dir}/`)) {
    const detail = `${head_file} stands in the data folder and is restored together with it`
    checks.push(warn('second head', detail, 'set journal.head_file to another disk or host'))
  }
  return checks
}

/** Whether every line that must have evidence has it; each record is decrypted. */
export async function checkEvidence({ data_dir, evidence }: GateConfig): Promise<readonly Check[]> {
  if (!existsSync(join(data_dir, 'journal'))) return [ok('evidence', 'none yet')]
  const verify = `capsule-gate ledger verify --evidence --data ${data_dir}`
  const report = await compareEvidence({ data: data_dir, masterKey: evidence.master_key_file })
  if (report.kind === 'cannot_tell') {
    return [warn('evidence', `cannot be told: ${report.why}`, `give the key, then: ${verify}`)]
  }
  const [first] = report.findings
  const counts = describeCounts(report)
  if (first === undefined) return [ok('evidence', counts)]
  const where = first.seq === null ? '' : `line ${first.seq} ${first.member}, `
  const fix = `restore ${join(data_dir, 'evidence')} from a backup; ${verify} lists all`
  return [fail('evidence', `${counts}; first: ${where}${first.detail}`, fix)]
}
