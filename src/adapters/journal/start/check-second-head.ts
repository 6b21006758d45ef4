import { GateError } from '../../../core/error.js'
import { readSignedHead } from '../../../core/journal/head.js'
import type { Head } from '../../../ports/journal.js'
import { nodeCrypto } from '../../crypto-node.js'
import type { JournalOptions, Report, Trust } from '../model.js'
import type { Cursor } from '../read/chain.js'
import type { Cover } from './cover.js'
import { type KeptHead, readHeadFile } from './second-head-file.js'

/** The newest head that the second file keeps of this journal; null without one, or before its first head. */
export async function readSecondHead(
  { headFile, origin, keys }: Pick<JournalOptions, 'headFile'> & Trust,
  report: Report,
  hasLines = true,
): Promise<KeptHead | null> {
  if (headFile === null) return null
  const kept = await readHeadFile(headFile, hasLines)
  if (kept === null) return null
  const { newest, older, damage } = kept
  // The older one is not needed, but where it was changed, the file could be written to.
  for (const head of [older, newest]) if (head !== null) checkHead(head, headFile, { origin, keys })
  if (damage !== null) report({ kind: 'head_file_damaged', file: headFile, why: damage })
  return newest
}

function checkHead(kept: KeptHead, file: string, { origin, keys }: Trust): void {
  if (kept.origin !== origin) {
    throw new GateError('foreign_origin', 'the second head is of another journal', {
      file,
      expected: `origin ${origin}`,
      found: `origin ${kept.origin}`,
    })
  }
  const check = kept.signed === null ? null : readSignedHead(kept.signed, keys, nodeCrypto)
  if (check === null || check.ok) return
  throw new GateError(
    'head_file',
    `the second head was not written by this gate (${check.why}). Find out who changed it; to start without it, ` +
      'move it away and use --accept-missing-head once',
    { file },
  )
}

/** The journal must reach its second head, and one that has lines must have one. */
export function checkSecond(
  { headFile, acceptMissingHead = false }: JournalOptions,
  base: Cursor,
  second: KeptHead | null,
  { cursor: end, head }: Pick<Cover, 'cursor' | 'head'>,
  report: Report,
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
  throw new GateError(
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
  throw new GateError('forked', `line ${second.seq} is not the one the second head names`, {
    file,
    expected: `hash ${second.hash}`,
    found: `hash ${hash}`,
  })
}

export const behind = (file: string, witness: string, known: number, found: number): GateError =>
  new GateError(
    'behind',
    `the journal is older than ${witness}: lines are missing, as after restoring an older copy. Put the newest copy back`,
    { file, expected: `line ${known}`, found: `line ${found} as the last` },
  )
