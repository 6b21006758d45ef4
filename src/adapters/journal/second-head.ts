import type { Head } from '../../ports.js'
import { JournalError } from './error.js'
import { readHeadFile } from './head-file.js'
import type { JournalOptions, JournalReport } from './model.js'

/** What the second place knows of this journal; null without one, or before its first head. */
export async function readSecondHead(
  { headFile, origin }: JournalOptions,
  fresh: boolean,
  report: (report: JournalReport) => void,
): Promise<Head | null> {
  if (headFile === null) return null
  const second = await readHeadFile(headFile)
  if (second === null) {
    if (!fresh) report({ kind: 'head_file_missing', file: headFile })
    return null
  }
  if (second.origin === origin) return second
  throw new JournalError('foreign_origin', 'the second head is of another journal', {
    file: headFile,
    expected: `origin ${origin}`,
    found: `origin ${second.origin}`,
  })
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
