import { rmSync } from 'node:fs'
import { afterEach, describe, expect, it } from '@jest/globals'
import { olderDigests } from '../../src/core/call/digest.js'
import { plainEntry } from '../../src/core/journal/entry.js'
import { type LineOf, readLine } from '../../src/core/journal/vocabulary.js'
import { grantEntry } from '../../src/gate/approval/decide/record.js'
import { begin, identify, recognize } from '../../src/gate/govern/begin.js'
import { match } from '../../src/gate/govern/match.js'
import { signed } from '../../src/gate/signed-event.js'
import { approvalOf, decide, machine, person, tool } from '../support/approvals.js'
import { askedBefore, sentBefore } from '../support/before-upgrade.js'
import { type Rig, refund, rig } from '../support/rig.js'

/** A journal from before one key per use goes on: what it says holds for the same people, calls and budgets. */
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    digest_salt: SALT
    constraints:
      daily: {sum: {of: amount, max: "1000.00", per: [$agent], window: 1d}}
    hitl: {quorum: QUORUM}
`
const manifest = (quorum = 2, salt = 'none') =>
  MANIFEST.replace('SALT', salt).replace('QUORUM', String(quorum))
const APPROVE = { kind: 'approve' } as const
const DENY = { kind: 'deny', reason: 'not this one' } as const

let at: Rig
afterEach(() => at.close())

/** Until the next restart the gate writes as it did before: the secret itself is the key. */
function asBefore(): void {
  const { tenant } = at.gate.parts
  const { older } = tenant
  Object.assign(tenant, { voter: older.voter, callIdentity: older.callIdentity })
}
const ask = async (call = refund('150.00')): Promise<string> => {
  const answer = await at.gate.govern(call, tool().dispatch)
  if (!('actionId' in answer) || answer.actionId === null) throw new Error('not asked')
  return answer.actionId
}
const linesOf = async <T extends 'APPROVAL_VOTED' | 'ACTION_DISPATCHED'>(type: T) =>
  (await at.lines()).flatMap((raw) => {
    const line = readLine(raw)
    return line?.type === type ? [line as LineOf<T>] : []
  })

describe('votes', () => {
  it('of one person, before the upgrade and after it, are one voter', async () => {
    at = await rig({ manifest: manifest() })
    const id = await ask()
    asBefore()
    expect(await decide(at.gate, id, person('alice'), APPROVE)).toMatchObject({ votes: 1 })
    const older = at.gate.parts.tenant.older.voter('alice')
    at = await at.restart()
    expect((await linesOf('APPROVAL_VOTED')).map(({ voter }) => voter)).toEqual([older])
    expect(at.gate.parts.tenant.voter('alice')).not.toBe(older)

    const { gate } = at
    expect(gate.read.hasVoted('alice', await approvalOf(gate, id))).toBe(true)
    expect(gate.read.hasVoted('bob', await approvalOf(gate, id))).toBe(false)
    const again = { repeated: true, state: 'pending', votes: 1 }
    expect(await decide(gate, id, person('alice'), APPROVE)).toMatchObject(again)
    expect(await decide(gate, id, person('alice'), DENY)).toMatchObject({ why: 'already_voted' })
    const how = tool()
    expect(await gate.govern(refund('150.00'), how.dispatch)).toMatchObject({
      code: 'approval_pending',
    })
    expect(await decide(gate, id, person('bob'), APPROVE)).toMatchObject({ state: 'approved' })
    expect(await gate.govern(refund('150.00'), how.dispatch)).toMatchObject({ code: 'executed' })
    expect((await at.capsules()).at(-1)?.capsule.disposition).toMatchObject({
      human_disposed: true,
    })
    expect(how.sent).toHaveLength(1)
  })

  it('of one person in both forms are no quorum of two, even behind a grant', async () => {
    at = await rig({ manifest: manifest() })
    const id = await ask()
    asBefore()
    await decide(at.gate, id, person('alice'), APPROVE)
    at = await at.restart()
    const { parts } = at.gate
    const [{ v, origin, seq, prev, at: when, type, kid, sig, ...vote }] = (await linesOf(
      'APPROVAL_VOTED',
    )) as [LineOf<'APPROVAL_VOTED'>]
    const second = signed('APPROVAL_VOTED', { ...vote, voter: parts.tenant.voter('alice') }, parts)
    const grant = grantEntry(await approvalOf(at.gate, id), parts)
    await at.gate.data.journal.append([second, grant])
    const approval = await approvalOf(at.gate, id)
    expect(new Set(approval.votes.map(({ voter }) => voter)).size).toBe(2)
    const how = tool()
    expect(await at.gate.govern(refund('150.00'), how.dispatch)).toMatchObject({
      code: 'approval_pending',
    })
    expect(how.sent).toEqual([])
  })

  it('of a machine keep their word, and the capsule names it as its vote does', async () => {
    at = await rig({ manifest: manifest(1) })
    const id = await ask()
    asBefore()
    await decide(at.gate, id, machine('fraud-engine'), APPROVE)
    at = await at.restart()
    expect(await at.gate.govern(refund('150.00'), tool().dispatch)).toMatchObject({
      code: 'executed',
    })
    const [vote] = await linesOf('APPROVAL_VOTED')
    expect((await at.capsules()).at(-1)?.capsule.disposition).toMatchObject({
      approver: 'policy',
      authority: vote?.voter,
    })
  })
})

describe('a refusal by a person', () => {
  it.each(['none', 'tenant'])(
    'from before the upgrade stands, and can be taken back (digest_salt: %s)',
    async (salt) => {
      at = await rig({ manifest: manifest(1, salt) })
      asBefore()
      const id = await ask()
      await decide(at.gate, id, person('alice'), DENY)
      at = await at.restart()
      const again = refund('150.000', {
        headers: [
          ['content-type', 'application/json'],
          ['accept', 'text/plain'],
        ],
      })
      for (const call of [again, { ...again, approvalId: id }]) {
        expect(await at.gate.govern(call, tool().dispatch)).toMatchObject({
          code: 'approval_refused',
        })
      }
      const decider = person('bob')
      expect(await at.gate.reopen(id, { decider, reason: 'mistake' })).toEqual({ kind: 'reopened' })
      expect(await at.gate.govern(again, tool().dispatch)).toMatchObject({
        code: 'approval_pending',
      })
    },
  )
})

describe('a salted request digest', () => {
  const salted = manifest(1, 'tenant')
  const olderOf = async (call = refund('150.00')) => {
    const { parts } = at.gate
    const recognized = recognize(begin(call, await identify(call.caller, parts), parts))
    if ('exit' in recognized) throw new Error(recognized.code)
    const matched = match(recognized, parts)
    if ('exit' in matched) throw new Error(matched.code)
    return { now: matched, older: olderDigests(matched, parts) }
  }

  it('is named as what it is, and is none of the older ones', async () => {
    at = await rig({ manifest: salted })
    const { now, older } = await olderOf()
    expect(now.requestOctets.alg).toBe('hmac-sha-256')
    expect(older.map(({ requestOctets }) => requestOctets.alg)).toEqual(['sha-256', 'sha-256'])
    const all = [now, ...older].map(({ requestDigest }) => requestDigest)
    expect(new Set(all).size).toBe(all.length)
    const { dispatch } = tool()
    await at.gate.govern(refund('5.00'), dispatch)
    expect((await at.capsules()).at(-1)?.capsule.effect).toMatchObject({
      'dev.capsulegate.request_octets': { alg: 'hmac-sha-256' },
    })
  })

  it.each([0, 1])(
    'of before (%i) is found: the open item runs once, under its own digest and octets',
    async (which) => {
      at = await rig({ manifest: salted })
      const form = (await olderOf()).older[which]
      const id = await askedBefore(refund('150.00'), at.gate.parts, which)
      at = await at.restart()
      const { sent, dispatch } = tool()
      expect(await at.gate.govern(refund('150.00'), dispatch)).toMatchObject({ actionId: id })
      await decide(at.gate, id, person('alice'), APPROVE)
      expect(await at.gate.govern(refund('150.00'), dispatch)).toMatchObject({ code: 'executed' })
      expect(sent).toHaveLength(1)
      expect((await at.capsules()).at(-1)?.capsule.effect).toMatchObject({
        request_digest: form?.requestDigest,
        'dev.capsulegate.request_octets': form?.requestOctets,
      })
    },
  )

  it.each([0, 1])('of before (%i) holds its idempotency key: replayed, not sent', async (which) => {
    at = await rig({ manifest: salted })
    const { sent, dispatch } = tool()
    const call = refund('5.00', { idempotencyKey: 'k' })
    const actionId = await sentBefore(call, dispatch, at.gate.parts, true, which)
    at = await at.restart()
    expect(await at.gate.govern(call, dispatch)).toMatchObject({ kind: 'replayed', actionId })
    const other = refund('6.00', { idempotencyKey: 'k' })
    expect(await at.gate.govern(other, dispatch)).toMatchObject({ code: 'idempotency_mismatch' })
    expect(sent).toHaveLength(1)
  })
})

describe('amounts', () => {
  const small = refund('5.00')

  it('are in no line, count after a restart, and a line of before counts with them', async () => {
    at = await rig({ manifest: manifest() })
    const { parts } = at.gate
    await at.gate.govern(refund('55.5555'), tool().dispatch)
    const [line] = await linesOf('ACTION_DISPATCHED')
    if (line === undefined) throw new Error('nothing was sent')
    expect(JSON.stringify(line)).not.toContain('55.5')
    expect(line.budgets?.[0]).not.toHaveProperty('amount')
    // As 0.1 wrote it: the scope's plain digest, which this gate never shows, so its key is undone here.
    const { v, origin, seq, prev, at: when, type, amounts, ...members } = line
    const plain = 'a'.repeat(64)
    const budgets = members.budgets?.map((each) => ({ ...each, scope: plain, amount: '3' }))
    await parts.journal.append([
      plainEntry('ACTION_DISPATCHED', {
        ...members,
        action_id: 'older',
        ...(budgets && { budgets }),
      }),
    ])
    at = await at.restart()
    const dump = at.gate.data.state.dump() as {
      windows: [string, string, string, number, unknown[]][]
    }
    const totals = dump.windows.map(([, scope, , , entries]) => [
      scope,
      (entries as [number, string][]).map(([, amount]) => amount),
    ])
    expect(Object.fromEntries(totals)).toEqual({
      [String(line.budgets?.[0]?.scope)]: ['55.5555'],
      [at.gate.data.tenant.budgetScope(plain)]: ['3'],
    })
  })

  it.each(['another action', 'another scope', 'no seal'])(
    'carried to %s stop the start, and the line is named',
    async (how) => {
      at = await rig({ manifest: manifest() })
      await at.gate.govern(small, tool().dispatch)
      const [line] = await linesOf('ACTION_DISPATCHED')
      if (line === undefined) throw new Error('nothing was sent')
      const { v, origin, seq, prev, at: when, type, amounts, ...members } = line
      const budgets = members.budgets?.map((each) => ({ ...each, scope: 'b'.repeat(64) })) ?? []
      const moved = {
        ...members,
        ...(how === 'another scope' ? { budgets } : { action_id: 'another' }),
        ...(how === 'no seal' ? {} : { amounts: String(amounts) }),
      }
      // Durable all the same, as a line is that a hand with access to the file wrote.
      await expect(
        at.gate.data.journal.append([plainEntry('ACTION_DISPATCHED', moved)]),
      ).rejects.toThrow(
        how === 'no seal' ? '0 sealed amounts for 1 budgets' : 'amounts do not open',
      )
      const { dir } = at
      // The last line is the head that covers it.
      const last = at.gate.data.journal.head().seq - 1
      await expect(at.restart()).rejects.toThrow(
        new RegExp(`journal line ${last} \\(ACTION_DISPATCHED\\): `),
      )
      rmSync(dir, { recursive: true, force: true })
      at = await rig({ manifest: manifest() })
    },
  )
})
