import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import { evidenceDigestsOf } from '../../../src/core/journal/evidence-digests.js'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import { createReadiness } from '../../../src/mounts/admin/readiness.js'
import { createMetrics } from '../../../src/mounts/admin/routes/metrics.js'
import { decide, person, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, type RigOptions, refund, rig } from '../../support/rig.js'

/** What a start finds out about evidence that lines must have, on folders that were tampered with. */
const MANIFEST = `${PAYMENTS.replace('    args:', '    capture: full\n    subject: order\n    args:')}`
const SLOT_BYTES = 128

let at: Rig | null = null
afterEach(async () => {
  await at?.close()
  at = null
})

type Told = { readonly ok: boolean; readonly detail: string | null }

/** Calls of every kind: sent and kept, blocked, asked about and approved by a person. */
async function lived(more: Partial<RigOptions> = {}): Promise<Rig> {
  const own = await rig({ manifest: MANIFEST, ...more })
  at = own
  for (const order of ['o-1', 'o-2'])
    await own.gate.govern(refund('5.00', {}, order), tool().dispatch)
  await own.gate.govern(refund('900.00', {}, 'o-1'), tool().dispatch)
  const asked = await own.gate.govern(refund('150.00', {}, 'o-3'), tool().dispatch)
  if (asked.kind !== 'pending') throw new Error(asked.kind)
  await decide(own.gate, asked.actionId, person('dora'), { kind: 'approve' })
  return own
}

const settled = async ({ gate }: Rig): Promise<Told> => {
  for (;;) {
    const { ok, detail } = gate.read.evidenceRecords()
    if (detail !== 'under way') return { ok, detail }
    await new Promise((resolve) => setImmediate(resolve))
  }
}
/** Closes, lets a hand at the files, opens again and waits for what is said of them. */
async function reopenedAfter(own: Rig, change: (evidence: string) => void): Promise<Told> {
  const { dir } = own
  await own.gate.close()
  change(join(dir, 'data', 'evidence'))
  at = await rig({ manifest: MANIFEST }, dir)
  return settled(at)
}
const told = (event: string) => at?.reports.filter((one) => one.event === event) ?? []

/** Readiness, the gauge and the events agree, and calls are still judged. */
async function expectTold(state: 'missing' | 'damaged'): Promise<void> {
  if (at === null) throw new Error('no gate')
  const { gate } = at
  const ready = await createReadiness({ gate, upstreams: {} })()
  expect(ready).toContainEqual({ name: 'evidence_records', ok: false, detail: expect.any(String) })
  const absent = gate.read.evidenceAbsent()
  expect(absent[state]).toBeGreaterThan(0)
  const metrics = createMetrics({ now: Date.now })
  metrics.watch(gate)
  expect(await metrics.text()).toContain(`gate_evidence_absent{state="${state}"} ${absent[state]}`)
  expect(told(`evidence_${state}`)).toHaveLength(1)
  expect(told('evidence_incomplete')).toHaveLength(1)
  const answer = await gate.govern(refund('5.00', {}, 'after'), tool().dispatch)
  expect(answer.kind).toBe('executed')
}

function slots(evidence: string, change: (slot: Buffer, number: number) => void): void {
  const file = join(evidence, 'keys')
  const bytes = readFileSync(file)
  for (let n = 1; n * SLOT_BYTES < bytes.length; n++) {
    change(bytes.subarray(n * SLOT_BYTES, (n + 1) * SLOT_BYTES), n)
  }
  writeFileSync(file, bytes)
}
/** As an erased slot looks; the checksum needs no key. */
function tombstone(slot: Buffer): void {
  slot[0] = 2
  slot.fill(0, 20, SLOT_BYTES)
  slot.writeUInt32BE(crc32(slot.subarray(0, SLOT_BYTES - 4)), SLOT_BYTES - 4)
}

