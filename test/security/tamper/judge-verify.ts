import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { headFileDamage } from '../../../src/cli/ledger/verify.js'
import type { Crypto } from '../../../src/core/crypto/crypto.js'
import { type JournalResult, verifyLedger } from '../../../src/verify.js'
import { type Files, HEAD_FILE, journalOf, segments } from './folder.js'
import type { World } from './operations/operation.js'
import { isHead, rowsOf } from './rows.js'

/** What an auditor's commands say of a folder, and whether they may say it. */
export type VerifyJudge = {
  /** Null where all is as it must be; else what is not. */
  judge(files: Files): Promise<string | null>
  /** How the answers were, by kind. */
  readonly counts: Record<string, number>
  close(): void
}

/** Most lines of a case are the honest ones: each signature is checked once, whatever number of cases has it. */
export function rememberingCrypto(crypto: Crypto = nodeCrypto): Crypto {
  const known = new Map<string, boolean>()
  return {
    ...crypto,
    verifyEd25519(publicKey, message, signature) {
      const parts = [publicKey, message, signature].map((each) =>
        Buffer.from(each.buffer, each.byteOffset, each.byteLength).toString('latin1'),
      )
      const key = parts.join('\n')
      const before = known.get(key)
      if (before !== undefined) return before
      const holds = crypto.verifyEd25519(publicKey, message, signature)
      known.set(key, holds)
      return holds
    },
  }
}

export function createVerifyJudge(world: World, crypto: Crypto = rememberingCrypto()): VerifyJudge {
  const { story, keyring } = world
  const honest = journalOf(story.files)
  const heads = headsOf(story.files)
  const newestFile = story.files.get(HEAD_FILE) as Buffer
  const newest = newestFile.toString('latin1')
  const headPath = join(mkdtempSync(join(tmpdir(), 'gate-tamper-head-')), 'head')
  const counts: Record<string, number> = {}
  const options = { crypto, keys: keyring }
  let asked = 0
  const count = (kind: string): void => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }

  /** Complete up to an older head, and told so: the one thing that cannot be seen from the file alone. */
  function cutFault(journal: Buffer, { complete }: JournalResult): string | null {
    const head = heads.get(journal.length)
    if (head === undefined || !honest.subarray(0, journal.length).equals(journal)) {
      return 'verify accepts it, and it is no cut back to a signed head'
    }
    const told = complete.ok && complete.upto === head.upto && complete.time === head.time
    return told
      ? null
      : `verify does not tell up to which head it is whole: ${JSON.stringify(complete)}`
  }

  async function judge(files: Files): Promise<string | null> {
    const journal = journalOf(files)
    const same = journal.equals(honest)
    const plain = verifyLedger(journal, options).journal
    const status = plain?.status ?? 'no journal'
    count(same ? 'lines unchanged' : status === 'valid' ? 'cut back to a head' : status)
    if (status === 'valid' && plain !== null && !same) {
      const fault = cutFault(journal, plain)
      if (fault !== null) return fault
    }
    if (same && status !== 'valid') return `verify refuses lines that are unchanged: ${status}`
    // A head that is given adds a check and takes none away: where lines are broken already, a share is tried.
    const tried = status !== 'invalid' || asked++ % 8 === 0
    if (
      !same &&
      tried &&
      verifyLedger(journal, { ...options, head: newest }).journal?.status === 'valid'
    ) {
      return 'verify accepts it although the newest head is given'
    }
    return folderFault(files, journal, same)
  }

  /** `ledger verify`: the folder's own second head, and the seals that indexes keep of archived segments. */
  async function folderFault(files: Files, journal: Buffer, same: boolean): Promise<string | null> {
    const head = files.get(HEAD_FILE)
    // With the newest one it is what was judged before, and without one the command never says 0. Without the first
    // segments it says that they were archived: their seals are kept, and nothing tells deleting from archiving.
    if (same || head === undefined || head.equals(newestFile) || segments(files)[0] !== 1)
      return null
    const read = verifyLedger(journal, { ...options, head: head.toString('utf8') })
    if (read.journal?.status !== 'valid') return null
    writeFileSync(headPath, head)
    if ((await headFileDamage(headPath, keyring)) !== null) return null
    // The second head went back together with the journal: no other head is given.
    const isOlder = story.earlier.some((each) => each.head.equals(head))
    return heads.has(journal.length) && isOlder
      ? null
      : 'ledger verify accepts it with a second head that was changed'
  }

  return { judge, counts, close: () => rmSync(dirname(headPath), { recursive: true }) }
}

/** Heads of the honest journal by the number of octets up to them. */
function headsOf(
  files: Files,
): ReadonlyMap<number, { readonly upto: number; readonly time: string }> {
  const found = new Map<number, { upto: number; time: string }>()
  let octets = 0
  for (const row of rowsOf(files) ?? []) {
    octets += row.text.length + 1
    if (isHead(row)) found.set(octets, JSON.parse(row.text) as { upto: number; time: string })
  }
  return found
}
