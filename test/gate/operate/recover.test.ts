import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Capsule, ConstraintRecord } from '../../../src/core/capsule/model.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import { type Orphan, recover } from '../../../src/gate/operate/recover.js'
import { approvalOf, decide, person, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'

/** What a restart signs about a call that nobody concluded: what was sealed before it left, and no more. */
let at: Rig
afterEach(() => at.close())

const CAPTURING = PAYMENTS.replace('    args:', '    capture: full\n    args:')

/** A call that was sent and of which nothing came back: its dispatch is the last line. */
async function inFlight(amount = '5.00', order = 'o-1'): Promise<Orphan> {
  await new Promise<void>((resolve) => {
    void at.gate.govern(refund(amount, {}, order), async () => {
      resolve()
      return new Promise(() => undefined)
    })
  })
  const orphan = at.gate.data.state.orphans().at(-1)
  if (orphan === undefined) throw new Error('nothing is in flight')
  return orphan
}
const last = async (): Promise<Capsule> => {
  const line = (await at.capsules()).at(-1)
  if (line === undefined) throw new Error('no capsule')
  const verified = verifyStatement(statementOf(line), {
    keys: at.gate.data.keys(),
    crypto: nodeCrypto,
  })
  expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
  expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
  return line.capsule
}
const results = ({ constraints = [] }: Pick<Capsule, 'constraints'>) =>
  constraints.map(({ id, result }) => `${id} ${result}`)
const PASSED = [
  'com.acme.payments.amount_cap pass',
  'com.acme.payments.known_currency pass',
  'dev.capsulegate.cedar pass',
]

/** Only what the line itself must say: that something may have been sent, for whom, and what it was. */
function expectNothingClaimed(capsule: Capsule, orphan: Orphan): void {
  expect(capsule['dev.capsulegate.recovered']).toEqual({ evidence: 'missing' })
  expect(capsule.disposition).toEqual({
    decision: 'accept',
    verdict_class: 'errored',
    approver: 'policy',
    human_disposed: false,
  })
  expect(capsule.effect).toMatchObject({
    status: 'dispatched',
    request_digest: orphan.request_digest,
  })
  expect(capsule.constraints).toBeUndefined()
  for (const name of ['mode', 'policy_digest', 'manifest_digest'] as const) {
    expect(capsule).not.toHaveProperty([`dev.capsulegate.${name}`])
  }
  const told = at.reports.filter(({ event }) => event === 'recovered_without_evidence')
  expect(told).toEqual([expect.objectContaining({ level: 'error', actionId: orphan.action_id })])
}

describe('an orphan', () => {
  it('with its evidence is concluded with the constraints that were judged', async () => {
    at = await rig({ manifest: CAPTURING })
    const orphan = await inFlight()
    at = await at.restart()
    const capsule = await last()
    expect(capsule['dev.capsulegate.recovered']).toBe(true)
    expect(results(capsule)).toEqual(PASSED)
    expect(capsule.constraints).toEqual(orphan.constraints)
    expect(capsule).toMatchObject({
      action_id: orphan.action_id,
      'dev.capsulegate.mode': 'enforce',
      'dev.capsulegate.policy_digest': orphan.policy_digest,
      effect: { status: 'dispatched', request_digest: orphan.request_digest },
    })
    expect((await at.capsules()).at(-1)).toMatchObject({ captured: ['request'] })
  })

  it('that ran on a person’s word is still on it, and closes what was asked', async () => {
    at = await rig({ manifest: PAYMENTS })
    const asked = await at.gate.govern(refund('150.00'), tool().dispatch)
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    await decide(at.gate, asked.actionId, person('dora'), { kind: 'approve' })
    const { parent } = await approvalOf(at.gate, asked.actionId)
    await inFlight('150.00')
    at = await at.restart()
    expect(await last()).toMatchObject({
      'dev.capsulegate.recovered': true,
      disposition: { approver: 'human', human_disposed: true },
      chain: { parent_capsule_id: parent },
    })
  })

  it('whose evidence was removed claims nothing', async () => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    const { dir } = at
    await at.gate.close()
    const segments = join(dir, 'data', 'evidence', 'segments')
    for (const name of readdirSync(segments)) rmSync(join(segments, name))
    at = await rig({ manifest: PAYMENTS }, dir)
    expectNothingClaimed(await last(), orphan)
  })

  it('whose evidence was erased claims nothing', async () => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    const day = new Date(at.gate.parts.clock.now()).toISOString().slice(0, 10)
    await at.gate.erase({ operator: 'acme', day }, 'olga')
    at = await at.restart()
    expectNothingClaimed(await last(), orphan)
  })

  it('whose evidence is that of another dispatch claims nothing', async () => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    const { evidence, journal, ids } = at.gate.parts
    const found = await evidence.byAction(orphan.action_id)
    if (found.state !== 'present') throw new Error(found.state)
    const invented = { ...orphan, action_id: ids.actionId() }
    const put = { operator: 'acme', subject: null, at: journal.timestamp(), parts: found.value }
    await evidence.put({ actionId: invented.action_id, ...put })
    await recover([invented], at.gate.parts)
    expectNothingClaimed(await last(), invented)
  })

  it('whose action was refused, so that nothing was to be sent, claims nothing', async () => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    const refused = await at.gate.govern(refund('900.00'), tool().dispatch)
    if (refused.kind === 'unrecorded') throw new Error(refused.code)
    const invented = { ...orphan, action_id: refused.actionId }
    await recover([invented], at.gate.parts)
    expectNothingClaimed(await last(), invented)
  })
})

