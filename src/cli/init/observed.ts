import { join } from 'node:path'
import { readJournal } from '../../adapters/journal/read/read-journal.js'
import type { Data } from '../../app/data/open.js'
import { readCapturedHead } from '../../core/call/capture.js'
import { readLine } from '../../core/journal/vocabulary.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Observed } from './traffic.js'

export type Skipped = { refused: number; notKept: number }

/** Calls that the API carried out, oldest first, from the journal and the evidence beside it. */
export async function* observedCalls(
  folder: string,
  { evidence }: Pick<Data, 'evidence'>,
  skipped: Skipped,
): AsyncGenerator<Observed> {
  for await (const { line: raw } of readJournal(join(folder, 'journal'))) {
    const line = readLine(raw)
    if (line?.type !== 'CAPSULE') continue
    const { action_id, action_type, effect } = line.capsule
    if (action_type !== 'decide' || effect === undefined) continue
    // A path that the API does not have, a body it would not take: nothing to write a tool from.
    if (effect.status !== 'confirmed') {
      skipped.refused++
      continue
    }
    const kept = await evidence.byAction(action_id)
    const call = kept.state === 'present' ? callOf(kept.value) : null
    if (call === null) skipped.notKept++
    else yield call
  }
}

function callOf(parts: readonly EvidencePart[]): Observed | null {
  const body = parts.find(({ kind }) => kind === 'request')?.bytes
  const frozen = parts.find(({ kind, name }) => kind === 'frozen' && name === 'head')?.bytes
  const head = frozen === undefined ? null : readCapturedHead(frozen)
  if (body === undefined || head === null) return null
  return { method: head.method, target: head.target, contentType: head.content_type, body }
}
