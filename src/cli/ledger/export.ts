import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  copyFile,
  createWriteStream,
  existsSync,
  mkdir,
  readdir,
  writeFile,
} from '../../adapters/disk/files.js'
import { exportKeyring } from '../../adapters/keys/keyring.js'
import { isHex64 } from '../../core/bytes/hex.js'
import { printResult, UsageError } from '../output/print.js'
import { progress } from '../output/progress.js'
import { type LedgerFiles, ledgerFiles, ledgerSource } from './files.js'

type Options = { data: string; out: string; json?: boolean }

/** What an auditor needs and nothing private: the lines byte for byte, public keys, manifests and policies. */
export async function exportLedger({ data, out, ...options }: Options): Promise<void> {
  const files = await ledgerFiles(data)
  if (existsSync(out) && (await readdir(out)).length > 0) {
    throw new UsageError(`${out} is not empty: nothing is written over`)
  }
  await mkdir(join(out, 'documents'), { recursive: true })
  await writeLines(files, join(out, 'journal.jsonl'))
  const keyring = `${JSON.stringify(exportKeyring(join(data, 'keys')), null, 2)}\n`
  await writeFile(join(out, 'keyring.json'), keyring)
  const published = join(data, 'evidence', 'public')
  const documents = existsSync(published) ? (await readdir(published)).filter(isHex64) : []
  for (const name of documents) await copyFile(join(published, name), join(out, 'documents', name))
  const { bytes, archived: archived_segments } = files
  const done = { out, bytes, documents: documents.length, archived_segments }
  printResult(options, done, () => [
    `${out}: journal.jsonl, keyring.json, ${documents.length} documents`,
    ...(files.archived > 0 ? [`without ${files.archived} archived segments at its beginning`] : []),
    `capsule-gate verify ${join(out, 'journal.jsonl')} --keys ${join(out, 'keyring.json')}`,
    'An auditor pins the keys by another way than this folder.',
  ])
}

/** Whole lines only: what the writer is writing right now is not part of the export. */
async function writeLines(files: LedgerFiles, path: string): Promise<void> {
  const bar = progress('exporting', files.bytes)
  let done = 0
  async function* wholeLines(): AsyncGenerator<Uint8Array> {
    let rest = Buffer.alloc(0)
    for await (const chunk of ledgerSource(files).chunks) {
      const joined = Buffer.concat([rest, chunk])
      const end = joined.lastIndexOf(10) + 1
      rest = Buffer.from(joined.subarray(end))
      done += chunk.length
      bar.update(done)
      if (end > 0) yield joined.subarray(0, end)
    }
  }
  try {
    await pipeline(Readable.from(wholeLines()), createWriteStream(path, { flags: 'wx' }))
  } finally {
    bar.clear()
  }
}
