import type { Crypto } from '../../crypto/crypto.js'
import type { CapsuleSeen } from '../../intent/audit/model.js'
import { auditDigest } from '../../intent/audit/session-audit.js'
import { createSessionAudits, type Ended } from '../../intent/audit/sessions.js'
import type { LineOf } from '../../journal/vocabulary.js'
import type { JsonObject, JsonValue } from '../../json/value.js'
import { clip, type Findings } from '../finding.js'
import { block } from '../structure.js'
import { detached, type Event, type Link } from './line.js'

type Derived = { readonly digest: string; readonly whole: boolean }

/**
 * The audit record of each session, derived again from its lines. Kept are the sessions that are open, and of those
 * that ended the digest until the line that says it.
 */
export function createAudits(crypto: Crypto) {
  const audits = createSessionAudits(crypto, detached)
  const ended = new Map<string, Derived>()
  let notDerived = 0

  function keep(all: readonly Ended[]): void {
    for (const { audit, whole } of all)
      ended.set(audit.session_id, { digest: auditDigest(audit, crypto), whole })
  }

  return {
    event: (event: Event): void => keep(audits.add(event)),
    capsule(line: JsonObject, link: Link): void {
      const seen = capsuleSeen(line, link)
      if (seen !== null) keep(audits.add(seen))
    },
    audited(line: LineOf<'SESSION_AUDITED'>, fromStart: boolean, findings: Findings): void {
      const { session_id, audit_digest, whole } = line
      const derived = ended.get(session_id)
      ended.delete(session_id)
      if (derived?.whole === true && whole) {
        if (derived.digest !== audit_digest)
          findings.fault('session_audit_mismatch', `${clip(session_id)}: its lines give another`)
      } else if (derived === undefined && fromStart)
        findings.fault('session_audit_premature', `${clip(session_id)} is not over, or was audited`)
      // One of the two is of a part of the session.
      else notDerived++
    },
    /** Records of sessions that began in lines that are not here, or were not here for the gate. */
    notDerived: (): number => notDerived,
  }
}

function capsuleSeen(line: JsonObject, { seq, prev, at }: Link): CapsuleSeen | null {
  const capsule = block(line, 'capsule')
  const capsuleId = text(capsule?.get('capsule_id'))
  const actionId = text(capsule?.get('action_id'))
  const verdict = text(
    capsule === null ? undefined : block(capsule, 'disposition')?.get('verdict_class'),
  )
  if (capsule === null || capsuleId === null || actionId === null || verdict === null) return null
  return {
    type: 'CAPSULE',
    seq,
    prev,
    at,
    capsuleId,
    actionId,
    verdict,
    decisionId: text(capsule.get('dev.capsulegate.decision_id')),
    intentRef: text(capsule.get('dev.capsulegate.intent_ref')),
    policyDigest: text(capsule.get('dev.capsulegate.policy_digest')),
    manifestDigest: text(capsule.get('dev.capsulegate.manifest_digest')),
    transits: capsule.has('effect'),
  }
}

const text = (value: JsonValue | undefined): string | null =>
  typeof value === 'string' ? value : null
