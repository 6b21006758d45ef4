import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import {
  absentEvidence,
  describeAbsent,
  dueIn,
  findEvidence,
  knownDue,
} from '../../../src/gate/evidence/find.js'
import type { Evidence } from '../../../src/ports/evidence.js'
import { decide, person, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

const HEX = 'a'.repeat(64)

let at: Rig
let actionId: string
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  actionId = Object(await at.gate.govern(refund('150'), tool().dispatch)).actionId
  await decide(at.gate, actionId, person('alice'), { kind: 'approve' })
})
afterAll(() => at.close())

describe('findEvidence', () => {
  it('takes an action id for all its parts, and a digest for the one part', async () => {
    const { evidence } = at.gate.data
    const all = await findEvidence(actionId, evidence)
    if (all.state !== 'present') throw new Error(all.state)
    expect(all.value.length).toBeGreaterThan(3)
    const digest = all.value[0]?.digest ?? ''
    expect(await findEvidence(digest, evidence)).toMatchObject({ value: [{ digest }] })
    expect(await findEvidence(HEX, evidence)).toEqual({ state: 'missing' })
  })
})

describe('what is due', () => {
  it('is the same by the index as by all lines of the journal, votes and document included', async () => {
    const lines = (await at.lines()).flatMap((raw) => readLine(raw) ?? [])
    const digests = (due: readonly { digest: string }[]) =>
      [...new Set(due.map(({ digest }) => digest))].sort()
    const byLines = digests(lines.flatMap((line) => dueIn(line, actionId)))
    expect(byLines.length).toBeGreaterThan(3)
    expect(digests(await knownDue(actionId, at.gate.parts))).toEqual(byLines)
  })

  it('of a digest is that digest, if the store has it', async () => {
    const [first] = await knownDue(actionId, at.gate.parts)
    const digest = first?.digest ?? ''
    expect(await knownDue(digest, at.gate.parts)).toEqual([{ member: 'this digest', digest }])
    expect(await knownDue(HEX, at.gate.parts)).toEqual([])
  })
})

describe('absentEvidence', () => {
  const part = { digest: HEX, kind: 'reason' } as const
  const store = (
    state: 'present' | 'erased' | 'damaged',
  ): Pick<Evidence, 'byDigest' | 'inIndex'> => ({
    byDigest: async () => ({ state, value: part, detail: '' }),
    inIndex: async () => [{ state, key: 'k-1', detail: '' }],
  })
  const due = [
    { member: 'reason_digest', digest: HEX },
    { member: 'document_digest', digest: HEX },
  ]
  const LINE = { seq: 7, at: '2026-03-01T12:00:00.000Z' }
  const ERASURE = { ...LINE, records: 1, names: null }

  it.each([
    ['present', ERASURE, []],
    ['damaged', ERASURE, [{ state: 'damaged', line: null }]],
    ['erased', ERASURE, [{ state: 'erased', line: LINE }]],
    // No line erased the key: it was destroyed on disk.
    ['erased', null, [{ state: 'missing', line: null }]],
    // Not read that far yet.
    ['erased', undefined, [{ state: 'erased', line: null }]],
  ] as const)('%s, erased by %j', async (state, line, expected) => {
    expect(await absentEvidence(due, store(state), () => line)).toMatchObject(expected)
  })
})

it('describes the first of what is absent, and counts the others', () => {
  const one = { member: 'reason_digest', digest: HEX, state: 'erased' } as const
  const line = { seq: 7, at: '2026-03-01T12:00:00.000Z' }
  expect(
    describeAbsent('a-1', [
      { ...one, line },
      { ...one, line },
    ]),
  ).toBe(
    'The evidence of reason_digest is erased by line 7 of 2026-03-01T12:00:00.000Z, and 1 more.',
  )
  expect(describeAbsent('a-1', [])).toMatch(/^There is no evidence of this action/)
  expect(describeAbsent(HEX, [])).toMatch(/^No record has this digest/)
})