describe('evidence that lines must have', () => {
  it('is all there after ordinary calls, votes and restarts', async () => {
    const own = await lived()
    const told = await reopenedAfter(own, () => undefined)
    expect(told).toEqual({ ok: true, detail: null })
    expect(at?.gate.read.evidenceAbsent()).toEqual({ missing: 0, damaged: 0 })
    expect(at?.reports.filter(({ event }) => event.startsWith('evidence_'))).toEqual([])
  })

  it('is seen to be missing when a segment was deleted', async () => {
    const own = await lived()
    const said = await reopenedAfter(own, (evidence) => {
      const folder = join(evidence, 'segments')
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    })
    expect(said).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^\d+ missing, 0 damaged/),
    })
    const lines = (await at?.lines()) ?? []
    const digests = lines.flatMap((raw) => {
      const line = readLine(raw)
      return line === null ? [] : evidenceDigestsOf(line).map(({ digest }) => digest)
    })
    // All but those of the start itself, which came after the deletion.
    const present = await at?.gate.data.evidence.inIndex(digests)
    const gone = present?.filter(({ state }) => state === 'missing').length ?? 0
    expect(gone).toBeGreaterThan(10)
    expect(at?.gate.read.evidenceAbsent().missing).toBe(gone)
    await expectTold('missing')
  })

  it('is told as missing of a call that a person was asked about: call, document and vote', async () => {
    const own = await lived()
    const [asked] = await own.gate.parts.state.approvals()
    if (asked === undefined) throw new Error('nothing was asked')
    const { approvalId, documentDigest, votes } = asked
    const said = String(votes[0]?.evidenceDigest)
    expect(await own.gate.read.absentEvidence(approvalId)).toEqual([])
    await reopenedAfter(own, (evidence) => {
      const file = join(evidence, 'segments', '0000000001.seg')
      const bytes = readFileSync(file)
      writeFileSync(file, bytes.subarray(0, bytes.lastIndexOf('CGE1')))
    })
    const gone = { state: 'missing', line: null }
    expect(await at?.gate.read.absentEvidence(approvalId)).toEqual([
      { member: 'evidence_digest', digest: said, ...gone },
    ])
    await reopenedAfter(at as Rig, (evidence) => {
      const folder = join(evidence, 'segments')
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    })
    const absent = (await at?.gate.read.absentEvidence(approvalId)) ?? []
    expect(absent.length).toBeGreaterThan(3)
    expect(absent).toEqual(
      expect.arrayContaining([
        { member: 'document_digest', digest: documentDigest, ...gone },
        { member: 'evidence_digest', digest: said, ...gone },
      ]),
    )
  })

  it('is told of a digest itself, with the line that erased it', async () => {
    const own = await lived()
    const [sent] = await own.capsules()
    const digest = String(sent?.capsule.constraints?.[0]?.evidence_digest)
    expect(await own.gate.read.absentEvidence(digest)).toEqual([])
    expect(await own.gate.read.absentEvidence('f'.repeat(64))).toEqual([])
    await own.gate.erase({ subject: 'o-1' }, 'olga')
    await reopenedAfter(own, () => undefined)
    const line = (await at?.lines())?.findLast(({ type }) => type === 'EVIDENCE_ERASED')
    const of = { member: 'this digest', digest }
    expect(await at?.gate.read.absentEvidence(digest)).toEqual([
      { ...of, state: 'erased', line: { seq: line?.seq, at: line?.at } },
    ])
  })

  it('is seen to be damaged when the bytes of a record were changed', async () => {
    const own = await lived()
    const said = await reopenedAfter(own, (evidence) => {
      const file = join(evidence, 'segments', '0000000001.seg')
      const bytes = readFileSync(file)
      const second = bytes.indexOf('CGE1', 4)
      const third = bytes.indexOf('CGE1', second + 4)
      bytes.writeUInt8((bytes.at(third - 40) ?? 0) ^ 1, third - 40)
      writeFileSync(file, bytes)
    })
    expect(said).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^0 missing, \d+ damaged/),
    })
    await expectTold('damaged')
  })

  it('is seen to be damaged when a key was overwritten', async () => {
    const own = await lived()
    const said = await reopenedAfter(own, (evidence) =>
      slots(evidence, (slot, n) => n === 2 && slot.fill(7)),
    )
    expect(said).toMatchObject({ ok: false, detail: expect.stringContaining('key 2 is damaged') })
    await expectTold('damaged')
  })

  it('is missing when its key was destroyed and no line says so', async () => {
    const own = await lived()
    const said = await reopenedAfter(own, (evidence) => slots(evidence, tombstone))
    expect(said).toMatchObject({ ok: false, detail: expect.stringContaining('no line says so') })
    await expectTold('missing')
  })

  it('is not missing when it was erased, and that explains no other key', async () => {
    const own = await lived()
    await own.gate.erase({ subject: 'o-1' }, 'olga')
    const key = await own.gate.data.evidence.keyOf({ subject: 'o-2' })
    expect(key).toMatch(/^[0-9a-f]{32}$/)
    const said = await reopenedAfter(own, () => undefined)
    expect(said).toEqual({ ok: true, detail: null })
    // Erased on purpose, and another key destroyed behind its back: one explains nothing of the other.
    const again = await reopenedAfter(at as Rig, (evidence) => {
      slots(evidence, (slot) => slot.subarray(4, 20).toString('hex') === key && tombstone(slot))
    })
    expect(again).toMatchObject({ ok: false, detail: expect.stringContaining('no line says so') })
  })

  it('is found for more lines than are compared at once', async () => {
    const own = await lived()
    for (let n = 0; n < 60; n++) {
      await own.gate.govern(
        refund(n % 3 === 0 ? '900.00' : '5.00', {}, `many-${n}`),
        tool().dispatch,
      )
    }
    expect(await reopenedAfter(own, () => undefined)).toEqual({ ok: true, detail: null })
  })
})

