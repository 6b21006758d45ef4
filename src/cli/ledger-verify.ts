import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { readHeadFile, type SecondHead } from '../adapters/journal/head-file.js'
import { exportKeyring } from '../adapters/keys/keyring.js'
import { leafHash } from '../core/journal/line.js'
import { type LedgerFiles, ledgerFiles, ledgerSource, readAll } from './ledger-files.js'
import { EXIT, plain, print, printJson } from './output.js'
import { loadKeys, verifySource } from './verify.js'

type Options = { data: string; keys?: string; head: string; json?: boolean }

/** The folder's own journal, whole: what `verify` checks of a file, and that it reaches its second head. */
export async function verifyLedgerFolder(options: Options): Promise<number> {
  const { data, json, head: headFile } = options
  // Before the lines: whatever is written meanwhile only makes the journal longer.
  const head = existsSync(headFile) ? await readHeadFile(headFile) : null
  const files = await ledgerFiles(data)
  const keys =
    options.keys === undefined ? exportKeyring(join(data, 'keys')).keys : loadKeys(options.keys)
  const settings = { profile: 'strict', ...(json === undefined ? {} : { json }) } as const
  const code = await verifySource(files.dir, () => ledgerSource(files), keys, settings)
  if (options.keys === undefined && json !== true) {
    print("  keys were taken from the gate's own folder: pin them with --keys to check the gate")
  }
  const fault = head === null ? null : await headFault(files, head)
  if (json === true) printJson({ type: 'head', file: headFile, checked: head !== null, fault })
  else if (head === null) print(`  second head: not checked, there is no ${plain(headFile)}`)
  else print(`  second head: ${fault ?? `line ${head.seq} is here`}`)
  return fault === null ? code : EXIT.failed
}

async function headFault(files: LedgerFiles, head: SecondHead): Promise<string | null> {
  let last = 0
  for await (const { line, raw } of readAll(files)) {
    last = line.seq
    if (line.seq < head.seq) continue
    if (line.seq > head.seq) return null
    const same = line.origin === head.origin && leafHash(raw, nodeCrypto) === head.hash
    return same ? null : `line ${head.seq} is another than the one that was there`
  }
  return `the journal ends at line ${last}, but line ${head.seq} was written: it is an older copy`
}
