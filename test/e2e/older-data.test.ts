import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import { verifyLedger } from '../../src/verify.js'
import { cli } from '../cli/support.js'
import {
  calls,
  cleared,
  closed,
  copied,
  counted,
  head,
  lines,
  linesOf,
  opened,
  type Sent,
  said,
  saidBy,
  snapshot,
  standing,
  stateOf,
  withoutSnapshot,
} from '../fixtures/older-data.js'
import { approvalOf, decide, person, tool } from '../support/approvals.js'
import { httpCall } from '../support/manifests.js'
import { openItems } from '../support/open-items.js'
import { TOKEN } from '../support/rig.js'

/**
 * A data folder that 0.1 wrote verifies, opens to the state that 0.1 itself found in it, and goes on. All
 * clocks are the fixture's. See test/fixtures/data-0.1/README.md.
 */
afterEach(cleared)

const segments = (root: string): readonly string[] =>
  readdirSync(join(root, 'data', 'journal'))
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(root, 'data', 'journal', name))

/** By the library and by both commands; all capsules, and no finding above `info`. */
async function expectVerified(
  root: string,
  adopted: boolean,
): Promise<{ open: readonly string[]; count: number }> {
  const bytes = Buffer.concat(segments(root).map((path) => readFileSync(path)))
  const { keys } = exportKeyring(join(root, 'data', 'keys'))
  const { results, open_items } = verifyLedger(bytes, { keys, crypto: nodeCrypto })
  const findings = results.flatMap((result) => result.findings)
  expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([])
  expect(results.every(({ ok }) => ok)).toBe(true)

  const keyring = join(root, 'keyring.json')
  const exported = await cli(['keys', 'export', '--dir', join(root, 'data', 'keys')])
  writeFileSync(keyring, exported.out)
  const journal = join(root, 'journal.jsonl')
  writeFileSync(journal, bytes)
  const data = join(root, 'data')
  for (const command of [
    ['verify', journal],
    ['ledger', 'verify', '--data', data],
  ]) {
    const { code, out, err } = await cli([...command, '--keys', keyring])
    // Version 1 has no head, so nothing tells whether it is whole.
    expect({ code, err }).toEqual({ code: adopted ? 0 : 3, err: '' })
    expect(out).toContain(adopted ? 'VALID' : 'INCOMPLETE')
  }
  return { open: open_items, count: results.length }
}

describe('a data folder of 0.1, untouched', () => {
  it('verifies with every statement ok', async () => {
    const root = copied()
    const { open, count } = await expectVerified(root, false)
    expect(count).toBe(lines.CAPSULE)
    expect(open).toEqual(said.openItems.map(({ capsule_id }) => capsule_id))
    const { out } = await cli(['ledger', 'verify', '--data', join(root, 'data')])
    expect(out).toContain('a journal of version 1')
  })

  it.each([0, 3, 6])('does not verify with one octet of segment %i changed', async (n) => {
    const root = copied()
    const path = segments(root)[n] ?? ''
    const bytes = readFileSync(path)
    const at = bytes.indexOf('"developer":"') + '"developer":"'.length
    bytes.write('X', at)
    writeFileSync(path, bytes)
    const { code } = await cli(['ledger', 'verify', '--data', join(root, 'data')])
    expect(code).toBe(1)
  })
})

describe('a data folder of 0.1, opened', () => {
  it.each(['with its snapshot', 'without'])('is what 0.1 found in it, %s', async (how) => {
    const root = copied()
    if (how === 'without') withoutSnapshot(root)
    const { gate, reports } = await opened(root)
    expect(gate.data.journal.snapshot?.seq ?? null).toBe(how === 'without' ? null : snapshot)
    // Evidence of 0.1 does not show its dispatch, so that the capsule of an orphan claims less than 0.1's did.
    const recovered = said.recovered.map(({ actionId }) => ({
      actionId,
      capsuleId: expect.any(String),
    }))
    expect(await saidBy(gate)).toEqual({ ...said, recovered })
    const concluded = (await linesOf(gate)).flatMap((line) =>
      line.type === 'CAPSULE' && line.seq > head.seq ? [line.capsule] : [],
    )
    expect(concluded[0]).toMatchObject({
      action_id: said.recovered[0]?.actionId,
      'dev.capsulegate.recovered': { evidence: 'missing' },
    })
    expect(concluded[0]).not.toHaveProperty('constraints')
    // Indexes of an older form are made again, lines behind the snapshot folded again: it was killed. Nothing else
    // is told of the journal.
    const expected = ['journal_index_rebuilt', 'journal_snapshot_behind']
    const told = reports.filter(({ event }) => event.startsWith('journal_'))
    expect(told.filter(({ event }) => !expected.includes(event))).toEqual([])

    const { damage, segments: sealed } = await gate.data.journal.verified
    expect({ damage, sealed }).toEqual({ damage: null, sealed: lines.SEGMENT_SEALED })
    const all = await linesOf(gate)
    expect(counted(all.slice(0, head.seq).map(({ type }) => type))).toEqual(lines)
    expect(all[head.seq]).toMatchObject({ type: 'ADOPTED', seq: head.seq + 1, prev: head.hash })
  })

  it('folds to one state with and without its snapshot', async () => {
    const [one, other] = [copied(), copied()]
    withoutSnapshot(other)
    const folded = stateOf((await opened(other)).gate)
    expect(stateOf((await opened(one)).gate)).toEqual(folded)
  })
})

