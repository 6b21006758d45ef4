import { join } from 'node:path'
import { readJournal } from '../../../adapters/journal/read/read-journal.js'
import { OBSERVE_ALL } from '../../../app/judges/observe-all.js'
import { readCapturedHead } from '../../../core/call/capture.js'
import { readLine } from '../../../core/journal/vocabulary.js'
import { FORWARDED_BY_DEFAULT } from '../../../core/manifest/route/headers.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import { type Folder, type OpenedFolder, withData } from '../../access/data-folder.js'
import { UsageError } from '../../output/print.js'
import { type Written, writeManifest } from '../draft.js'
import { createLearner, type Observed } from './learn.js'
import { createRehearsal } from './rehearse.js'

/** A manifest from what a gate recorded; then every call again, read as the written one reads it. */
export function fromTraffic(folder: Folder, id: string): Promise<Written> {
  const { data } = folder
  return withData(folder, 'stop it first', async (opened) => {
    const skipped = { refused: 0, notKept: 0 }
    const learner = createLearner()
    let calls = 0
    for await (const call of observedCalls(data, opened, skipped)) {
      learner.see(call)
      calls++
    }
    if (calls === 0) {
      throw new UsageError(
        `${data} holds no call that was answered with success and whose request was kept (serve --upstream URL --observe)`,
      )
    }
    const learned = learner.tools()
    const written = writeManifest(id, learned.tools)
    const refused = new Map<string, number>()
    if (written.tools.length > 0) {
      const rehearse = createRehearsal(written.text)
      for await (const call of observedCalls(data, opened)) {
        const why = rehearse(call)
        if (why !== null) refused.set(why, (refused.get(why) ?? 0) + 1)
      }
    }
    const counted = (count: number, what: string): string[] =>
      count === 0 ? [] : [`${count} calls: ${what}`]
    const lost = [
      ...learned.lost,
      ...written.lost,
      ...[...refused].map(([why, n]) => `${n} of the calls seen would be refused: ${why}`),
      ...counted(skipped.refused, 'the API did not carry them out; not learned from'),
      ...counted(skipped.notKept, 'their requests were not kept'),
      `headers ${NO_LONGER.join(', ')}: forwarded while observing; list them in forward_headers where the API needs them`,
    ]
    return { ...written, lost }
  })
}

const forwarded: ReadonlySet<string> = new Set(FORWARDED_BY_DEFAULT)
const NO_LONGER = (OBSERVE_ALL.rules[0]?.forward_headers ?? []).filter(
  (name) => !forwarded.has(name),
)

/** Calls that the API carried out, oldest first, from the journal and the evidence beside it. */
async function* observedCalls(
  folder: string,
  { evidence }: OpenedFolder,
  skipped = { refused: 0, notKept: 0 },
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
