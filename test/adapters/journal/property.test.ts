import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { allLines, checkChain, checkHeads, makePlace, type Place, rawLines } from './harness.js'

let place: Place | null = null
afterEach(async () => {
  await place?.clean()
  place = null
})

type Step =
  | { readonly kind: 'append'; readonly calls: readonly (readonly unknown[])[] }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'snapshot' }

const member = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.integer(),
  fc.jsonValue(),
)
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('append' as const),
        calls: fc.array(fc.array(member, { maxLength: 4 }), { maxLength: 12 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('snapshot' as const) }) },
  ),
  { maxLength: 12 },
) as fc.Arbitrary<Step[]>

describe('whatever is appended, in whatever batches, segments and lifetimes', () => {
  it('reads back in order, links, seals and survives', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 12_000 }), async (script, segmentBytes) => {
        place = await makePlace()
        const options = { segmentBytes, reserveBytes: 0 }
        let journal = await place.open(options)
        const expected: unknown[] = []
        let snapshotAt: number | null = null
        for (const step of script) {
          if (step.kind === 'append') {
            const given = step.calls.map((call) =>
              call.map((value) => ({ type: 'NOTE', json: JSON.stringify({ value }) })),
            )
            const done = await Promise.all(given.map((entries) => journal.append(entries)))
            expect(done.map((lines) => lines.length)).toEqual(
              given.map((entries) => entries.length),
            )
            for (const call of step.calls) expected.push(...call)
          } else if (step.kind === 'snapshot') {
            await journal.writeSnapshot({ seen: expected.length })
            snapshotAt = expected.length
          } else {
            await journal.close()
            journal = await place.open(options)
            expect(journal.snapshot?.state ?? null).toEqual(
              snapshotAt === null ? null : { seen: snapshotAt },
            )
          }
        }
        const head = journal.head()
        const lines = await allLines(journal)
        const notes = lines.filter(({ type }) => type === 'NOTE')
        const plain = JSON.parse(JSON.stringify(expected))
        expect(notes.map(({ value }) => value)).toEqual(plain)
        await journal.close()
        const raw = await rawLines(place.dir)
        checkChain(raw)
        expect(raw.map((text) => JSON.parse(text))).toEqual(lines)
        expect(head.seq).toBe(raw.length)
        checkHeads(raw)
        journal = await place.open(options)
        expect(journal.head()).toEqual(head)
        expect(await journal.verified).toMatchObject({ damage: null })
        expect(place.reports).toEqual([])
        await place.clean()
      }),
      { numRuns: 40 },
    )
  }, 120_000)
})

describe('find', () => {
  it('equals a full reading, in every segment, before and after the indexes are on disk', async () => {
    const id = fc.integer({ min: 0, max: 9 }).map((n) => `action-${n}`)
    await fc.assert(
      fc.asyncProperty(
        fc.array(id, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 9000 }),
        async (ids, segmentBytes) => {
          place = await makePlace()
          let journal = await place.open({ segmentBytes, reserveBytes: 0 })
          for (const [n, action_id] of ids.entries()) {
            const capsule = { action_id, capsule_id: `capsule-${n}` }
            await journal.append([
              n % 2 === 0
                ? { type: 'ACTION_DISPATCHED', json: JSON.stringify({ action_id }) }
                : { type: 'CAPSULE', json: JSON.stringify({ capsule }) },
            ])
          }
          for (let lifetime = 0; lifetime < 2; lifetime++) {
            const lines = (await allLines(journal)).toReversed()
            for (const wanted of new Set([...ids, 'capsule-1', 'nobody'])) {
              const expected = lines.filter((line) => {
                const capsule = line.capsule as
                  | { action_id: string; capsule_id: string }
                  | undefined
                return [line.action_id, capsule?.action_id, capsule?.capsule_id].includes(wanted)
              })
              expect(await journal.find(wanted)).toEqual(expected)
            }
            await journal.close()
            if (lifetime === 0) journal = await place.open({ segmentBytes })
          }
          await place.clean()
        },
      ),
      { numRuns: 25 },
    )
  }, 120_000)
})
