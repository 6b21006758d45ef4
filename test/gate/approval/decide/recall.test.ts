import { describe, expect, it } from '@jest/globals'
import { grantEntry } from '../../../../src/gate/approval/decide/record.js'
import { saltedPart } from '../../../../src/gate/evidence/parts.js'
import { signed } from '../../../../src/gate/signed-event.js'
import { approvalOf, person, tool } from '../../../support/approvals.js'
import { forgedEntry } from '../../../support/lines.js'
import { refund } from '../../../support/rig.js'
import { APPROVE, ask, at, LARGE, LATER, run, say, start, withHitl } from '../harness.js'

describe('what a vote must be to count', () => {
  /** Evidence and members of a vote that was never given; `of` is the approval that it names. */
  async function madeUp(id: string, of = id, on?: string) {
    const { parts } = at.gate
    const { documentDigest, parent } = await approvalOf(at.gate, id)
    const said = await approvalOf(at.gate, of)
    const part = saltedPart(
      'vote',
      'approve',
      {
        vote: 'gate.vote/v1',
        approval_id: of,
        on: on ?? said.parent,
        document_digest: said.documentDigest,
        name: 'mallory',
        by: 'person',
        roles: ['approver'],
        assurance: 'L3',
        via: 'session',
        outcome: 'approve',
      },
      parts,
    )
    const when = parts.journal.timestamp()
    const record = { actionId: id, operator: 'acme', subject: null, at: when, parts: [part] }
    await parts.evidence.put(record)
    return {
      approval_id: id,
      on: parent,
      voter: parts.tenant.voter('mallory'),
      by: 'person',
      outcome: 'approve',
      document_digest: documentDigest,
      evidence_digest: part.digest,
    } as const
  }
  async function expectAskedAgain(actionId: string): Promise<void> {
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('approved')
    const how = tool()
    const answer = await run(LARGE, how)
    expect(answer).toMatchObject({ code: 'approval_pending' })
    expect(answer).not.toMatchObject({ actionId })
    expect(how.sent).toEqual([])
  }

  it('does not run on a vote that the gate never signed, however right its evidence', async () => {
    await start()
    const { actionId } = await ask()
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const kid = Buffer.from(at.gate.parts.signer.kid('event')).toString('hex')
    const sig = Buffer.alloc(64, 1).toString('base64url')
    const vote = forgedEntry('APPROVAL_VOTED', { ...(await madeUp(actionId)), kid, sig })
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('does not make a quorum of two out of one voter\u2019s two votes', async () => {
    await start(withHitl('{quorum: 2}'))
    const { actionId } = await ask()
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const votes = [await madeUp(actionId), await madeUp(actionId)].map((members) =>
      signed('APPROVAL_VOTED', members, at.gate.parts),
    )
    await at.gate.data.journal.append([...votes, grant])
    expect((await approvalOf(at.gate, actionId)).votes).toHaveLength(2)
    await expectAskedAgain(actionId)
  })

  it.each<[string, { on?: string; voter?: string }]>([
    ['was cast on an earlier step of the request', { on: 'e'.repeat(64) }],
    ['is somebody else\u2019s', { voter: 'alice' }],
  ])('does not run on a signed vote whose evidence %s', async (_, { on, voter }) => {
    await start()
    const { actionId } = await ask()
    const { parts } = at.gate
    const grant = grantEntry(await approvalOf(at.gate, actionId), parts)
    const members = await madeUp(actionId, actionId, on)
    const cast = voter === undefined ? {} : { voter: parts.tenant.voter(voter) }
    const vote = signed('APPROVAL_VOTED', { ...members, ...cast }, parts)
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('does not run on a signed vote whose evidence speaks of another request', async () => {
    await start()
    const { actionId } = await ask()
    const other = await ask(refund('151'))
    const grant = grantEntry(await approvalOf(at.gate, actionId), at.gate.parts)
    const vote = signed('APPROVAL_VOTED', await madeUp(actionId, other.actionId), at.gate.parts)
    await at.gate.data.journal.append([vote, grant])
    await expectAskedAgain(actionId)
  })

  it('counts anew after a deferral: what was said before it does not count', async () => {
    await start(withHitl('{quorum: 2}'))
    const { actionId } = await ask()
    await say(actionId, APPROVE, person('alice'))
    await say(actionId, LATER, person('bob'))
    expect(await say(actionId, APPROVE, person('bob'))).toMatchObject({
      state: 'pending',
      votes: 1,
    })
    expect(await say(actionId, APPROVE, person('alice'))).toMatchObject({ state: 'approved' })
    expect(await run()).toMatchObject({ code: 'executed' })
  })

  it('does not run on a vote whose evidence was erased: it is asked again', async () => {
    await start()
    const { actionId } = await ask()
    await say(actionId)
    await at.gate.data.evidence.erase({ operator: 'acme', day: '2026-03-01' })
    const how = tool()
    const answer = await run(LARGE, how)
    expect(answer).toMatchObject({ code: 'approval_pending' })
    expect(answer).not.toMatchObject({ actionId })
    expect(how.sent).toEqual([])
  })
})
