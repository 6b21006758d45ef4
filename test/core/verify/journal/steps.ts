import { randomUUID } from 'node:crypto'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { base64url } from '../../../../src/core/bytes/base64url.js'
import { hex } from '../../../../src/core/bytes/hex.js'
import type { Capsule } from '../../../../src/core/capsule/model.js'
import type { VerificationRecord } from '../../../../src/core/journal/lines/intent.js'
import { verificationMessage } from '../../../../src/core/journal/verification.js'
import type { MembersOf } from '../../../../src/core/journal/vocabulary.js'
import { canonicalOf, textDigest } from '../../../../src/core/json/build.js'
import { SMALLEST } from '../../../support/lines.js'
import type { Entry, SealedJournal } from '../../../support/sealed-journal.js'
import { assent, build, effect, input } from '../../capsule/samples.js'
import { dispatched, opened, over, ran, refused, voted } from './scenario.js'

/** Declared calls as an honest gate writes them, line by line, so that a test can leave one out or change it. */
export type Step = Pick<
  MembersOf<'IDP_SUBMITTED'>,
  'event_id' | 'action_id' | 'idp_id' | 'session_id' | 'so_id' | 'step_sequence'
>
export const step = (
  of: Pick<Capsule, 'action_id'>,
  n: number,
  more: Partial<Step> = {},
): Step => ({
  event_id: randomUUID(),
  action_id: of.action_id,
  idp_id: randomUUID(),
  session_id: 's-1',
  so_id: 'o-1',
  step_sequence: n,
  ...more,
})

export const submitted = (
  journal: SealedJournal,
  of: Step,
  more: Partial<MembersOf<'IDP_SUBMITTED'>> = {},
): Entry => journal.event('IDP_SUBMITTED', { ...SMALLEST.IDP_SUBMITTED, ...of, ...more })

export function sentStep({ action_id, ...of }: Step): Entry {
  const moved = { cedar_action: 'create_refund', from_state: null, to_state: null }
  return dispatched({ action_id }, { intent: { ...of, ...moved } })
}

export type Transition = MembersOf<'STATE_TRANSITIONED'>
export const transition = (of: Step, more: Partial<Transition> = {}): Transition => ({
  ...SMALLEST.STATE_TRANSITIONED,
  ...of,
  event_id: randomUUID(),
  ...more,
})

export function verification(
  journal: SealedJournal,
  of: Transition,
  match_result: VerificationRecord['match_result'] = 'MATCHED',
  more: Partial<VerificationRecord> = {},
): Entry {
  const { event } = journal.keys
  const { kernel_signature: _, ...smallest } = SMALLEST.IDP_COMMITMENT_VERIFIED.record
  const unsigned = {
    ...smallest,
    idp_id: of.idp_id,
    state_transition_id: of.event_id,
    transition_digest: textDigest(canonicalOf({ ...of }), nodeCrypto),
    kid: hex(event.kid),
    match_result,
  }
  const record = {
    ...unsigned,
    kernel_signature: base64url(
      event.sign(verificationMessage(unsigned as Parameters<typeof verificationMessage>[0])),
    ),
    ...more,
  }
  const type = match_result === 'MATCHED' ? 'IDP_COMMITMENT_VERIFIED' : 'IDP_COMMITMENT_GAP'
  const { action_id, session_id } = of
  return { type, json: JSON.stringify({ action_id, session_id, record }) }
}

export const opens = (journal: SealedJournal, session_id = 's-1'): Entry =>
  journal.event('SESSION_OPENED', { session_id, agent: 'bot' })

/** Declared, dispatched, executed and verified; its parts. */
export function wholeStep(
  journal: SealedJournal,
  n: number,
  more: Partial<Step> = {},
  capsule = ran(),
) {
  const of = step(capsule, n, more)
  const moved = transition(of)
  return {
    capsule,
    of,
    moved,
    submitted: submitted(journal, of),
    dispatched: sentStep(of),
    concluded: journal.capsule(capsule),
    transitioned: journal.event('STATE_TRANSITIONED', moved),
    verified: verification(journal, moved),
  }
}

export function writeStep(journal: SealedJournal, n: number, more: Partial<Step> = {}) {
  const parts = wholeStep(journal, n, more)
  journal.write(parts.submitted, parts.dispatched)
  journal.write(parts.concluded, parts.transitioned, parts.verified)
  return parts
}

/** What a start makes of a dispatch that has no conclusion. */
export const recovered = (): Capsule =>
  build(input({ kind: 'recovered', evidence: 'present', by: { kind: 'policy' }, effect }))

/** People are asked about a session: the capsule, and the line beside it. */
export function asks(
  journal: SealedJournal,
  asked: Capsule,
  more: Partial<MembersOf<'APPROVAL_OPENED'>> = {},
): Entry[] {
  const about = { session_id: 's-1', holds: 'session', ...more } as const
  return [journal.capsule(asked), opened(journal, asked, about)]
}

/** What was sent is something else; the request to people about it, in one append. */
export function writeGap(
  journal: SealedJournal,
  parts: ReturnType<typeof wholeStep>,
  beside: readonly Entry[],
): void {
  const { concluded, transitioned, moved } = parts
  const gap = verification(journal, moved, 'IDP_COMMITMENT_GAP')
  journal.write(concluded, transitioned, gap, ...beside)
}

/** A whole step that ends in a gap, and what people are asked about it. */
export function gapStep(journal: SealedJournal, n: number): Capsule {
  const parts = wholeStep(journal, n)
  const asked = refused('hitl_dispatched')
  journal.write(parts.submitted, parts.dispatched)
  writeGap(journal, parts, asks(journal, asked))
  return asked
}

export const resumes = (journal: SealedJournal, asked: Capsule, session_id = 's-1'): Entry =>
  journal.event('SESSION_RESUMED', { session_id, approval_id: asked.action_id })

/** A person lets the session go on: the capsule that supersedes `on`, their vote, and the line that says so. */
export function resumption(journal: SealedJournal, asked: Capsule, on = asked): Entry[] {
  const granted = build(input({ kind: 'disposed', decision: assent('resume') }, over(on)))
  const vote = voted(journal, asked, 'dana', 'approve', { on: on.capsule_id })
  return [journal.capsule(granted), vote, resumes(journal, asked)]
}
