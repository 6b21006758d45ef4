import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { eraseEvidence } from '../../../src/gate/operate/erase.js'
import { tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

let at: Rig
beforeEach(async () => {
  at = await rig({ manifest: `${PAYMENTS}    subject: order\n` })
})
afterEach(() => at.close())
const erasures = async () =>
  (await at.lines()).filter(({ type }) => type.startsWith('EVIDENCE_')).map((line) => Object(line))
const refuseOne = (order: string) => at.gate.govern(refund('600', {}, order), tool().dispatch)

it('destroys the evidence of one subject, and says so before and after', async () => {
  const [gone, kept] = [Object(await refuseOne('o-1')), Object(await refuseOne('o-2'))]
  expect(await at.gate.erase({ subject: 'o-1' }, 'olga')).toEqual({ records: 1 })
  const [before, after] = await erasures()
  expect([before.type, after.type]).toEqual(['EVIDENCE_ERASING', 'EVIDENCE_ERASED'])
  expect(after).toMatchObject({ records: 1, key: before.key, actor: before.actor })
  expect(after.names_digest).toMatch(/^[0-9a-f]{64}$/)
  const { evidence } = at.gate.data
  expect((await evidence.byAction(gone.actionId)).state).toBe('erased')
  expect((await evidence.byAction(kept.actionId)).state).toBe('present')
})

it('names neither the subject nor the person in its lines, and the subject nowhere', async () => {
  await refuseOne('o-private')
  await at.gate.erase({ subject: 'o-private' }, 'olga')
  const lines = await erasures()
  expect(JSON.stringify(lines)).not.toMatch(/o-private|olga/)
  const { subject_tag, evidence_digest } = lines[0]
  expect(subject_tag).toBe(at.gate.parts.tenant.subjectTag('o-private'))
  const found = await at.gate.data.evidence.byDigest(evidence_digest)
  if (found.state !== 'present') throw new Error(found.state)
  expect(found.value.value).toMatchObject({ did: 'ERASE', name: 'olga', scope: { subject_tag } })
  expect(JSON.stringify(found.value.value)).not.toContain('o-private')
})

it('of a day leaves the record of who erased it', async () => {
  const day = at.gate.parts.journal.timestamp().slice(0, 10)
  await at.gate.erase({ operator: 'acme', day }, 'olga')
  const [line] = await erasures()
  expect(line).toMatchObject({ operator: 'acme', day })
  expect((await at.gate.data.evidence.byDigest(line.evidence_digest)).state).toBe('present')
})

it('destroys nothing while its first line cannot be written', async () => {
  const { actionId } = Object(await refuseOne('o-1'))
  const { parts } = at.gate
  const broken: Parts = {
    ...parts,
    journal: { ...parts.journal, append: () => Promise.reject(new Error('no space')) },
  }
  await expect(eraseEvidence({ subject: 'o-1' }, 'olga', broken)).rejects.toThrow('no space')
  expect((await at.gate.data.evidence.byAction(actionId)).state).toBe('present')
})

it('of a subject that has nothing is on record too, without a key', async () => {
  expect(await at.gate.erase({ subject: 'never-seen' }, 'olga')).toEqual({ records: 0 })
  for (const line of await erasures()) expect(line).not.toHaveProperty('key')
})
