import type { Crypto } from '../../crypto/crypto.js'
import { transitionDigest, verifyCommitment } from '../../journal/commitment.js'
import type { IntentStep } from '../../journal/lines/call.js'
import type { LineOf } from '../../journal/vocabulary.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import { clip, type Findings } from '../finding.js'
import { createIdSet } from './id-set.js'
import { detached } from './line.js'
import type { Missing } from './missing.js'

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
}

const KEPT_APART = '\n'
const stepKey = ({
  session_id,
  so_id,
  idp_id,
  step_sequence,
}: Pick<IntentStep, 'session_id' | 'so_id' | 'idp_id' | 'step_sequence'>): string =>
  [session_id, so_id, idp_id, step_sequence].join(KEPT_APART)

/**
 * Declarations and what was done (seed intent-declaration-primitive-01 §5.2, §5.3, §5.5): no id comes twice for one
 * object, nothing is sent or changed without an earlier declaration of its step, and each transition has one record
 * of its verification, in its batch and signed for its members. Of a declaration 32 octets are kept.
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
    },
    dispatched({ intent }: LineOf<'ACTION_DISPATCHED'>, findings: Findings): void {
      if (intent !== undefined && !isDeclared(intent))
        findings.fault('dispatch_without_declaration', `${clip(intent.idp_id)} was not declared`)
    },
    transitioned(line: Transition, findings: Findings): void {
      const { seq, type, event_id, action_id, idp_id, session_id } = line
      if (!isDeclared(line))
        findings.fault('transition_without_declaration', `${clip(idp_id)} was not declared`)
      if (unverified.has(event_id))
        findings.fault('transition_id_repeated', `${clip(event_id)} stands in an earlier line`)
      unverified.set(detached(event_id), {
        seq,
        actionId: detached(action_id),
        sessionId: detached(session_id),
        idpId: detached(idp_id),
        digest: transitionDigest(line, crypto),
        confirmed: type === 'STATE_TRANSITIONED',
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
      if (record.transition_digest !== of.digest)
        findings.fault('commitment_digest_mismatch', `seq ${of.seq} holds something else`)
      if (action_id !== of.actionId || session_id !== of.sessionId || record.idp_id !== of.idpId)
        findings.fault('commitment_step_mismatch', `seq ${of.seq} is of another step`)
    },
    /** The end of a batch. After a crash it is not known what was sent, so only what is confirmed has a record. */
    settle(findings: Findings): void {
      for (const { confirmed, seq } of unverified.values())
        if (confirmed) findings.fault('transition_unverified', `seq ${seq} has no record of it`)
      unverified.clear()
    },
    /** Steps whose declaration may stand in lines that are not here. */
    declaredBefore: (): number => declaredBefore,
  }
}
