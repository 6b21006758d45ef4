import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync, readFileSync } from '../../adapters/disk/files.js'
import { readIndexHeader } from '../../adapters/journal/index/index-file.js'
import { indexPath } from '../../adapters/journal/segments.js'
import { readHeadFile } from '../../adapters/journal/start/second-head-file.js'
import { exportKeyring } from '../../adapters/keys/keyring.js'
import { readSignedHead } from '../../core/journal/head.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import type { Folder } from '../access/data-folder.js'
import { EXIT, plain, print, printJson, printResult, worst } from '../output/print.js'
import { loadKeys, MAX_SHOWN, verifySource } from '../verify/verify.js'
import { compareEvidence, describeCounts, type EvidenceReport } from './evidence.js'
import { type LedgerFiles, ledgerFiles, ledgerSource } from './files.js'

export type VerifyOptions = Folder & { keys?: string; json?: boolean; evidence?: boolean }

/** The journal, and with --evidence the store beside it; the exit code. */
export async function verifyFolder(options: VerifyOptions): Promise<number> {
  const code = await verifyJournal(options)
  if (options.evidence !== true) return code
  const report = await compareEvidence(options)
  printResult(options, { type: 'evidence', ...report }, () =>
    describe(report).map((line) => `  evidence: ${line}`),
  )
  if (report.kind === 'cannot_tell') return worst([code, EXIT.incomplete])
  return worst([code, report.findings.length === 0 ? EXIT.ok : EXIT.failed])
}

/**
 * The folder's own journal, whole: what `verify` checks of a file, with the seals of archived segments before it
 * and held to its second head.
 */
async function verifyJournal({ data, json, head: headFile, ...options }: VerifyOptions) {
  // Before the lines: whatever is written meanwhile only makes the journal longer.
  const head = existsSync(headFile) ? readFileSync(headFile, 'utf8') : null
  const files = await ledgerFiles(data)
  const keys =
    options.keys === undefined ? exportKeyring(join(data, 'keys')).keys : loadKeys(options.keys)
  const against = { keys, seals: await keptSeals(files), ...(head !== null && { head }) }
  const settings = { profile: 'strict', ...(json && { json }) } as const
  const code = await verifySource(files.dir, () => ledgerSource(files), against, settings)
  const damage = await headFileDamage(headFile, keys)
  if (json === true) {
    printJson({ type: 'head', file: headFile, checked: head !== null, damage })
    printJson({ type: 'archived', segments: files.archived })
  } else {
    if (options.keys === undefined) {
      print("  keys were taken from the gate's own folder: pin them with --keys to check the gate")
    }
    if (head === null) print(`  second head: missing, there is no ${plain(headFile)} (--head)`)
    if (damage !== null) print(`  second head: ${plain(damage)}`)
    if (files.archived > 0) print(`  segments 1 to ${files.archived}: ${NOT_HERE}`)
  }
  // A journal may have been cut back together with its second head: nothing here would tell.
  const isLess = head === null || damage !== null
  return isLess && code === EXIT.ok ? EXIT.incomplete : code
}

const NOT_HERE = 'archived, their signed seals are here; copy them back to verify their lines'

/**
 * What is wrong with the gate's own second head file although one head in it may verify: what cannot be read, or was
 * not written by the gate, may stand where the newest one stood. Null for heads in another form.
 */
export async function headFileDamage(
  headFile: string,
  keys: readonly PublicKeyRecord[],
): Promise<string | null> {
  const kept = await readHeadFile(headFile).catch(() => null)
  if (kept === null) return null
  for (const head of [kept.newest, kept.older]) {
    const read = head?.signed == null ? null : readSignedHead(head.signed, keys, nodeCrypto)
    if (read?.ok === false) return `one of its heads was not written by this gate: ${read.why}`
  }
  return kept.damage
}

/** Of archived segments only the indexes are here, which repeat the signed seal lines. */
async function keptSeals({ dir, archived }: LedgerFiles): Promise<readonly string[]> {
  const seals: string[] = []
  for (let number = 1; number <= archived; number++) {
    const header = await readIndexHeader(indexPath(dir, number))
    // Without it the verifier says which segment's seal is not here.
    if (header === null) break
    seals.push(header.seal)
  }
  return seals
}

function describe(report: EvidenceReport): string[] {
  if (report.kind === 'cannot_tell') return [`cannot be told, ${plain(report.why)}`]
  const { present, erased, findings } = report
  const hidden = findings.length - MAX_SHOWN
  return [
    describeCounts(report),
    ...erased.map(
      ({ seq, at, digests }) => `erased by line ${seq} of ${plain(at)}: ${digests} digests`,
    ),
    ...findings.slice(0, MAX_SHOWN).map(({ state, seq, member, digest, detail }) => {
      const where = seq === null ? '' : ` line ${seq} ${plain(member ?? '')} ${digest}`
      return `${state}${where}: ${plain(detail)}`
    }),
    ...(hidden > 0 ? [`… and ${hidden} more (--json has all)`] : []),
    ...(present + erased.length + findings.length === 0 ? ['no line needs any'] : []),
  ]
}
