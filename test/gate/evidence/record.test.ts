import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Parts } from '../../../src/gate/context.js'
import { saltedPart } from '../../../src/gate/evidence/parts.js'
import { evidenceRecord, putBeside, subjectOf } from '../../../src/gate/evidence/record.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { constrained, matched } from '../govern/stages.js'

let at: Rig
let plain: Rig
let parts: Parts
beforeAll(async () => {
  at = await rig({ manifest: `${PAYMENTS}    subject: order\n` })
  plain = await rig({ manifest: PAYMENTS })
  parts = at.gate.parts
})
afterAll(async () => {
  await at.close()
  await plain.close()
})

it('is under the subject that the manifest names, which is also kept inside', async () => {
  const known = await constrained(refund('5', {}, 'o-77'), parts)
  const record = evidenceRecord(known, known.evidence, parts)
  expect(record).toMatchObject({ actionId: known.actionId, operator: 'acme', subject: 'o-77' })
  expect(record.parts.at(-1)).toMatchObject({ kind: 'subject', value: { subject: 'o-77' } })
  await parts.evidence.put(record)
  expect(await subjectOf(known.actionId, parts)).toBe('o-77')
})

it('has none where the manifest names none', async () => {
  const known = await matched(refund('5'), plain.gate.parts)
  const part = saltedPart('vote', 'n', {}, parts)
  const record = evidenceRecord(known, [part], plain.gate.parts)
  expect(record).toMatchObject({ subject: null, parts: [part] })
  await plain.gate.parts.evidence.put(record)
  expect(await subjectOf(known.actionId, plain.gate.parts)).toBeNull()
  expect(await subjectOf('unknown', parts)).toBeNull()
})

it('what is put beside a call later is erased with its subject', async () => {
  const known = await constrained(refund('5', {}, 'o-88'), parts)
  await parts.evidence.put(evidenceRecord(known, known.evidence, parts))
  const vote = saltedPart('vote', 'approve', { name: 'olga' }, parts)
  await putBeside({ approvalId: known.actionId, operator: 'acme' }, vote, parts)
  expect((await parts.evidence.byDigest(vote.digest)).state).toBe('present')
  await at.gate.erase({ subject: 'o-88' }, 'olga')
  expect((await parts.evidence.byDigest(vote.digest)).state).toBe('erased')
})