describe('what people said about a call', () => {
  async function asked(own: Rig, order: string): Promise<string> {
    const answer = await own.gate.govern(refund('150.00', {}, order), tool().dispatch)
    if (answer.kind !== 'pending') throw new Error(answer.kind)
    return answer.actionId
  }
  const evidenceOf = async (own: Rig, type: string): Promise<readonly string[]> =>
    (await own.lines()).flatMap((raw) => {
      const line = readLine(raw)
      return line?.type === type ? evidenceDigestsOf(line).map(({ digest }) => digest) : []
    })
  const statesOf = async (own: Rig, digests: readonly string[]): Promise<readonly string[]> =>
    (await own.gate.data.evidence.inIndex(digests)).map(({ state }) => state)

  it('goes with its subject, and what was said about others stays', async () => {
    const own = await rig({ manifest: MANIFEST })
    at = own
    const approve = { kind: 'approve' } as const
    const deny = { kind: 'deny', reason: 'Anna asked twice' } as const
    await decide(own.gate, await asked(own, 'anna'), person('dora'), approve)
    await decide(own.gate, await asked(own, 'bert'), person('dora'), approve)
    const votes = await evidenceOf(own, 'APPROVAL_VOTED')
    expect(await statesOf(own, votes)).toEqual(['present', 'present', 'present', 'present'])
    await own.gate.erase({ subject: 'anna' }, 'olga')
    expect(await statesOf(own, votes)).toEqual(['erased', 'erased', 'present', 'present'])

    const refused = await asked(own, 'cleo')
    await decide(own.gate, refused, person('dora'), deny)
    const decider = person('olga', { roles: ['operator'] })
    expect(await own.gate.reopen(refused, { decider, reason: 'Cleo called' })).toMatchObject({
      kind: 'reopened',
    })
    const blocked = await own.gate.govern(refund('900.00', {}, 'cleo'), tool().dispatch)
    if (blocked.kind !== 'refused') throw new Error(blocked.kind)
    const by = { person: { name: 'olga', assurance: 'L1' }, reason: 'Cleo knows' } as const
    const closed = await own.gate.closeBlocked(blocked.capsuleId, by)
    if (closed.kind !== 'closed') throw new Error(closed.kind)
    const said = [
      ...(await evidenceOf(own, 'APPROVAL_VOTED')).slice(4),
      ...(await evidenceOf(own, 'REFUSAL_LIFTED')),
    ]
    expect(said).toHaveLength(3)
    await own.gate.erase({ subject: 'cleo' }, 'olga')
    expect(await statesOf(own, said)).toEqual(['erased', 'erased', 'erased'])
    const closing = await own.gate.data.evidence.byAction(closed.actionId)
    expect(closing.state).toBe('erased')
    expect(await reopenedAfter(own, () => undefined)).toEqual({ ok: true, detail: null })
  })
})
