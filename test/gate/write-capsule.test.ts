import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { plainEntry } from '../../src/core/journal/entry.js'
import type { Parts } from '../../src/gate/context.js'
import { saltedPart } from '../../src/gate/evidence/parts.js'
import { decidedAction, type WrittenWith, writeCapsule } from '../../src/gate/write-capsule.js'
import { PAYMENTS } from '../support/manifests.js'
import { type Rig, rig } from '../support/rig.js'

let at: Rig
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
})
afterAll(() => at.close())

/** Writes a refusal, and returns in which order the ports were called and settled. */
async function order(more: Partial<WrittenWith>): Promise<string[]> {
  const { parts } = at.gate
  const seen: string[] = []
  const watch = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    seen.push(name)
    const result = await work()
    seen.push(`${name} durable`)
    return result
  }
  const watching: Parts = {
    ...parts,
    journal: {
      ...parts.journal,
      append: (entries, options) =>
        watch(entries.map(({ type }) => type).join('+'), () =>
          parts.journal.append(entries, options),
        ),
    },
    evidence: {
      ...parts.evidence,
      put: (record, options) => watch('evidence', () => parts.evidence.put(record, options)),
    },
    state: {
      ...parts.state,
      async settle(_, { kind }) {
        seen.push(kind)
      },
    },
    seam: (name) => {
      seen.push(name)
    },
  }
  const actionId = parts.ids.actionId()
  const timestamp = parts.journal.timestamp()
  const part = saltedPart('vote', 'test', {}, parts)
  await writeCapsule(
    {
      identity: decidedAction(actionId, { operator: 'acme', developer: 'd' }, timestamp),
      verdict: { kind: 'refused', verdict_class: 'denied' },
      constraints: [],
      extensions: {},
    },
    {
      evidence: { actionId, operator: 'acme', subject: null, at: timestamp, parts: [part] },
      ...more,
    },
    watching,
  )
  return seen
}

it('hands evidence over before the line, and waits for both', async () => {
  const seen = await order({})
  expect(seen.slice(0, 3)).toEqual(['before_capsule', 'evidence', 'CAPSULE'])
  expect(seen.slice(3, 5).sort()).toEqual(['CAPSULE durable', 'evidence durable'])
  expect(seen.slice(5)).toEqual(['after_capsule'])
})

it('writes the line only after awaited evidence is durable', async () => {
  expect((await order({ awaited: true })).slice(0, 4)).toEqual([
    'before_capsule',
    'evidence',
    'evidence durable',
    'CAPSULE',
  ])
})

it('announces first, appends further lines with the capsule, and settles last', async () => {
  const announced: string[] = []
  const seen = await order({
    announce: ({ capsule_id }) => announced.push(capsule_id),
    beside: ({ capsule_id }) => [
      plainEntry('REPLAYED', { action_id: 'a', capsule_id, by: announced[0] ?? 'nothing' }),
    ],
    settles: { outcome: 'release', replayable: false },
  })
  expect(announced).toHaveLength(1)
  expect(seen).toContain('CAPSULE+REPLAYED')
  expect(seen.slice(-2)).toEqual(['after_capsule', 'release'])
  const line = (await at.lines()).find(({ type }) => type === 'REPLAYED')
  expect(line).toMatchObject({ by: announced[0] })
})
