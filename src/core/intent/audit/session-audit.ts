import type { Hashing } from '../../crypto/crypto.js'
import type { Line } from '../../journal/vocabulary.js'
import { canonicalOf, textDigest } from '../../json/build.js'
import { auditLine, type SessionAudit } from './model.js'
import { createSessionAudits } from './sessions.js'

/** The record as it is kept and signed: its JCS. */
export const auditText = (audit: SessionAudit): string => canonicalOf(toRecord(audit))

/** What SESSION_AUDITED says of it. */
export const auditDigest = (audit: SessionAudit, crypto: Hashing): string =>
  textDigest(auditText(audit), crypto)

const toRecord = ({ first, last, ...audit }: SessionAudit) => ({
  ...audit,
  capsules: { ...audit.capsules },
  submitted: { ...audit.submitted },
  intents: audit.intents.map((each) => ({ ...each })),
  gaps: audit.gaps.map((each) => ({ ...each })),
  approvals: audit.approvals.map((each) => ({ ...each })),
  alerts: audit.alerts.map((each) => ({ ...each })),
  first: { ...first },
  last: { ...last },
})

/**
 * The audit record of one session from a journal's lines: final where it is closed, as far as the lines go where it
 * is open. Null where no line is of it.
 */
export function sessionAudit(
  lines: Iterable<Line>,
  sessionId: string,
  crypto: Hashing,
): SessionAudit | null {
  const audits = createSessionAudits(crypto)
  for (const line of lines) {
    const of = audits.add(auditLine(line)).find(({ audit }) => audit.session_id === sessionId)
    if (of !== undefined) return of.audit
  }
  return audits.open(sessionId)
}
