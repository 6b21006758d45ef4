import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync, readFileSync } from '../../adapters/disk/files.js'
import { readIndexHeader } from '../../adapters/journal/index/index-file.js'
import { indexPath } from '../../adapters/journal/segments.js'
import { readHeadFile } from '../../adapters/journal/start/head-file.js'
import { exportKeyring } from '../../adapters/keys/keyring.js'
import { readSignedHead } from '../../core/journal/head.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import { EXIT, plain, print, printJson } from '../output.js'
import { loadKeys, verifySource } from '../verify/verify.js'
import { type LedgerFiles, ledgerFiles, ledgerSource } from './files.js'

type Options = { data: string; keys?: string; head: string; json?: boolean }

/**
 * The folder's own journal, whole: what `verify` checks of a file, with the seals of archived segments before it
 * and held to its second head.
 */
export async function verifyLedgerFolder(options: Options): Promise<number> {
  const { data, json, head: headFile } = options
  // Before the lines: whatever is written meanwhile only makes the journal longer.
  const head = existsSync(headFile) ? readFileSync(headFile, 'utf8') : null
  const files = await ledgerFiles(data)
  const keys =
    options.keys === undefined ? exportKeyring(join(data, 'keys')).keys : loadKeys(options.keys)
  const against = { keys, seals: await keptSeals(files), ...(head === null ? {} : { head }) }
  const settings = { profile: 'strict', ...(json === undefined ? {} : { json }) } as const
  const code = await verifySource(files.dir, () => ledgerSource(files), against, settings)
  if (options.keys === undefined && json !== true) {
    print("  keys were taken from the gate's own folder: pin them with --keys to check the gate")
  }
  const damage = await headFileDamage(headFile, keys)
  if (json === true) {
    printJson({ type: 'head', file: headFile, checked: head !== null, damage })
    printJson({ type: 'archived', segments: files.archived })
  } else {
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
  const faults = [kept.newest, kept.older].flatMap((head) => {
    const read = head?.signed == null ? null : readSignedHead(head.signed, keys, nodeCrypto)
    return read === null || read.ok
      ? []
      : [`one of its heads was not written by this gate: ${read.why}`]
  })
  return faults[0] ?? kept.damage
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
