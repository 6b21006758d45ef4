import { readSignedHead, type SignedHead } from '../../core/journal/head.js'
import type { Head } from '../../ports/journal.js'
import { nodeCrypto } from '../crypto-node.js'
import type { Cursor } from './chain.js'
import type { Cover } from './cover.js'
import { JournalError } from './error.js'
import { type KeptHead, readHeadFile } from './head-file.js'
import type { JournalOptions, JournalReport } from './model.js'

/** A head that was written to the second place: line `seq` had that hash, and a head behind it said so. */
export type SecondHead = Head & {
  /** Null for one of version 1, which nothing signed. */
  readonly signed: SignedHead | null
}

/** What the second place knows of this journal; null without one, or before its first head. */
export async function readSecondHead(
  { headFile, origin, keys }: JournalOptions,
  report: (report: JournalReport) => void,
  hasLines = true,
): Promise<SecondHead | null> {
  if (headFile === null) return null
  const kept = await readHeadFile(headFile, hasLines)
  if (kept === null) return null
  const { newest, older, damage } = kept
  // The older one is not needed, but who changed it could write to the file.
  if (older !== null) headOf(older, headFile, origin, keys)
  const second = headOf(newest, headFile, origin, keys)
  if (damage !== null) report({ kind: 'head_file_damaged', file: headFile, why: damage })
  return second
}

function headOf(
  kept: KeptHead,
  headFile: string,
  origin: string,
  keys: JournalOptions['keys'],
): SecondHead {
  if (kept.origin !== origin) {
    throw new JournalError('foreign_origin', 'the second head is of another journal', {
      file: headFile,
      expected: `origin ${origin}`,
      found: `origin ${kept.origin}`,
    })
  }
  if (kept.signed === null) return { seq: kept.seq, hash: kept.hash, signed: null }
  const check = readSignedHead(kept.signed, keys, nodeCrypto)
  if (check.ok) return { seq: check.head.upto, hash: check.head.hash, signed: check.head }
  throw new JournalError(
    'head_file',
    `the second head was not written by this gate (${check.why}). Find out who changed it; to start without it, ` +
      'move it away and use --accept-missing-head once',
    { file: headFile },
  )
}

/** The journal must reach its second head, and one that has lines must have one. */
export function checkSecond(
  { headFile, acceptMissingHead = false }: JournalOptions,
  base: Cursor,
  second: SecondHead | null,
  { cursor: end, head }: Pick<Cover, 'cursor' | 'head'>,
  report: (report: JournalReport) => void,
): void {
  if (headFile === null) return
  if (second?.signed) {
    if (second.seq === base.seq) checkAgainstHead(second, base.prev, headFile)
    // The line that carried it stands behind the line it names.
    if (second.seq > 0 && second.seq >= end.seq) {
      throw behind(headFile, 'the second head', second.seq + 1, end.seq)
    }
    // After a stop it is the newest one: lines cut off between the two would not show.
    if (head !== null && second.seq < head.upto) {
      report({ kind: 'head_file_behind', file: headFile, upto: second.seq, newest: head.upto })
    }
    return
  }
  if (end.seq === 0) return
  if (acceptMissingHead) {
    report({ kind: 'head_file_missing', file: headFile })
    return
  }
  throw new JournalError(
    'head_missing',
    `the journal has ${end.seq} lines, but its second head ${second === null ? 'is not there' : 'is not signed'}: ` +
      'without it nothing shows whether lines are missing at the end. Put it back; if there never was one here, or ' +
      'it is lost, compare the journal with a copy and start once with --accept-missing-head',
    { file: headFile },
  )
}

/** For the line of that number, wherever it is read. */
export function checkAgainstHead(second: Head, hash: string, file: string): void {
  if (hash === second.hash) return
  throw new JournalError('forked', `line ${second.seq} is not the one the second head names`, {
    file,
    expected: `hash ${second.hash}`,
    found: `hash ${hash}`,
  })
}

export const behind = (file: string, witness: string, known: number, found: number): JournalError =>
  new JournalError(
    'behind',
    `the journal is older than ${witness}: lines are missing, as after restoring an older copy. Put the newest copy back`,
    { file, expected: `line ${known}`, found: `line ${found} as the last` },
  )
