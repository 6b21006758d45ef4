import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import type { CapsuleInput, Verdict } from '../../../../src/core/capsule/input.js'
import type { Capsule } from '../../../../src/core/capsule/model.js'
import type { MembersOf } from '../../../../src/core/journal/vocabulary.js'
import { type LedgerVerifyOptions, verifyLedger } from '../../../../src/verify.js'
import { SMALLEST } from '../../../support/lines.js'
import { type Entry, type SealedJournal, sealedJournal } from '../../../support/sealed-journal.js'
import { assent, build, cap, complete, effect, input, sha256 } from '../../capsule/samples.js'

/** What a gate writes in each case, in the order it writes it: the journals of honest gates, in a few lines. */
const POLICY = { kind: 'policy' } as const
const HUMAN = { kind: 'human', decision: assent('approve') } as const

export const refused = (
  verdict_class: 'denied' | 'blocked' | 'hitl_dispatched' | 'engine_failure' | 'escalated',
  more: Partial<CapsuleInput> = {},
): Capsule => {
  const constraints =
    verdict_class === 'blocked' || verdict_class === 'hitl_dispatched' ? [cap('fail', true)] : []
  return build(input({ kind: 'refused', verdict_class }, { constraints, ...more }))
}

export const ran = (by: Extract<Verdict, { kind: 'ran' }>['by'] = POLICY, more = {}): Capsule =>
  build(
    input(
      { kind: 'ran', verdict_class: 'executed', by, effect, observation: complete(201, true) },
      more,
    ),
  )

export const over = (parent: Capsule): Pick<CapsuleInput, 'chain'> => ({
  chain: { supersedes: parent.capsule_id },
})

export function dispatched(
  { action_id }: Pick<Capsule, 'action_id'>,
  more: Partial<MembersOf<'ACTION_DISPATCHED'>> = {},
): Entry {
  const { request_digest } = effect
  const members = { ...SMALLEST.ACTION_DISPATCHED, action_id, request_digest, ...more }
  return { type: 'ACTION_DISPATCHED', json: JSON.stringify(members) }
}

export const DOCUMENT = sha256('document')

export const opened = (
  journal: SealedJournal,
  asked: Capsule,
  more: Partial<MembersOf<'APPROVAL_OPENED'>> = {},
): Entry =>
  journal.event('APPROVAL_OPENED', {
    ...SMALLEST.APPROVAL_OPENED,
    approval_id: asked.action_id,
    capsule_id: asked.capsule_id,
    request_digest: effect.request_digest,
    document_digest: DOCUMENT,
    ...more,
  })

export const voted = (
  journal: SealedJournal,
  asked: Capsule,
  voter: string,
  outcome: 'approve' | 'deny' | 'defer',
  more: Partial<MembersOf<'APPROVAL_VOTED'>> = {},
): Entry =>
  journal.event('APPROVAL_VOTED', {
    ...SMALLEST.APPROVAL_VOTED,
    approval_id: asked.action_id,
    on: asked.capsule_id,
    voter: sha256(voter),
    outcome,
    document_digest: DOCUMENT,
    ...more,
  })

export const disposed = (outcome: 'deny' | 'defer' | 'withdraw', parent: Capsule): Capsule =>
  build(input({ kind: 'disposed', decision: assent(outcome) }, over(parent)))

export const approvedRun = (parent: Capsule): Capsule => ran(HUMAN, over(parent))

export const itemClosed = (journal: SealedJournal, blocked: Capsule): Entry =>
  journal.event('ITEM_CLOSED', { ...SMALLEST.ITEM_CLOSED, on: blocked.capsule_id })

/** Two segments and an open one: every way a line of each kind comes to stand in a journal. */
export function wholeJournal(journal = sealedJournal()): SealedJournal {
  const { capsule } = journal
  journal.write(journal.event('CONFIG_CHANGED', SMALLEST.CONFIG_CHANGED))
  const plain = ran()
  journal.write(capsule(refused('denied')), dispatched(plain))
  journal.write(capsule(plain))

  const asked = refused('hitl_dispatched')
  journal.write(capsule(asked), opened(journal, asked, { quorum: 2 }))
  journal.write(voted(journal, asked, 'dana', 'approve'))
  journal.seal(voted(journal, asked, 'eli', 'approve'))
  const run = approvedRun(asked)
  journal.write(dispatched(run))
  journal.write(capsule(run))

  const later = refused('hitl_dispatched')
  journal.write(capsule(later), opened(journal, later))
  const deferral = disposed('defer', later)
  journal.write(capsule(deferral), voted(journal, later, 'dana', 'defer'))
  const refusal = disposed('deny', deferral)
  const onDeferral = { on: deferral.capsule_id }
  journal.write(capsule(refusal), voted(journal, later, 'dana', 'deny', onDeferral))
  journal.seal()

  const blocked = refused('blocked')
  journal.write(capsule(blocked))
  journal.write(capsule(disposed('withdraw', blocked)), itemClosed(journal, blocked))
  const halted = refused('engine_failure')
  const scope = { kind: 'agent', name: 'bot' } as const
  journal.write(journal.event('HALT', { scope, by: 'ops' }), dispatched(halted))
  journal.write(journal.event('RESUME', { scope, by: 'ops' }), capsule(halted))
  return journal
}

export const verifyJournal = (
  text: string | Uint8Array,
  journal: SealedJournal,
  more: Partial<LedgerVerifyOptions> = {},
) => {
  const { results, journal: whole } = verifyLedger(text, {
    crypto: nodeCrypto,
    keys: journal.keyring,
    ...more,
  })
  if (whole === null) throw new Error('that is no journal')
  const findings = [...results.flatMap((result) => result.findings), ...whole.findings]
  return {
    ...whole,
    results,
    errors: findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
    warnings: findings.filter(({ severity }) => severity === 'warning').map(({ code }) => code),
    why: whole.complete.ok ? '' : whole.complete.why.join('; '),
  }
}
