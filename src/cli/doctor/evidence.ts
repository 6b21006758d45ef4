import { join } from 'node:path'
import { existsSync } from '../../adapters/disk/files.js'
import type { GateConfig } from '../../config/model.js'
import { compareEvidence, sayCounts } from '../ledger/evidence.js'
import { type Check, fail, ok, warn } from './check.js'

/** Whether every line that must have evidence has it; each record is opened. */
export async function checkEvidence({ data_dir, evidence }: GateConfig): Promise<readonly Check[]> {
  if (!existsSync(join(data_dir, 'journal'))) return [ok('evidence', 'none yet')]
  const verify = `capsule-gate ledger verify --evidence --data ${data_dir}`
  const report = await compareEvidence({ data: data_dir, masterKey: evidence.master_key_file })
  if (report.kind === 'cannot_tell') {
    return [warn('evidence', `cannot be told: ${report.why}`, `give the key, then: ${verify}`)]
  }
  const [first] = report.findings
  const said = sayCounts(report)
  if (first === undefined) return [ok('evidence', said)]
  const where = first.seq === null ? '' : `line ${first.seq} ${first.member}, `
  return [
    fail(
      'evidence',
      `${said}; first: ${where}${first.detail}`,
      `restore ${join(data_dir, 'evidence')} from a backup; ${verify} lists all`,
    ),
  ]
}
