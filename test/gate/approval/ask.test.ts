import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { verifyLedger } from '../../../src/verify.js'
import { PAYMENTS } from '../../support/manifests.js'
import { refund } from '../../support/rig.js'
import { ask, at, run, say, start, types, verdicts } from './harness.js'

describe('joining', () => {
  it('asks once for any number of identical calls at the same time', async () => {
    await start()
    const told = await Promise.all(Array.from({ length: 40 }, () => ask()))
    expect(new Set(told.map(({ actionId }) => actionId)).size).toBe(1)
    expect(new Set(told.map(({ capsuleId }) => capsuleId)).size).toBe(1)
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    expect((await types()).filter((type) => type === 'APPROVAL_JOINED')).toHaveLength(39)
  })

  it('keeps other agents and other requests apart', async () => {
    await start()
    const ids = await Promise.all([ask(), ask(refund('151')), ask(refund('150.00', {}, 'o-9'))])
    expect(new Set(ids.map(({ actionId }) => actionId)).size).toBe(3)
  })
})

it('asks where a constraint says so, and runs it although that constraint fails', async () => {
  await start({
    manifest: PAYMENTS.replace(
      '{amount: {lte: "500.00"}}',
      '{amount: {lte: "50.00"}, on_fail: hitl}',
    ),
  })
  const { actionId } = await ask(refund('60.00'))
  const found = await at.gate.data.evidence.byAction(actionId)
  if (found.state !== 'present') throw new Error(found.state)
  expect(found.value.find(({ name }) => name === 'document')?.value).toMatchObject({
    routed_by: { kind: 'constraint', ids: ['com.acme.payments.amount_cap'] },
  })
  await say(actionId)
  expect(await run(refund('60.00'))).toMatchObject({ code: 'executed' })
  const journal = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`).join('')
  const keys = at.gate.data.keys()
  const { results, journal: whole } = verifyLedger(journal, { keys, crypto: nodeCrypto })
  expect(results.filter(({ ok }) => !ok).map(({ findings }) => findings)).toEqual([])
  expect(whole).toMatchObject({ status: 'valid', complete: { ok: true } })
})