/** A line that says something else than what was sealed is not believed: nothing of it is signed. */
describe('a line that was altered', () => {
  const flipped = (constraints: readonly ConstraintRecord[]): ConstraintRecord[] =>
    constraints.map((one) => ({ ...one, result: 'fail' }))
  const added = (constraints: readonly ConstraintRecord[]): ConstraintRecord[] => [
    ...constraints,
    { ...(constraints[0] as ConstraintRecord), id: 'com.acme.payments.four_eyes' },
  ]
  it.each<[string, (orphan: Orphan) => Partial<Orphan>]>([
    ['a result flipped', ({ constraints }) => ({ constraints: flipped(constraints) })],
    ['a constraint added', ({ constraints }) => ({ constraints: added(constraints) })],
    ['a constraint dropped', ({ constraints }) => ({ constraints: constraints.slice(1) })],
    ['all constraints dropped', () => ({ constraints: [] })],
    ['an authority put in', () => ({ grant: 'board-of-directors' })],
    ['the mode changed', () => ({ mode: 'observe' })],
    ['another policy set', () => ({ policy_digest: 'a'.repeat(64) })],
    ['another request', () => ({ request_digest: 'b'.repeat(64) })],
    ['another decision', () => ({ decision_id: 'other', supersedes: 'c'.repeat(64) })],
    ['another developer', () => ({ developer: 'mallory@1' })],
  ])('%s: claims nothing of how it was judged', async (_, alter) => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    const { parts } = at.gate
    const [line] = await parts.journal.find(orphan.action_id)
    if (line?.type !== 'ACTION_DISPATCHED') throw new Error('no line')
    const changed = { ...line, ...alter(orphan) }
    const journal = { ...parts.journal, find: async () => [changed] }
    await recover([changed], { ...parts, journal })
    expectNothingClaimed(await last(), changed)
  })

  it('and a fold that disagrees with its line: what is signed is what was sealed', async () => {
    at = await rig({ manifest: PAYMENTS })
    const orphan = await inFlight()
    await recover([{ ...orphan, mode: 'observe', grant: 'board', constraints: [] }], at.gate.parts)
    expect(await last()).toMatchObject({
      'dev.capsulegate.recovered': true,
      'dev.capsulegate.mode': 'enforce',
      constraints: orphan.constraints,
      disposition: { approver: 'policy', human_disposed: false },
    })
  })
})