describe('a data folder of 0.1, continued', () => {
  const sent = (name: string): Sent => {
    const call = calls[name]
    if (call === undefined) throw new Error(`the fixture has no call ${name}`)
    return call
  }
  const callOf = ({ target, body, key }: Omit<Sent, 'actionId'>) =>
    httpCall('POST', target, body, {
      caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
      idempotencyKey: key,
    })
  async function send(gate: RunningGate, call: Omit<Sent, 'actionId'>) {
    const upstream = tool()
    const answer = await gate.govern(callOf(call), upstream.dispatch)
    if (answer.kind === 'unrecorded') throw new Error(answer.code)
    const [line] = await gate.data.journal.find(answer.capsuleId)
    if (line?.type !== 'CAPSULE') throw new Error(`no capsule ${answer.capsuleId}`)
    const { approver, human_disposed } = line.capsule.disposition
    const code = answer.kind === 'replayed' ? 'replayed' : answer.code
    return { answer, code, sent: upstream.sent.length, approver, human_disposed }
  }
  const byPolicy = { code: 'executed', sent: 1, approver: 'policy', human_disposed: false }
  const byPerson = { code: 'executed', sent: 1, approver: 'human', human_disposed: true }
  const approved = { kind: 'recorded', repeated: false, state: 'approved' }
  const approve = { kind: 'approve' } as const

  it('keeps what was decided, reserved and halted, and runs what may run', async () => {
    const root = copied()
    const { gate, time } = await opened(root)
    const again = async (name: string) => {
      time.advance(1)
      return send(gate, sent(name))
    }

    const refusal = await approvalOf(gate, sent('refused').actionId)
    const repeated = await again('refused')
    expect(repeated).toMatchObject({ code: 'approval_refused', sent: 0, human_disposed: true })
    expect(refusal.state).toMatchObject({ capsuleId: repeated.answer.capsuleId })
    expect((await linesOf(gate)).at(-1)).toMatchObject({
      type: 'REFUSAL_REPEATED',
      approval_id: sent('refused').actionId,
    })
    expect(await again('reopened')).toMatchObject({ code: 'approval_pending', sent: 0 })

    const replayed = await again('completed')
    expect(replayed).toMatchObject({ code: 'replayed', sent: 0 })
    expect(replayed.answer).toMatchObject({
      actionId: sent('completed').actionId,
      response: { status: 200, headers: [['content-type', 'application/json']] },
    })
    if (replayed.answer.kind !== 'replayed') throw new Error('not replayed')
    expect(Buffer.from(replayed.answer.response.body).toString()).toBe('{"status":200}')
    expect(await again('unknown')).toMatchObject({ code: 'idempotency_in_flight', sent: 0 })

    expect(await again('approved')).toMatchObject(byPerson)
    expect(await again('approved')).toMatchObject({ code: 'approval_pending', sent: 0 })

    expect(await again('pending')).toMatchObject({ code: 'approval_pending', sent: 0 })
    const { actionId: pending } = sent('pending')
    expect(await decide(gate, pending, person('dora'), approve)).toMatchObject(approved)
    expect(await again('pending')).toMatchObject(byPerson)

    const { actionId: oneVote } = sent('oneVote')
    const twice = await decide(gate, oneVote, person('alice'), approve)
    expect(twice).toMatchObject({ repeated: true, state: 'pending', votes: 1, quorum: 2 })
    expect(await decide(gate, oneVote, person('bob'), approve)).toMatchObject(approved)
    expect(await again('oneVote')).toMatchObject(byPerson)

    const { actionId: escalated } = sent('escalated')
    const low = await decide(gate, escalated, person('alice'), approve)
    expect(low).toMatchObject({ kind: 'refused', why: 'role' })
    const lead = person('lena', { roles: ['lead'] })
    expect(await decide(gate, escalated, lead, approve)).toMatchObject(approved)
    expect(await again('escalated')).toMatchObject(byPerson)

    const { actionId: deferred } = sent('deferred')
    expect(await decide(gate, deferred, person('dora'), approve)).toMatchObject(approved)
    expect(await again('deferred')).toMatchObject(byPerson)

    expect(await again('voucher')).toMatchObject(byPolicy)
    const now = time.clock.now()
    const left = (await gate.data.state.standingGrants(now)).map(({ grant, usesLeft }) => [
      grant,
      usesLeft,
    ])
    expect(left).toEqual([[standing, 1]])

    expect(await again('halted')).toMatchObject({ code: 'halted', sent: 0 })
    await gate.resume({ kind: 'tool', name: 'ship_order' }, 'olga')
    expect(await again('halted')).toMatchObject(byPolicy)

    const exported = { target: '/v1/exports', body: { month: '2026-04' }, key: null }
    expect(await send(gate, exported)).toMatchObject({ code: 'budget_exceeded', sent: 0 })
    const body = { order: 'new', currency: 'EUR', amount: '15.00' }
    const fresh = { target: '/v1/refunds', body, key: 'new' }
    expect(await send(gate, fresh)).toMatchObject(byPolicy)

    const state = stateOf(gate)
    const open = (await openItems(gate.data.state)).map(({ capsule_id }) => capsule_id)
    await closed(gate)
    expect((await expectVerified(root, true)).open).toEqual(open)
    for (const how of ['with its snapshot', 'without']) {
      if (how === 'without') withoutSnapshot(root)
      const { gate: reopened } = await opened(root, time.clock.now())
      expect(stateOf(reopened)).toEqual(state)
      expect(await send(reopened, fresh)).toMatchObject({ code: 'replayed', sent: 0 })
      await closed(reopened)
    }
  })
})
