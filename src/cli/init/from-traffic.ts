import { OBSERVE_ALL } from '../../app/judges/observe-all.js'
import { FORWARDED_BY_DEFAULT } from '../../core/manifest/route/headers.js'
import { type Folder, withData } from '../access/data-folder.js'
import { UsageError } from '../output/print.js'
import { type Written, writeManifest } from './draft.js'
import { observedCalls, type Skipped } from './observed.js'
import { createRehearsal } from './rehearse.js'
import { createLearner } from './traffic.js'

/** A manifest from what a gate recorded; then every call again, read as the written one reads it. */
export function fromTraffic(folder: Folder, id: string): Promise<Written> {
  const { data } = folder
  return withData(folder, 'stop it first', async (opened) => {
    const skipped: Skipped = { refused: 0, notKept: 0 }
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
      for await (const call of observedCalls(data, opened, { refused: 0, notKept: 0 })) {
        const why = rehearse(call)
        if (why !== null) refused.set(why, (refused.get(why) ?? 0) + 1)
      }
    }
    const lost = [
      ...learned.lost,
      ...written.lost,
      ...[...refused].map(([why, n]) => `${n} of the calls seen would be refused: ${why}`),
      ...skippedLines(skipped),
      `headers ${NO_LONGER.join(', ')}: forwarded while observing; list them in forward_headers where the API needs them`,
    ]
    return { ...written, lost }
  })
}

function skippedLines({ refused, notKept }: Skipped): readonly string[] {
  return [
    ...(refused === 0
      ? []
      : [`${refused} calls: the API did not carry them out; not learned from`]),
    ...(notKept === 0 ? [] : [`${notKept} calls: their requests were not kept`]),
  ]
}

const forwarded: ReadonlySet<string> = new Set(FORWARDED_BY_DEFAULT)
const NO_LONGER = (OBSERVE_ALL.rules[0]?.forward_headers ?? []).filter(
  (name) => !forwarded.has(name),
)
