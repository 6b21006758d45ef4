import type { Intent, Mandate } from '../../../core/intent/model.js'
import { recordedIntent } from '../../../core/intent/thin-stub.js'
import { intentContext } from '../../../core/journal/encryption-context.js'
import { bytesDigest } from '../../../core/json/build.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import type { JournalEntry } from '../../../ports/journal.js'
import type { Admitted, OnRecord, Parts } from '../../context.js'
import { bytesPart, saltedPart } from '../../evidence/parts.js'
import { evidenceRecord } from '../../evidence/record.js'
import { RESTRICTED_KEY } from '../../evidence/restricted.js'
import { advance } from '../../govern/advance.js'
import { type Refused, refuse } from '../../govern/exit.js'
import { signed } from '../../signed-event.js'
import { refuseSession } from './refuse-session.js'
import { stale, type Valid } from './validate.js'

type New = Extract<Valid, { kind: 'new' }>

/**
 * Commits the declaration (§5.3): one compare-and-set, then its line, signed and in its place before anything judges
 * the call. Line and evidence go with the next write of the call, which nothing observable precedes.
 */
export async function commit(
  admitted: Admitted,
  mandate: Mandate,
  { intent: declared, octets }: New,
  parts: Parts,
): Promise<OnRecord | Refused> {
  await parts.seam('before_declaration')
  // Restricted by the agent or by the operator: all that quotes the declaration says so from here on (§4.2).
  const auditAccessible = declared.auditAccessible && parts.intents.auditAccessible
  const intent = { ...declared, auditAccessible }
  const { actionId, agent, at } = admitted
  const known = advance(admitted, { mandate, intent: null, object: null })
  const outcome = await parts.state.commitIntent({
    sessionId: intent.sessionId,
    agent: agent.agent,
    soId: mandate.soId,
    idpId: intent.idpId,
    step: intent.step,
    mandateId: mandate.id,
    actionId,
    at: Date.parse(at),
  })
  switch (outcome.kind) {
    case 'duplicate':
      return refuse(known, 'intent_duplicate')
    case 'step':
      return stale(known, { lastStep: outcome.last })
    case 'session':
      return refuseSession(known, intent, outcome.why, parts)
    case 'committed':
  }
  // Nothing is awaited up to the append: the lines of a session stand in the order of its steps.
  const eventId = parts.ids.actionId()
  const digest = bytesDigest(octets, parts.crypto)
  const { entry, key } = submitted(admitted, { intent, octets, eventId, digest }, parts)
  const entries: JournalEntry[] = []
  const evidence: EvidencePart[] = [key]
  const { sessionId: session_id } = intent
  if (outcome.opens) {
    entries.push(signed('SESSION_OPENED', { session_id, agent: agent.agent }, parts))
  }
  if (outcome.presents) {
    const shown = presented(admitted, mandate, session_id, parts)
    entries.push(shown.entry)
    evidence.push(shown.part)
  }
  entries.push(entry)
  const writing = [
    parts.evidence.put(evidenceRecord(admitted, evidence, parts), { withNext: true }),
    parts.journal.append(entries, { withNext: true }),
  ]
  const written = Promise.all(writing).then(() => undefined)
  // Who writes next waits for it too; here a failure only gives the id back. Where the evidence alone failed the
  // line still becomes durable, and until then the id is not free.
  written.catch(async () => {
    await Promise.allSettled(writing)
    await parts.state.releaseIntent(actionId)
  })
  await parts.seam('after_declaration')
  return { intent, mandate, eventId, digest, received: octets, written }
}

type Submitted = {
  readonly intent: Intent
  readonly octets: Uint8Array
  readonly eventId: string
  readonly digest: string
}

/** All members of §5.3. The octets are in the line, encrypted under a key of their own that evidence holds. */
function submitted(
  { actionId, agent, rule, at }: Admitted,
  { intent, octets, eventId, digest }: Submitted,
  parts: Parts,
) {
  const { key, text } = parts.oneTime.encrypt(octets, intentContext(eventId, digest))
  const isOpen = intent.auditAccessible
  const part = bytesPart('intent', isOpen ? 'key' : RESTRICTED_KEY, key, parts)
  const entry = signed(
    'IDP_SUBMITTED',
    {
      event_id: eventId,
      action_id: actionId,
      idp_id: intent.idpId,
      session_id: intent.sessionId,
      so_id: intent.soId,
      step_sequence: intent.step,
      mandate_id: intent.mandateId,
      agent: agent.agent,
      tool: rule.tool,
      requested_action: intent.requestedAction,
      profile: intent.profile,
      audit_accessible: isOpen,
      timestamp: intent.timestamp,
      received_at: at,
      ...(isOpen ? { declared: recordedIntent(intent) } : {}),
      intent_digest: digest,
      intent: text,
      evidence_digest: part.digest,
    },
    parts,
  )
  return { entry, key: part }
}

function presented(admitted: Admitted, mandate: Mandate, session_id: string, parts: Parts) {
  const part = saltedPart('intent', 'mandate', { ...mandate }, parts)
  const entry = signed(
    'MANDATE_PRESENTED',
    {
      mandate_id: mandate.id,
      session_id,
      agent: admitted.agent.agent,
      so_id: mandate.soId,
      depth: mandate.delegation.length,
      expires_at: mandate.expiresAt,
      evidence_digest: part.digest,
    },
    parts,
  )
  return { entry, part }
}
