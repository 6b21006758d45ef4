import type { Crypto } from '../../crypto/crypto.js'
import { transitionDigest, verifyCommitment } from '../../journal/commitment.js'
import type { LineOf } from '../../journal/vocabulary.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import { clip, type Findings } from '../finding.js'
import { createIdSet } from './id-set.js'
import { type Concluded, detached } from './line.js'
import type { Missing } from './missing.js'
import { actedKey, createSentSteps, stepKey } from './sent-steps.js'

type Transition = LineOf<'STATE_TRANSITIONED' | 'ACTION_RESULT_RECORDED'>
type Verification = LineOf<'IDP_COMMITMENT_VERIFIED' | 'IDP_COMMITMENT_GAP'>
/** A transition until its batch ends: the record of its verification stands beside it. */
type Unverified = {
  readonly seq: number
  readonly actionId: string
  readonly sessionId: string
  readonly idpId: string
  readonly digest: string
  readonly confirmed: boolean
  /** Its record must be there; behind a crash it is not known what was sent. */
  readonly compared: boolean
  /** Its action is the one that its step declared, as far as the declaration is here. */
  readonly asDeclared: boolean
}

const KEPT_APART = '\n'

/**
 * Declarations and what was done (seed intent-declaration-primitive-01 §5.2, §5.3, §5.5): no id comes twice for one
 * object, nothing is sent or changed without an earlier declaration of its step, what was sent has one transition (see
 * sent-steps.ts), and each transition one record of its verification, in its batch, signed for its members, and no match
 * where another action was declared. Of a declaration 48 octets are kept.
 */
export function createCommitments(
  keys: readonly PublicKeyRecord[] | undefined,
  crypto: Crypto,
  missing: Missing,
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  const ids = createIdSet(crypto)
  const steps = createIdSet(crypto)
  const acted = createIdSet(crypto)
  const sent = createSentSteps(fromStart)
  const unverified = new Map<string, Unverified>()
  let declaredBefore = 0

  function isDeclared(step: Parameters<typeof stepKey>[0]): boolean {
    if (steps.has(stepKey(step))) return true
    if (fromStart()) return false
    declaredBefore++
    return true
  }

  function checkSignature({ record, type }: Verification, findings: Findings): void {
    if (keys === undefined) return
    const check = verifyCommitment(record, keys, crypto)
    if (check.ok) return
    if (check.code === 'kid_unknown') {
      findings.warn('event_key_unknown', `${type}: kid ${clip(record.kid)}`)
      missing.addKey(record.kid)
    } else findings.fault('commitment_signature', `${type}: ${check.code}`)
  }

  return {
    submitted(line: LineOf<'IDP_SUBMITTED'>, findings: Findings): void {
      const { so_id, idp_id } = line
      if (!ids.add([so_id, idp_id].join(KEPT_APART)))
        findings.fault('declaration_id_repeated', `${clip(idp_id)} was declared for its object`)
      steps.add(stepKey(line))
      acted.add(actedKey(line, line.requested_action))
    },
    dispatched(line: LineOf<'ACTION_DISPATCHED'>, findings: Findings): void {
      const { intent } = line
      sent.dispatched(line)
      if (intent !== undefined && !isDeclared(intent))
        findings.fault('dispatch_without_declaration', `${clip(intent.idp_id)} was not declared`)
    },
    concluded: (capsule: Concluded): void => sent.concluded(capsule),
    transitioned(line: Transition, findings: Findings): void {
      const { seq, type, event_id, action_id, idp_id, session_id } = line
      if (!isDeclared(line))
        findings.fault('transition_without_declaration', `${clip(idp_id)} was not declared`)
      const compared = sent.transitioned(line, findings)
      if (unverified.has(event_id))
        findings.fault('transition_id_repeated', `${clip(event_id)} stands in an earlier line`)
      unverified.set(detached(event_id), {
        seq,
        actionId: detached(action_id),
        sessionId: detached(session_id),
        idpId: detached(idp_id),
        digest: transitionDigest(line, crypto),
        confirmed: type === 'STATE_TRANSITIONED',
        compared,
        asDeclared: !steps.has(stepKey(line)) || acted.has(actedKey(line, line.cedar_action)),
      })
    },
    verified(line: Verification, findings: Findings): void {
      const { record, action_id, session_id } = line
      checkSignature(line, findings)
      const of = unverified.get(record.state_transition_id)
      if (of === undefined) {
        findings.fault(
          'commitment_without_transition',
          `${clip(record.state_transition_id)} is no transition of its batch, or has its record already`,
        )
        return
      }
      unverified.delete(record.state_transition_id)
      if (record.match_result === 'MATCHED' && !of.asDeclared)
        findings.fault(
          'commitment_false_match',
          `seq ${of.seq} is another action than was declared`,
        )
      if (record.transition_digest !== of.digest)
        findings.fault('commitment_digest_mismatch', `seq ${of.seq} holds something else`)
      if (action_id !== of.actionId || session_id !== of.sessionId || record.idp_id !== of.idpId)
        findings.fault('commitment_step_mismatch', `seq ${of.seq} is of another step`)
    },
    /** The end of a batch. After a crash it is not known what was sent, so only what is confirmed has a record. */
    settle(findings: Findings): void {
      for (const { confirmed, compared, seq } of unverified.values())
        if (confirmed) findings.fault('transition_unverified', `seq ${seq} has no record of it`)
        else if (compared) findings.fault('result_unverified', `seq ${seq} has no record of it`)
      unverified.clear()
      sent.settle(findings)
    },
    /** Steps whose declaration may stand in lines that are not here. */
    declaredBefore: (): number => declaredBefore,
  }
}
